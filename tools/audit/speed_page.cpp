// The section "speed" of a report: a table for people, every number for programs.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "oracle/speed/metrics.h"
#include "tools/audit/draft_divergence.h"
#include "tools/audit/speed.h"
#include "tools/report/table.h"

namespace draftproof::tools::audit {
namespace {

using nlohmann::ordered_json;

constexpr double kConfidence = 0.95;

std::string time_words(const std::optional<double>& seconds) {
  if (!seconds) return "not reported";
  return *seconds < 0.9995 ? fmt::format("{:.3g} ms", *seconds * 1000)
                           : fmt::format("{:.3g} s", *seconds);
}

std::string number(const std::optional<double>& value) {
  return value ? fmt::format("{:.3g}", *value) : "not reported";
}

ordered_json json_of(const std::optional<double>& value) {
  return value ? ordered_json(*value) : ordered_json(nullptr);
}

ordered_json json_of(const ArmSpeed& arm) {
  return {{"answers", arm.answers},
          {"tokens", arm.tokens},
          {"ttft_s", json_of(arm.ttft)},
          {"itl_s", json_of(arm.itl)},
          {"latency_s", json_of(arm.latency)},
          {"latency_p99_s", json_of(arm.latency_tail)},
          {"token_time_s", json_of(arm.token_time)},
          {"decode_share", json_of(arm.decode_share)},
          {"cold_latency_s", json_of(arm.cold_latency)},
          {"tokens_per_second", json_of(arm.throughput)},
          {"goodput_tokens_per_second", json_of(arm.goodput)},
          {"within_service_level", json_of(arm.good_share)},
          {"committed_per_call", json_of(arm.committed_per_call())},
          {"draft_acceptance", json_of(arm.draft_acceptance())}};
}

std::string ratio_text(const CohortSpeed& cohort) {
  if (!cohort.ratio) return "not reported";
  std::string text = fmt::format("{:.3g}", cohort.ratio->value);
  if (const auto& interval = cohort.ratio->interval)
    text += fmt::format(" ({:.3g} to {:.3g})", interval->low, interval->high);
  return text;
}

std::string sentence_of(const CohortSpeed& all) {
  const std::string what = all.is_streamed ? "between tokens" : "of whole answers, per token";
  if (!all.ratio || !all.ratio->interval)
    return "Too few answers of both arms for a statement about speed.\n";
  const auto& interval = *all.ratio->interval;
  const char* says = interval.low > 1    ? "speculation gains time on these requests"
                     : interval.high < 1 ? "speculation costs time on these requests"
                                         : "no gain and no loss of time is shown";
  return fmt::format("Time {} off / on: {} at {:.0f}%: {}. Committed tokens per target call: {}.\n",
                     what, ratio_text(all), 100 * kConfidence, says,
                     number(all.speculative.committed_per_call()));
}

std::string words_of(const ServiceLevel& level) {
  std::string text;
  if (level.ttft) text += "first token within " + time_words(level.ttft);
  if (level.itl)
    text += std::string(text.empty() ? "" : ", ") + "between tokens at most " +
            time_words(level.itl) + " in the mean";
  return text;
}

std::string goodput_of(const ArmSpeed& arm) {
  if (!arm.goodput) return "not reported";
  return fmt::format("{:.3g} ({:.0f}%)", *arm.goodput, 100 * *arm.good_share);
}

/// What people choose a setting by, where they say what an answer has to keep.
std::string goodput_sentence(const CohortSpeed& all, const ServiceLevel& level) {
  if (!level.is_stated()) return "";
  const std::string terms = "Goodput (" + words_of(level) + "): ";
  if (!all.baseline.goodput && !all.speculative.goodput)
    return terms + "not reported; times to the first token and between tokens need " +
           "sampling.stream = true.\n";
  return terms + "tokens/s of busy time, and the share of answers within: baseline " +
         goodput_of(all.baseline) + ", speculative " + goodput_of(all.speculative) + ".\n";
}

/// By cohort, in the order of the speeds.
using Divergences = std::vector<std::optional<DraftDivergence>>;

std::string words_of(const std::optional<DraftDivergence>& divergence) {
  if (!divergence) return "not reported";
  if (std::isinf(divergence->nats)) return "infinite";
  return fmt::format("{}{:.3g}", divergence->is_exact ? "" : "about ", divergence->nats);
}

ordered_json json_of(const std::optional<DraftDivergence>& divergence) {
  if (!divergence) return nullptr;
  const ordered_json nats =
      std::isinf(divergence->nats) ? ordered_json("infinite") : ordered_json(divergence->nats);
  return {{"nats", nats},
          {"positions", divergence->positions},
          {"of", divergence->is_exact ? "known laws" : "logprobs of drafted tokens"}};
}

report::Table table_of(const std::vector<CohortSpeed>& speeds, const Divergences& divergences,
                       bool has_level) {
  using report::Align;
  std::vector<report::Column> columns = {{"cohort"},
                                         {"arm"},
                                         {"answers", Align::kRight},
                                         {"first token", Align::kRight},
                                         {"between tokens", Align::kRight},
                                         {"latency", Align::kRight},
                                         {"99%", Align::kRight},
                                         {"decoding", Align::kRight},
                                         {"committed a call", Align::kRight},
                                         {"accepted", Align::kRight},
                                         {"KL(target || draft)", Align::kRight},
                                         {"off / on", Align::kRight}};
  if (has_level) columns.push_back({"goodput", Align::kRight});
  report::Table table(columns);
  for (std::size_t i = 0; i < speeds.size(); ++i)
    for (const bool is_baseline : {true, false}) {
      const CohortSpeed& cohort = speeds[i];
      const ArmSpeed& arm = is_baseline ? cohort.baseline : cohort.speculative;
      if (arm.answers == 0) continue;
      std::vector<std::string> cells = {
          cohort.name,
          is_baseline ? "baseline" : "speculative",
          report::grouped(arm.answers),
          time_words(arm.ttft),
          time_words(arm.itl),
          time_words(arm.latency),
          time_words(arm.latency_tail),
          arm.decode_share ? fmt::format("{:.0f}%", 100 * *arm.decode_share) : "not reported",
          is_baseline ? "" : number(arm.committed_per_call()),
          is_baseline ? "" : number(arm.draft_acceptance()),
          is_baseline ? "" : words_of(divergences[i]),
          is_baseline ? "" : ratio_text(cohort)};
      if (has_level) cells.push_back(goodput_of(arm));
      table.add(cells);
    }
  return table;
}

/// What the engine told step by step, by the metrics of oracle/speed.
ordered_json metrics_json(const oracle::speed::Trace& trace) {
  ordered_json list = ordered_json::array();
  for (const auto& cohort : oracle::speed::cohorts_of(trace))
    for (const auto& metric : oracle::speed::metrics_of(cohort)) {
      ordered_json values = ordered_json::object();
      for (const auto& [label, value] : metric.values)
        values[label.empty() ? "value" : label] = value;
      list.push_back({{"cohort", cohort.name},
                      {"id", metric.id},
                      {"unit", metric.unit},
                      {"values", metric.is_reported() ? values : ordered_json(nullptr)}});
    }
  return list;
}

}  // namespace

std::optional<report::Section> speed_section(const properties::audits::Matrix& matrix,
                                             const properties::audits::Evidence& evidence,
                                             const Traffic& traffic,
                                             const properties::audits::KnownTarget* target,
                                             const properties::audits::KnownTarget* draft) {
  const auto speeds = speeds_of(matrix, evidence, kConfidence, traffic.level);
  const CohortSpeed& all = speeds.front();
  if (!all.baseline.latency && !all.speculative.latency) return std::nullopt;
  const std::string load =
      traffic.arrivals.empty() ? "closed loop" : "open loop, " + traffic.arrivals;
  std::string notes = fmt::format(
      "Same prompts, same order in both arms ({}); warm-up left out. First answers of arms just "
      "begun: {} and {}.\n",
      load, time_words(all.baseline.cold_latency), time_words(all.speculative.cold_latency));
  Divergences divergences;
  ordered_json cohorts = ordered_json::array();
  for (const CohortSpeed& each : speeds) {
    divergences.push_back(draft_divergence(matrix, each.name, evidence, target, draft));
    ordered_json ratio = nullptr;
    if (each.ratio) {
      ratio = {{"value", each.ratio->value}, {"of", each.is_streamed ? "itl" : "token_time"}};
      if (each.ratio->interval)
        ratio["interval"] = {each.ratio->interval->low, each.ratio->interval->high};
    }
    cohorts.push_back({{"name", each.name},
                       {"baseline", json_of(each.baseline)},
                       {"speculative", json_of(each.speculative)},
                       {"draft_divergence", json_of(divergences.back())},
                       {"off_over_on", ratio}});
  }
  const ServiceLevel& level = traffic.level;
  const ordered_json json = {
      {"load", load},
      {"confidence", kConfidence},
      {"service_level", {{"ttft_s", json_of(level.ttft)}, {"itl_s", json_of(level.itl)}}},
      {"cohorts", cohorts},
      {"metrics", metrics_json(trace_of(matrix, evidence, level))}};
  const report::Table table = table_of(speeds, divergences, level.is_stated());
  const std::string says = sentence_of(all) + goodput_sentence(all, level) + "\n";
  return report::Section{"speed", "Speed of these requests", says + table.text() + "\n" + notes,
                         says + table.markdown() + "\n" + notes, json.dump()};
}

}  // namespace draftproof::tools::audit
