#include "oracle/speed/gain_map.h"

#include <algorithm>

#include "oracle/speed/tile.h"

namespace draftproof::oracle::speed {
namespace {

/// Costs of every cohort together.
struct TraceCosts {
  CostLine by_rows;  ///< baseline steps and verifies, seconds by rows
  CostLine draft;    ///< seconds of a drafted token (or of the one pass) by batch
  StepTerms rest;    ///< means of accept, rollback, link, other
  std::set<std::int64_t> batches;
};

/// Empty when everything was there.
std::string read_costs(const Trace& trace, TraceCosts& costs) {
  const Setup& setup = trace.setup;
  double drafting = 0;
  bool has_baseline = false;
  for (const Iteration& each : trace.iterations) {
    const std::string line = " (line " + std::to_string(each.line) + ")";
    if (each.arm == Arm::kSpeculative && each.drafted == 0) continue;
    if (!each.batch) return "an iteration reports no batch" + line + "; add batch to every one";
    const auto batch = static_cast<double>(*each.batch);
    costs.batches.insert(*each.batch);
    if (each.arm == Arm::kBaseline) {
      if (!each.step) return "a baseline iteration reports no step time" + line + "; add step_ms";
      costs.by_rows.add(batch, *each.step);
      has_baseline = true;
      continue;
    }
    const auto terms = terms_of(each, setup.placement);
    if (!terms) return "an iteration lacks its terms" + line + "; add draft_ms and verify_ms";
    costs.by_rows.add(static_cast<double>(gemm_rows(*each.batch, each.drafted)), terms->verify);
    const bool one_pass = setup.passes == DraftPasses::kOne;
    costs.draft.add(batch,
                    one_pass ? terms->draft : terms->draft / static_cast<double>(each.drafted));
    costs.rest.accept += terms->accept;
    costs.rest.rollback += terms->rollback;
    costs.rest.link += terms->link;
    costs.rest.other += terms->other;
    drafting += 1;
  }
  if (!has_baseline) return "the trace has no baseline; trace the same requests without drafts";
  if (drafting == 0) return "the trace has no draft; trace requests with speculation on";
  for (double StepTerms::*term :
       {&StepTerms::accept, &StepTerms::rollback, &StepTerms::link, &StepTerms::other})
    costs.rest.*term /= drafting;
  return "";
}

GainPoint point_of(const TraceCosts& costs, const Setup& setup, std::int64_t length,
                   std::int64_t batch, double acceptance) {
  GainPoint point{length, batch, acceptance, expected_committed(acceptance, length), 1, {}};
  const auto sequences = static_cast<double>(batch);
  const auto rows = static_cast<double>(gemm_rows(batch, length));
  const double passes = setup.passes == DraftPasses::kOne ? 1 : static_cast<double>(length);
  StepTerms terms = costs.rest;
  terms.draft = passes * costs.draft.cost(sequences);
  terms.verify = costs.by_rows.cost(rows);
  point.speed = step_speed(point.committed, costs.by_rows.cost(sequences), terms, setup.placement);
  point.kind = std::max(
      {costs.by_rows.kind(rows), costs.by_rows.kind(sequences), costs.draft.kind(sequences)});
  return point;
}

}  // namespace

std::vector<double> usual_acceptances() {
  std::vector<double> list;
  for (int twentieth = 0; twentieth <= 20; ++twentieth) list.push_back(twentieth / 20.0);
  return list;
}

GainMap gain_map(const Trace& trace, const GainAxes& axes) {
  TraceCosts costs;
  GainMap map;
  map.why_not = read_costs(trace, costs);
  if (!map.why_not.empty()) return map;
  std::vector<std::int64_t> batches = axes.batches;
  if (batches.empty()) batches.assign(costs.batches.begin(), costs.batches.end());
  for (std::int64_t length = 1; length <= axes.length_limit; ++length)
    for (const std::int64_t batch : batches)
      for (const double acceptance : axes.acceptances)
        map.points.push_back(point_of(costs, trace.setup, length, batch, acceptance));
  return map;
}

}  // namespace draftproof::oracle::speed
