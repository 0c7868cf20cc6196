#include "oracle/speed/metrics.h"

#include <algorithm>
#include <functional>
#include <map>

#include "oracle/speed/acceptance.h"
#include "oracle/speed/metric_sums.h"

namespace draftproof::oracle::speed {
namespace {

using Iterations = std::vector<const Iteration*>;
using Values = std::vector<std::pair<std::string, double>>;

Values one(std::optional<double> value) {
  if (!value) return {};
  return {{"", *value}};
}

double count_if(const Iterations& arm, const std::function<bool(const Iteration&)>& holds) {
  return static_cast<double>(
      std::count_if(arm.begin(), arm.end(), [&](const Iteration* each) { return holds(*each); }));
}

bool is_whole(const Iteration& each) {
  return each.drafted > 0 && each.accepted == each.draft_depth();
}

void add_acceptance(const Cohort& cohort, std::vector<Metric>& metrics) {
  const Iterations& arm = cohort.speculative;
  std::vector<VerifiedDraft> drafts;
  std::map<std::int64_t, double> prefixes, rejections;
  for (const Iteration* each : arm) {
    if (each->accepted > each->draft_depth()) continue;  // reported as a broken identity
    drafts.push_back({each->draft_depth(), each->accepted});
    prefixes[each->accepted] += 1;
    if (each->accepted < each->draft_depth()) rejections[each->accepted + 1] += 1;
  }
  const auto labelled = [](const std::map<std::int64_t, double>& counts) {
    Values values;
    for (const auto& [at, count] : counts) values.emplace_back(std::to_string(at), count);
    return values;
  };
  Values conditional;
  const auto rates = position_rates(drafts);
  for (std::size_t i = 0; i < rates.size(); ++i) {
    if (const auto rate = rates[i].rate()) conditional.emplace_back(std::to_string(i + 1), *rate);
  }
  const double whole = count_if(arm, is_whole);
  const double drafting = count_if(arm, [](const Iteration& i) { return i.drafted > 0; });
  metrics.push_back({"committed-per-call", "tokens", "(emitted + cut) / target calls",
                     "emitted, cut", one(committed_per_call(arm))});
  metrics.push_back({"draft-acceptance", "1", "accepted / proposed", "accepted, drafted",
                     one(ratio(sum(arm, &Iteration::accepted), sum(arm, &Iteration::drafted)))});
  metrics.push_back({"conditional-acceptance", "1 by position",
                     "accepted at i / drafts that reached i", "accepted, drafted, depth",
                     conditional});
  metrics.push_back({"mean-draft-length", "tokens", "drafted / calls with a draft", "drafted",
                     one(ratio(sum(arm, &Iteration::drafted), drafting))});
  metrics.push_back({"accepted-prefix", "calls by length", "how many calls accepted this many",
                     "accepted", labelled(prefixes)});
  metrics.push_back({"first-rejection", "calls by position", "where the first rejection was",
                     "accepted, drafted, depth", labelled(rejections)});
  metrics.push_back({"bonus-rate", "1", "drafts accepted whole / calls with a draft",
                     "accepted, drafted, depth", one(ratio(whole, drafting))});
  const double reports = count_if(arm, [](const Iteration& i) { return i.bonus && is_whole(i); });
  const double used =
      count_if(arm, [](const Iteration& i) { return is_whole(i) && i.bonus == true; });
  metrics.push_back({"bonus-used", "1", "bonus tokens emitted / drafts accepted whole", "bonus",
                     one(ratio(used, reports))});
  metrics.push_back({"wasted-suffix", "tokens per call", "(drafted - accepted) / calls",
                     "drafted, accepted",
                     one(ratio(sum(arm, &Iteration::drafted) - sum(arm, &Iteration::accepted),
                               static_cast<double>(arm.size())))});
}

void add_switches(const Cohort& cohort, std::vector<Metric>& metrics) {
  const Iterations& arm = cohort.speculative;
  std::map<std::string, double> reasons;
  for (const Iteration* each : arm)
    if (!each->fallback.empty()) reasons[each->fallback] += 1;
  const double drafting = count_if(arm, [](const Iteration& i) { return i.drafted > 0; });
  metrics.push_back({"enable-rate", "1", "calls with a draft / calls", "drafted",
                     one(ratio(drafting, static_cast<double>(arm.size())))});
  metrics.push_back({"fallback-reason", "calls by reason", "why nothing was drafted", "fallback",
                     Values(reasons.begin(), reasons.end())});
  metrics.push_back({"divergence", "nat", "KL(target || draft), mean over calls with a draft",
                     "kl_nats", one(mean(arm, &Iteration::divergence))});
}

void add_times(const Cohort& cohort, std::vector<Metric>& metrics) {
  const Iterations& arm = cohort.speculative;
  const auto term = [&](const char* id, const char* field, std::optional<double> Iteration::*of) {
    metrics.push_back(
        {id, "s per call", std::string("mean of ") + field, field, one(mean(arm, of))});
  };
  term("draft-time", "draft", &Iteration::draft);
  term("verify-time", "verify", &Iteration::verify);
  term("accept-time", "accept", &Iteration::accept);
  term("rollback-time", "rollback", &Iteration::rollback);
  term("link-time", "link", &Iteration::link);
  metrics.push_back({"decode-time", "s per call", "mean step of the baseline", "step",
                     one(mean(cohort.baseline, &Iteration::step))});
  const auto drafted = [](const Iteration& i) { return static_cast<double>(i.drafted); };
  const auto rows = [](const Iteration& i) { return static_cast<double>(i.drafted + 1); };
  metrics.push_back({"draft-rate", "tokens/s", "drafted / sum of draft time / batch",
                     "drafted, draft, batch", one(shared_rate(arm, drafted, &Iteration::draft))});
  metrics.push_back({"verify-rate", "tokens/s", "(drafted + 1) / sum of verify time / batch",
                     "drafted, verify, batch", one(shared_rate(arm, rows, &Iteration::verify))});
  metrics.push_back({"target-kv", "bytes", "mean temporary KV of the target", "target_kv_bytes",
                     one(mean(arm, &Iteration::target_kv_bytes))});
  metrics.push_back({"draft-kv", "bytes", "mean temporary KV of the draft", "draft_kv_bytes",
                     one(mean(arm, &Iteration::draft_kv_bytes))});
  const auto whole = mean(arm, &Iteration::verify),
             decode = mean(cohort.baseline, &Iteration::step);
  metrics.push_back({"verify-slope", "1", "mean verify / mean baseline step", "verify, step",
                     one(whole && decode ? ratio(*whole, *decode) : std::nullopt)});
  metrics.push_back({"rho-measured", "1", "draft time per drafted token / verify time",
                     "draft, verify, drafted", one(rho_of(arm))});
  const Setup& setup = *cohort.setup;
  const bool has_layers = setup.draft_layers && setup.target_layers;
  metrics.push_back(
      {"rho-layers", "1", "layers of the draft / layers of the target: an estimate",
       "draft_layers, target_layers",
       has_layers ? one(layer_rho(*setup.draft_layers, *setup.target_layers).value) : Values{}});
}

void add_latencies(const Cohort& cohort, std::vector<Metric>& metrics) {
  const auto both = [&](const char* id, const char* unit, const char* definition, const char* field,
                        const std::function<std::optional<double>(
                            const Iterations&, const std::vector<const Request*>&)>& of) {
    Values values;
    if (const auto off = of(cohort.baseline, cohort.baseline_requests))
      values.emplace_back("off", *off);
    if (const auto on = of(cohort.speculative, cohort.speculative_requests))
      values.emplace_back("on", *on);
    metrics.push_back({id, unit, definition, field, values});
  };
  const Placement placement = cohort.setup->placement;
  both("ttft", "s", "mean time to first token", "ttft",
       [](const Iterations&, const auto& requests) { return mean(requests, &Request::ttft); });
  both("itl", "s", "mean time between tokens, as clients saw it", "itl",
       [](const Iterations&, const auto& requests) { return mean(requests, &Request::itl); });
  both("time-per-token", "s", "sum of step times / emitted", "step (or terms), emitted",
       [&](const Iterations& arm, const auto&) { return time_per_token(arm, placement); });
  both("latency", "s", "mean time from arrival to last token", "latency",
       [](const Iterations&, const auto& requests) { return mean(requests, &Request::latency); });
  both("tokens-per-second", "tokens/s", "output tokens / span from first arrival to last token",
       "arrival, latency, output_tokens",
       [](const Iterations&, const auto& requests) { return throughput(requests); });
  both("goodput", "tokens/s", "as tokens-per-second, of requests within the stated SLO",
       "slo_ttft, slo_itl, ttft, itl, arrival, latency, output_tokens",
       [&](const Iterations&, const auto& requests) { return goodput(requests, *cohort.setup); });
  both("leaked-blocks", "blocks", "KV blocks not returned, all requests", "leaked_blocks",
       [](const Iterations&, const auto& requests) {
         return total(requests, &Request::leaked_blocks);
       });
  both("energy", "J/token", "energy / output tokens", "energy_joules, output_tokens",
       [](const Iterations&, const auto& requests) { return energy_per_token(requests); });
}

}  // namespace

Headline headline_of(const Cohort& cohort) {
  const Placement placement = cohort.setup->placement;
  Headline headline;
  headline.committed_per_call = committed_per_call(cohort.speculative);
  const auto off = time_per_token(cohort.baseline, placement);
  const auto on = time_per_token(cohort.speculative, placement);
  if (off && on) headline.itl_ratio = ratio(*off, *on);
  return headline;
}

std::vector<Metric> metrics_of(const Cohort& cohort) {
  std::vector<Metric> metrics;
  add_acceptance(cohort, metrics);
  add_switches(cohort, metrics);
  add_times(cohort, metrics);
  add_latencies(cohort, metrics);
  return metrics;
}

}  // namespace draftproof::oracle::speed
