#include "tools/audit/recorded_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <set>
#include <sstream>

#include "reference/error.h"
#include "tools/audit/collector.h"
#include "tools/audit/setting_grid.h"
#include "tools/store/atomic_file.h"

namespace draftproof::tools::audit {
namespace {

namespace fs = std::filesystem;
using properties::Arm;
using properties::SamplingRequest;
using properties::Transcript;
using properties::audits::AuditCase;
using properties::audits::Evidence;
using properties::audits::Seeding;

constexpr std::string_view kSqliteMagic = "SQLite format 3";

bool is_store(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  std::string begin(kSqliteMagic.size(), '\0');
  in.read(begin.data(), static_cast<std::streamsize>(begin.size()));
  return in && begin == kSqliteMagic;
}

void read_lines(const fs::path& path, Evidence& evidence) {
  // Whole-file problems (a folder, no permission) have their words there.
  std::istringstream in(store::read_file(path));
  std::size_t number = 0;
  for (std::string line; std::getline(in, line);) {
    ++number;
    if (!line.empty() && line.back() == '\r') line.pop_back();
    if (line.find_first_not_of(" \t") == std::string::npos) continue;
    const std::string place = fmt::format("{}:{}", path.string(), number);
    Transcript transcript = properties::transcript_from(line, place);
    try {
      evidence.add(std::move(transcript));
    } catch (const Error& error) {
      throw Error(ErrorKind::kInput, error.what(), place);
    }
  }
}

/// The first fact in which two stores differ; empty: none.
std::string difference(const RunRecord& one, const RunRecord& other) {
  const auto left = shared_facts(one), right = shared_facts(other);
  for (std::size_t i = 0; i < left.size(); ++i)
    if (left[i].second != right[i].second) return left[i].first;
  return "";
}

SamplingRequest without_prompt(SamplingRequest request) {
  request.prompt.clear();
  request.prompt_text.clear();
  request.seed.reset();
  return request;
}

/// Everything but the seed.
SamplingRequest without_seed(SamplingRequest request) {
  request.seed.reset();
  return request;
}

struct Seen {
  SamplingRequest request;
  std::uint64_t trials = 0;
  bool has_logprobs = false;
  std::map<std::uint64_t, std::optional<std::uint64_t>> seeds[2];
};

void look_at(const std::string& id, const Evidence& evidence, Arm arm, Seen& seen) {
  for (const auto& [trial, transcript] : evidence.of(id, arm)) {
    const SamplingRequest request = without_seed(transcript.request);
    if (seen.trials == 0) seen.request = request;
    if (!(seen.request == request))
      throw Error(ErrorKind::kInput,
                  fmt::format("trial {} of the {} arm was asked with another prompt or other "
                              "parameters than the case's first; give it a case of its own",
                              trial, to_string(arm)),
                  "case " + id);
    seen.trials = std::max(seen.trials, trial + 1);
    seen.has_logprobs = seen.has_logprobs || !transcript.completion.logprobs.empty();
    seen.seeds[static_cast<std::size_t>(arm)][trial] = transcript.request.seed;
  }
}

bool shares_seeds(const Seen& seen) {
  std::size_t common = 0;
  for (const auto& [trial, seed] : seen.seeds[0]) {
    const auto other = seen.seeds[1].find(trial);
    if (other == seen.seeds[1].end()) continue;
    if (!seed || seed != other->second) return false;
    ++common;
  }
  return common > 0;
}

/// What the answers show that an engine can tell.
void look_at(const Transcript& transcript, properties::Capabilities& arm) {
  const properties::Completion& completion = transcript.completion;
  for (const reference::Token token : transcript.request.prompt)
    arm.vocab_size = std::max(arm.vocab_size, token + 1);
  for (const reference::Token token : completion.token_ids)
    arm.vocab_size = std::max(arm.vocab_size, token + 1);
  arm.reports_counters = arm.reports_counters || completion.counters.has_value();
  if (transcript.logprob_kind != properties::LogprobKind::kNone)
    arm.logprobs = transcript.logprob_kind;
  if (transcript.request.seed) arm.takes_seed = true;
}

std::size_t setting_of(const SamplingRequest& request, properties::audits::Matrix& matrix) {
  for (std::size_t i = 0; i < matrix.settings.size(); ++i)
    if (matrix.settings[i].request == request) return i;
  std::string id = setting_id(request, std::nullopt, std::nullopt);
  const std::string first = id;
  const auto is_taken = [&] {
    return std::any_of(matrix.settings.begin(), matrix.settings.end(),
                       [&](const auto& each) { return each.id == id; });
  };
  for (int number = 2; is_taken(); ++number) id = fmt::format("{}-{}", first, number);
  matrix.settings.push_back({id, request, 1});
  return matrix.settings.size() - 1;
}

}  // namespace

RunRecord record_of(const Evidence& evidence) {
  RunRecord record;
  record.judge.has_baseline = false;
  for (properties::Capabilities* arm : {&record.judge.baseline, &record.judge.speculative})
    arm->takes_seed = false;
  for (const std::string& id : evidence.case_ids()) {
    if (is_cold_case(id)) continue;
    Seen seen;
    for (const Arm arm : {Arm::kBaseline, Arm::kSpeculative}) {
      look_at(id, evidence, arm, seen);
      for (const auto& [trial, transcript] : evidence.of(id, arm))
        look_at(transcript,
                arm == Arm::kBaseline ? record.judge.baseline : record.judge.speculative);
    }
    record.judge.has_baseline = record.judge.has_baseline || !seen.seeds[0].empty();
    // Who recorded them need not say that they were asked for.
    if (seen.has_logprobs && seen.request.logprob_count < 0) seen.request.logprob_count = 0;
    AuditCase audit_case;
    audit_case.id = id;
    audit_case.prompt_name = id.substr(id.find('/') == std::string::npos ? 0 : id.find('/') + 1);
    audit_case.request = seen.request;
    audit_case.trial_max = seen.trials;
    audit_case.setting = setting_of(without_prompt(seen.request), record.matrix);
    if (shares_seeds(seen)) audit_case.seeding = Seeding::kShared;
    record.matrix.cases.push_back(std::move(audit_case));
  }
  auto& judge = record.judge;
  judge.baseline.vocab_size = judge.speculative.vocab_size =
      std::max(judge.baseline.vocab_size, judge.speculative.vocab_size);
  judge.baseline.name = "baseline";
  judge.speculative.name = "speculative";
  return record;
}

RecordedRun read_run(const std::vector<std::string>& files) {
  RecordedRun run;
  std::string first_store;
  for (const std::string& name : files) {
    fs::path path = name;
    std::error_code error;
    if (fs::is_directory(path, error)) path /= "run.sqlite";
    if (!fs::exists(path, error))
      throw Error(ErrorKind::kInput, "no such file; name a run.sqlite, its folder, or transcripts",
                  path.string());
    if (run.files.empty()) run.folder = path.parent_path();
    run.files.push_back(path.string());
    if (!is_store(path)) {
      read_lines(path, run.evidence);
      continue;
    }
    const store::ObservationStore opened(path, store::ObservationStore::Mode::kRead);
    RunRecord record = read_record(opened, path.string());
    if (first_store.empty()) {
      first_store = path.string();
      run.record = std::move(record);
      run.is_of_store = true;
    } else if (const std::string what = difference(run.record, record); !what.empty()) {
      throw Error(ErrorKind::kInput,
                  fmt::format("is of another run than {}: its {} differs; judge them apart",
                              first_store, what),
                  path.string());
    }
    if (run.changed.empty()) run.changed = change_of(opened);
    opened.read_into(run.evidence);
  }
  if (run.evidence.size() == 0)
    throw Error(ErrorKind::kInput, "holds no transcript: there is nothing to judge",
                run.files.empty() ? "judge" : run.files.front());
  if (!run.is_of_store) {
    run.record = record_of(run.evidence);
    return run;
  }
  std::set<std::string> known;
  for (const AuditCase& each : run.record.matrix.cases) known.insert(each.id);
  for (const std::string& id : run.evidence.case_ids())
    if (!known.contains(id) && !is_cold_case(id))
      throw Error(ErrorKind::kInput, "is of another run: " + first_store + " has no such case",
                  "case " + id);
  return run;
}

}  // namespace draftproof::tools::audit
