#include "oracle/speed/trace.h"

#include <algorithm>

namespace draftproof::oracle::speed {

std::string_view to_string(Arm arm) { return arm == Arm::kBaseline ? "baseline" : "speculative"; }

std::vector<Cohort> cohorts_of(const Trace& trace) {
  std::map<std::string, Cohort> cohorts;
  const auto cohort = [&](const std::string& name) -> Cohort& {
    Cohort& found = cohorts[name];
    found.name = name;
    found.setup = &trace.setup;
    return found;
  };
  for (const Iteration& iteration : trace.iterations) {
    Cohort& found = cohort(iteration.cohort);
    (iteration.arm == Arm::kBaseline ? found.baseline : found.speculative).push_back(&iteration);
  }
  for (const Request& request : trace.requests) {
    Cohort& found = cohort(request.cohort);
    (request.arm == Arm::kBaseline ? found.baseline_requests : found.speculative_requests)
        .push_back(&request);
  }
  std::vector<Cohort> list;
  for (auto& [name, found] : cohorts) list.push_back(std::move(found));
  return list;
}

std::optional<StepTerms> terms_of(const Iteration& iteration, Placement placement) {
  const bool drafts = iteration.drafted > 0;
  if (!iteration.verify || (drafts && !iteration.draft)) return std::nullopt;
  StepTerms terms;
  terms.draft = iteration.draft.value_or(0);
  terms.verify = *iteration.verify;
  terms.accept = iteration.accept.value_or(0);
  terms.rollback = iteration.rollback.value_or(0);
  terms.link = iteration.link.value_or(0);
  // A sum above the measured step is a broken identity and reported as such; no term is negative.
  if (iteration.step) terms.other = std::max(0.0, *iteration.step - step_time(terms, placement));
  return terms;
}

std::optional<double> time_of(const Iteration& iteration, Placement placement) {
  if (iteration.step) return iteration.step;
  const auto terms = terms_of(iteration, placement);
  if (!terms) return std::nullopt;
  return step_time(*terms, placement);
}

}  // namespace draftproof::oracle::speed
