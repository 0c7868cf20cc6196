#include "tools/audit/alert_rules.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "tools/audit/config_values.h"

namespace draftproof::tools::audit {
namespace {

struct Rule {
  std::string name;
  std::string expression;
  std::string lasts;  ///< "15m"
  std::string severity;
  std::string summary;
};

struct EngineMetrics {
  std::string engine;
  std::string source;
  std::string needs;  ///< an option that exports them; empty: none
  // Counters; empty: the engine does not export it.
  std::string drafts, drafted, accepted, generated;
  std::string accept_rate, accept_length;  ///< gauges, where there are no counters
  std::string running, cache_usage;
  std::string token_latency;  ///< 95th percentile, seconds
};

const std::vector<EngineMetrics>& metrics() {
  static const std::vector<EngineMetrics> all = {
      {"vllm", "vllm/v1/metrics and vllm/v1/spec_decode/metrics.py of 0.32.0", "",
       "vllm:spec_decode_num_drafts_total", "vllm:spec_decode_num_draft_tokens_total",
       "vllm:spec_decode_num_accepted_tokens_total", "vllm:generation_tokens_total", "", "",
       "vllm:num_requests_running", "vllm:kv_cache_usage_perc",
       "histogram_quantile(0.95, sum by (le, instance) "
       "(rate(vllm:inter_token_latency_seconds_bucket[5m])))"},
      {"sglang", "GET /metrics of 0.5.23: two gauges", "--enable-metrics", "", "", "", "",
       "sglang:spec_accept_rate", "sglang:spec_accept_length", "", "", ""},
      {"llama.cpp", "GET /metrics of build 11549", "--metrics",
       "llamacpp:spec_decode_num_drafts_total", "llamacpp:spec_decode_num_draft_tokens_total",
       "llamacpp:spec_decode_num_accepted_tokens_total", "llamacpp:tokens_predicted_total", "", "",
       "llamacpp:requests_processing", "",
       "rate(llamacpp:tokens_predicted_seconds_total[5m]) / "
       "llamacpp:tokens_predicted_total"},
  };
  return all;
}

/// Of a counter, an instance each, so that other labels need not agree. `when`: "", " offset 1d".
std::string rate_of(const std::string& counter, const std::string& when = "") {
  return "sum by (instance) (rate(" + counter + "[5m]" + when + "))";
}

std::string title_of(const std::string& engine) {
  return engine == "vllm" ? "Vllm" : engine == "sglang" ? "Sglang" : "LlamaCpp";
}

void add_acceptance(const EngineMetrics& of, std::vector<Rule>& rules) {
  const bool has_counters = !of.drafted.empty();
  const auto length = [&](const std::string& when) {
    return has_counters
               ? fmt::format("1 + {} / {}", rate_of(of.accepted, when), rate_of(of.drafts, when))
               : of.accept_length + when;
  };
  const std::string share =
      has_counters ? rate_of(of.accepted) + " / " + rate_of(of.drafted) : of.accept_rate;
  const std::string busy = has_counters ? " and " + rate_of(of.drafted) + " > 1" : "";
  rules.push_back({"AcceptanceNearZero", fmt::format("({}) < 0.02{}", share, busy), "15m",
                   "warning",
                   "Hardly a draft is accepted: another tokenizer, draft or template, or a state "
                   "that is not the request's. Audit before it is taken for load."});
  rules.push_back({"AcceptanceNearOne", fmt::format("({}) > 0.98{}", share, busy), "15m", "warning",
                   "Nearly every draft is accepted: synthetic or relaxed acceptance, or answers "
                   "that repeat themselves. Audit the law."});
  rules.push_back(
      {"AcceptedLengthDropped", fmt::format("({}) < 0.7 * ({})", length(""), length(" offset 1d")),
       "30m", "warning", "A verification emits a third fewer tokens than at this hour yesterday."});
}

void add_engagement(const EngineMetrics& of, std::vector<Rule>& rules) {
  if (of.generated.empty()) return;
  // "unless" holds where the counter is not there at all, too.
  rules.push_back({"DraftNotEngaged",
                   fmt::format("{} > 1 unless {} > 0", rate_of(of.generated), rate_of(of.drafts)),
                   "10m", "warning",
                   "Tokens are generated and no draft is made: an option that this version lacks, "
                   "n-grams longer than the prompts, or a draft model that did not load."});
  rules.push_back(
      {"MoreAcceptedThanGenerated",
       fmt::format("{} > 1.05 * {}", rate_of(of.accepted), rate_of(of.generated)), "10m",
       "critical",
       "More drafted tokens are accepted than come out: counters or emission are wrong."});
}

void add_state(const EngineMetrics& of, std::vector<Rule>& rules) {
  if (!of.cache_usage.empty() && !of.running.empty())
    rules.push_back({"BlocksLeaked",
                     fmt::format("max by (instance) (min_over_time({}[15m])) > 0.05 and "
                                 "max by (instance) (max_over_time({}[15m])) == 0",
                                 of.cache_usage, of.running),
                     "5m", "warning",
                     "Blocks of the cache stay in use while nothing runs. Blocks that the prefix "
                     "cache keeps are free ones; these are not."});
  if (!of.token_latency.empty())
    rules.push_back({"TokenLatencyHigh", fmt::format("({}) > 0.1", of.token_latency), "15m",
                     "warning",
                     "Set the number to your objective. Speculation that costs more than it gains "
                     "shows here: draftproof speed TRACE says which term decides."});
}

std::string page_of_engine(const EngineMetrics& of) {
  std::vector<Rule> rules;
  add_acceptance(of, rules);
  add_engagement(of, rules);
  add_state(of, rules);
  std::string page =
      fmt::format("  # {}: {}{}\n  - name: draftproof-{}\n    rules:\n", of.engine, of.source,
                  of.needs.empty() ? "" : "; exported with " + of.needs, of.engine);
  for (const Rule& rule : rules)
    page += fmt::format(
        "      - alert: {}{}\n        expr: {}\n        for: {}\n        labels:\n"
        "          severity: {}\n        annotations:\n          summary: >-\n            {}\n",
        title_of(of.engine), rule.name, rule.expression, rule.lasts, rule.severity, rule.summary);
  return page;
}

}  // namespace

std::vector<std::string> alert_engines() {
  std::vector<std::string> names;
  for (const EngineMetrics& each : metrics()) names.push_back(each.engine);
  return names;
}

std::string alert_rules(const std::string& engine) {
  const auto names = alert_engines();
  const bool is_all = engine.empty() || engine == "auto";
  if (!is_all && std::find(names.begin(), names.end(), engine) == names.end())
    refuse("--engine", fmt::format("no metrics of {} are known here; known: {}", engine,
                                   fmt::join(names, ", ")));
  std::string page =
      "# Rules for Prometheus. No alarm of these is a verdict: `draftproof audit` gives one.\n"
      "# Numbers are where faults have been seen first; set them to your own traffic.\n"
      "groups:\n";
  for (const EngineMetrics& each : metrics())
    if (is_all || each.engine == engine) page += page_of_engine(each);
  return page;
}

}  // namespace draftproof::tools::audit
