#include "tools/audit/task_scores.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "properties/json_nesting.h"
#include "properties/transcript.h"
#include "reference/error.h"
#include "tools/engines/child_process.h"
#include "tools/store/atomic_file.h"

namespace draftproof::tools::audit {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using properties::Arm;
using properties::Transcript;

/// Shares and means of shares, by what they are.
const std::set<std::string>& shares() {
  static const std::set<std::string> names = {"acc",
                                              "acc_norm",
                                              "acc_mutual_info",
                                              "exact_match",
                                              "em",
                                              "f1",
                                              "mc1",
                                              "mc2",
                                              "pass@1",
                                              "pass_at_1",
                                              "quasi_exact_match",
                                              "rouge1",
                                              "rouge2",
                                              "rougeL",
                                              "prompt_level_strict_acc",
                                              "prompt_level_loose_acc"};
  return names;
}

const std::set<std::string>& falling_metrics() {
  static const std::set<std::string> names = {"perplexity",
                                              "word_perplexity",
                                              "byte_perplexity",
                                              "bits_per_byte",
                                              "ter",
                                              "brier_score",
                                              "loss",
                                              "wer"};
  return names;
}

const std::set<std::string>& fields_of_logs() {
  static const std::set<std::string> names = {
      "doc_id",   "doc",         "target",      "arguments", "resps",  "filtered_resps",
      "doc_hash", "prompt_hash", "target_hash", "filter",    "metrics"};
  return names;
}

/// One line of a log.
struct LoggedSample {
  std::map<std::string, double> scores;
  std::string doc_hash, prompt_hash;
};
/// By filter, then document.
using Log = std::map<std::string, std::map<std::int64_t, LoggedSample>>;

std::string text_of(const json& line, const char* name) {
  const auto at = line.find(name);
  return at != line.end() && at->is_string() ? at->get<std::string>() : "";
}

std::map<std::string, double> scores_of(const json& line, const std::string& place) {
  std::map<std::string, double> scores;
  const auto take = [&](const std::string& name, const json& value) {
    if (falling_metrics().contains(name)) return;
    if (value.is_boolean()) scores[name] = value.get<bool>() ? 1 : 0;
    if (!value.is_number()) return;
    scores[name] = value.get<double>();
    if (!std::isfinite(scores[name]))
      throw Error(ErrorKind::kInput, name + " should be a finite number", place);
  };
  const auto metrics = line.find("metrics");
  if (metrics != line.end() && metrics->is_array()) {
    for (const json& name : *metrics)
      if (name.is_string() && line.contains(name.get<std::string>()))
        take(name.get<std::string>(), line.at(name.get<std::string>()));
  } else {
    for (const auto& [name, value] : line.items())
      if (!fields_of_logs().contains(name)) take(name, value);
  }
  if (scores.empty())
    throw Error(ErrorKind::kInput,
                "has no metric that is a number and rises as answers get better (acc, exact_match)",
                place);
  return scores;
}

Log read_log(const fs::path& file) {
  std::istringstream stream(store::read_file(file));
  Log log;
  std::string text;
  for (std::size_t number = 1; std::getline(stream, text); ++number) {
    if (text.find_first_not_of(" \t\r") == std::string::npos) continue;
    const std::string place = file.string() + ":" + std::to_string(number);
    const auto line = properties::json_or_discarded<json>(text);
    if (!line.is_object())
      throw Error(ErrorKind::kInput,
                  "should be a JSON object, as lm-eval --log_samples writes one a sample", place);
    const auto id = line.find("doc_id");
    if (id == line.end() || !id->is_number_integer())
      throw Error(ErrorKind::kInput, "lacks doc_id, a whole number, which pairs the arms", place);
    const std::string filter = text_of(line, "filter");
    const LoggedSample sample{scores_of(line, place), text_of(line, "doc_hash"),
                              text_of(line, "prompt_hash")};
    if (!log[filter].emplace(id->get<std::int64_t>(), sample).second)
      throw Error(
          ErrorKind::kInput,
          fmt::format("doc_id {} came before{}: a log of one run of one task is needed",
                      id->get<std::int64_t>(), filter.empty() ? "" : " under the filter " + filter),
          place);
  }
  if (log.empty()) throw Error(ErrorKind::kInput, "has no samples", file.string());
  return log;
}

void name_range(ScoreSeries& series, const std::string& metric) {
  if (shares().contains(metric) && oracle::lies_in_unit(series.scores)) {
    series.range_said = metric + " is a share";
    return;
  }
  series.is_bounded = oracle::lies_in_unit(series.scores);
  series.range_said = "all of them do";
}

/// Documents of one filter in both logs; `lacking` is the file without a document.
void need_same_documents(const Log& log, const fs::path& file, const Log& other,
                         const fs::path& lacking) {
  for (const auto& [filter, samples] : log) {
    const auto there = other.find(filter);
    for (const auto& [id, sample] : samples) {
      if (there != other.end() && there->second.contains(id)) continue;
      throw Error(ErrorKind::kInput,
                  fmt::format("lacks doc_id {}{}, which {} has: run both arms over the same "
                              "documents (--limit, --samples) of the same task",
                              id, filter.empty() ? "" : " of the filter " + filter, file.string()),
                  lacking.string());
    }
  }
}

ScoreSeries series_of(const std::string& metric, const std::string& filter, const Log& one,
                      const Log& other, const fs::path& place) {
  ScoreSeries series;
  series.name = filter.empty() || filter == "none" ? metric : metric + "," + filter;
  for (const auto& [id, left] : one.at(filter)) {
    const LoggedSample& right = other.at(filter).at(id);
    if (left.doc_hash != right.doc_hash || left.prompt_hash != right.prompt_hash)
      throw Error(ErrorKind::kInput,
                  fmt::format("doc_id {} is another {} than in the baseline's log: give both arms "
                              "the same task, seeds and few-shot examples",
                              id, left.doc_hash != right.doc_hash ? "document" : "prompt"),
                  place.string());
    const auto score = left.scores.find(metric), score_on = right.scores.find(metric);
    if (score == left.scores.end() || score_on == right.scores.end())
      throw Error(ErrorKind::kInput,
                  fmt::format("doc_id {} lacks {} in one of both logs", id, metric),
                  place.string());
    series.scores.push_back({score->second, score_on->second});
  }
  name_range(series, metric);
  return series;
}

struct PairedAnswers {
  std::vector<const Transcript*> baseline, speculative;
  std::uint64_t lost = 0;
};

PairedAnswers paired_answers(const properties::audits::Matrix& matrix,
                             const properties::audits::Evidence& evidence) {
  PairedAnswers pairs;
  for (const auto& each : matrix.cases) {
    const auto& others = evidence.of(each.id, Arm::kSpeculative);
    for (const auto& [trial, transcript] : evidence.of(each.id, Arm::kBaseline)) {
      const auto other = others.find(trial);
      if (other == others.end()) continue;
      if (transcript.completion.end == properties::CompletionEnd::kFailed ||
          other->second.completion.end == properties::CompletionEnd::kFailed) {
        ++pairs.lost;
        continue;
      }
      pairs.baseline.push_back(&transcript);
      pairs.speculative.push_back(&other->second);
    }
  }
  return pairs;
}

double number_from(const std::string& line, std::size_t index, const std::string& place) {
  char* end = nullptr;
  const double value = std::strtod(line.c_str(), &end);
  if (end != line.c_str() &&
      std::string_view(end).find_first_not_of(" \t\r") == std::string::npos && std::isfinite(value))
    return value;
  throw Error(
      ErrorKind::kEnvironment,
      fmt::format("its line {} is \"{}\"; one finite number a sample is needed (words go to "
                  "stderr)",
                  index + 1, line.substr(0, 60)),
      place);
}

std::string quoted(const std::string& path) {
  std::string text = "'";
  for (const char c : path) text += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return text + "'";
}

/// The numbers that the command prints of these transcripts.
std::vector<double> numbers_of(const ScoreCommand& order, const std::string& arm,
                               const std::vector<const Transcript*>& transcripts) {
  using Clock = std::chrono::steady_clock;
  const std::string place = "score_command, " + arm;
  std::string lines;
  for (const Transcript* each : transcripts) lines += properties::line_of(*each) + "\n";
  const fs::path input = order.folder / (arm + ".jsonl");
  store::write_atomically(input, lines);
  engines::ChildProcess child({.command = "(" + order.command + "\n) < " + quoted(input.string()) +
                                          "; code=$?; echo; exit $code",
                               .environment = {{"DRAFTPROOF_ARM", arm}},
                               .log = order.folder / "command.log",
                               .speaks_lines = true,
                               .stop_timeout_s = 2});
  const auto until = Clock::now() + std::chrono::duration<double>(order.time_limit_s);
  std::vector<double> numbers;
  for (;;) {
    const double left = std::chrono::duration<double>(until - Clock::now()).count();
    const auto line = left > 0 ? child.read_line(left) : std::nullopt;
    if (!line)
      throw Error(ErrorKind::kEnvironment,
                  fmt::format("gave {} of {} numbers in {:g} s and was stopped{}", numbers.size(),
                              transcripts.size(), order.time_limit_s, child.log_tail()),
                  place);
    if (line->find_first_not_of(" \t\r") != std::string::npos)
      numbers.push_back(number_from(*line, numbers.size(), place));
    else if (child.is_at_end())
      break;
  }
  const std::string ending = child.ending();
  if (ending != "exit code 0")
    throw Error(ErrorKind::kEnvironment,
                fmt::format("ended with {}{}", ending.empty() ? "its output closed" : ending,
                            child.log_tail()),
                place);
  if (numbers.size() != transcripts.size())
    throw Error(ErrorKind::kEnvironment,
                fmt::format("printed {} numbers for {} samples; one a line of its input is needed, "
                            "in that order",
                            numbers.size(), transcripts.size()),
                place);
  return numbers;
}

}  // namespace

std::vector<ScoreSeries> read_score_logs(const fs::path& baseline, const fs::path& speculative) {
  const Log one = read_log(baseline), other = read_log(speculative);
  need_same_documents(one, baseline, other, speculative);
  need_same_documents(other, speculative, one, baseline);
  std::vector<ScoreSeries> list;
  for (const auto& [filter, samples] : one)
    for (const auto& [metric, score] : samples.begin()->second.scores)
      list.push_back(series_of(metric, filter, one, other, speculative));
  return list;
}

ScoreSeries run_score_command(const ScoreCommand& order, const properties::audits::Matrix& matrix,
                              const properties::audits::Evidence& evidence) {
  ScoreSeries series{.name = "score_command", .range_said = {}, .scores = {}, .lost = 0};
  const PairedAnswers pairs = paired_answers(matrix, evidence);
  series.lost = pairs.lost;
  if (pairs.baseline.empty()) return series;
  const auto off = numbers_of(order, "baseline", pairs.baseline);
  const auto on = numbers_of(order, "speculative", pairs.speculative);
  for (std::size_t i = 0; i < off.size(); ++i) series.scores.push_back({off[i], on[i]});
  name_range(series, series.name);
  return series;
}

}  // namespace draftproof::tools::audit
