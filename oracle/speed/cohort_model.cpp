#include "oracle/speed/cohort_model.h"

#include <algorithm>
#include <iterator>

#include "reference/error.h"

namespace draftproof::oracle::speed {
namespace {

/// CohortSums of the iterations that are not left out.
struct CohortSums {
  double calls = 0, drafting_calls = 0, emitted = 0, drafting_emitted = 0;
  double time = 0, drafting_time = 0, drafted = 0;
  StepTerms terms;
};

void add(StepTerms& sum, const StepTerms& terms) {
  sum.draft += terms.draft;
  sum.verify += terms.verify;
  sum.accept += terms.accept;
  sum.rollback += terms.rollback;
  sum.link += terms.link;
  sum.other += terms.other;
}

StepTerms divided(const StepTerms& sum, double count) {
  return {sum.draft / count,    sum.verify / count, sum.accept / count,
          sum.rollback / count, sum.link / count,   sum.other / count};
}

class Builder {
 public:
  Builder(const Cohort& cohort, const Omission& omission,
          const std::map<std::string, std::size_t>& numbers)
      : cohort_(cohort), omission_(omission), numbers_(numbers) {
    model_.placement = cohort.setup->placement;
    model_.has_terms = true;
    model_.is_chain = true;
    for (const Iteration* each : cohort.speculative) {
      if (each->drafted == 0) continue;
      const bool has_terms = terms_of(*each, model_.placement).has_value();
      model_.has_terms = model_.has_terms && has_terms;
      model_.has_accept = model_.has_accept || each->accept;
      model_.has_rollback = model_.has_rollback || each->rollback;
      model_.has_link = model_.has_link || each->link;
      model_.has_step = model_.has_step || each->step;
      model_.is_chain = model_.is_chain && each->draft_depth() == each->drafted;
    }
  }

  std::optional<CohortModel> build(std::string& why) {
    CohortSums baseline, speculative;
    if (!read_baseline(baseline, why) || !read_speculative(speculative, why)) return std::nullopt;
    model_.decode = baseline.time / baseline.emitted;
    model_.calls = speculative.calls;
    model_.drafting_calls = speculative.drafting_calls;
    model_.committed = speculative.drafting_emitted / speculative.drafting_calls;
    model_.draft_length = speculative.drafted / speculative.drafting_calls;
    model_.speed = speculative.emitted / speculative.time * model_.decode;
    model_.drafting_speed =
        speculative.drafting_emitted / speculative.drafting_time * model_.decode;
    model_.terms = divided(speculative.terms, speculative.drafting_calls);
    model_.verify.add(0, model_.decode);
    if (cohort_.setup->passes == DraftPasses::kOnePerToken) model_.draft.add(0, 0);
    model_.rates = position_rates(drafts_);
    return model_;
  }

 private:
  bool is_left_out(const Iteration& iteration) const {
    return omission_.groups != 0 &&
           numbers_.at(iteration.request) % omission_.groups == omission_.group;
  }

  bool read_baseline(CohortSums& sums, std::string& why) {
    for (const Iteration* each : cohort_.baseline) {
      if (is_left_out(*each)) continue;
      if (!each->step) {
        why = "a baseline iteration reports no step time (line " + std::to_string(each->line) +
              "); add step_ms";
        return false;
      }
      sums.calls += 1;
      sums.emitted += static_cast<double>(each->emitted);
      sums.time += *each->step;
    }
    if (sums.emitted > 0 && sums.time > 0) return true;
    why = "no baseline; trace the same requests with speculation off (arm baseline)";
    return false;
  }

  bool read_speculative(CohortSums& sums, std::string& why) {
    for (const Iteration* each : cohort_.speculative) {
      if (is_left_out(*each)) continue;
      const auto time = time_of(*each, model_.placement);
      if (!time) {
        why = "an iteration reports no time (line " + std::to_string(each->line) +
              "); add step_ms, or draft_ms and verify_ms";
        return false;
      }
      sums.calls += 1;
      sums.emitted += static_cast<double>(each->emitted);
      sums.time += *time;
      if (each->drafted > 0) read_draft(*each, *time, sums);
    }
    if (sums.drafting_calls > 0 && sums.drafting_time > 0) return true;
    why = "nothing was drafted; trace requests with speculation on (arm speculative)";
    return false;
  }

  void read_draft(const Iteration& iteration, double time, CohortSums& sums) {
    StepTerms terms;
    terms.verify = time;
    if (model_.has_terms) terms = *terms_of(iteration, model_.placement);
    sums.drafting_calls += 1;
    sums.drafting_emitted += static_cast<double>(iteration.emitted);
    sums.drafting_time += time;
    sums.drafted += static_cast<double>(iteration.drafted);
    add(sums.terms, terms);
    const auto length = static_cast<double>(iteration.drafted);
    model_.draft.add(length, terms.draft);
    model_.verify.add(length, terms.verify);
    model_.longest = std::max(model_.longest, iteration.drafted);
    const std::int64_t depth = iteration.draft_depth();
    drafts_.push_back({depth, std::min(iteration.accepted, depth)});
  }

  const Cohort& cohort_;
  const Omission& omission_;
  const std::map<std::string, std::size_t>& numbers_;
  CohortModel model_;
  std::vector<VerifiedDraft> drafts_;
};

}  // namespace

std::string_view to_string(CostKind kind) {
  switch (kind) {
    case CostKind::kMeasured:
      return "measured";
    case CostKind::kInterpolated:
      return "interpolated";
    case CostKind::kExtrapolated:
      return "extrapolated";
  }
  return "unknown";
}

void CostLine::add(double at, double cost) {
  points_[at].sum += cost;
  points_[at].count += 1;
}

CostKind CostLine::kind(double at) const {
  DRAFTPROOF_CHECK(!points_.empty());
  if (points_.contains(at)) return CostKind::kMeasured;
  const bool is_between = at > points_.begin()->first && at < points_.rbegin()->first;
  return is_between ? CostKind::kInterpolated : CostKind::kExtrapolated;
}

double CostLine::cost(double at) const {
  DRAFTPROOF_CHECK(!points_.empty());
  const auto behind = points_.lower_bound(at);
  if (behind != points_.end() && behind->first == at) return behind->second.value();
  if (behind == points_.begin()) return behind->second.value();
  if (points_.size() == 1) return points_.begin()->second.value();
  const bool is_past = behind == points_.end();
  const auto right = is_past ? std::prev(points_.end()) : behind;
  const auto left = std::prev(right);
  const double slope =
      (right->second.value() - left->second.value()) / (right->first - left->first);
  if (is_past) return right->second.value() + std::max(0.0, slope) * (at - right->first);
  return left->second.value() + slope * (at - left->first);
}

std::optional<Prediction> CohortModel::predict(std::int64_t length) const {
  DRAFTPROOF_CHECK(is_chain && length >= 0);
  if (length == 0) return Prediction{0, 1, {0, decode, 0, 0, 0, 0}, 1, CostKind::kMeasured};
  const auto tokens = expected_committed(rates, length);
  if (!tokens) return std::nullopt;
  const auto at = static_cast<double>(length);
  Prediction prediction;
  prediction.draft_length = length;
  prediction.committed = *tokens;
  prediction.terms = terms;
  prediction.terms.draft = draft.cost(at);
  prediction.terms.verify = verify.cost(at);
  prediction.speed = step_speed(*tokens, decode, prediction.terms, placement);
  prediction.kind = std::max(draft.kind(at), verify.kind(at));
  return prediction;
}

std::map<std::string, std::size_t> numbered_requests(const Cohort& cohort) {
  std::map<std::string, std::size_t> numbers;
  for (const auto* arm : {&cohort.baseline, &cohort.speculative})
    for (const Iteration* each : *arm) numbers.emplace(each->request, 0);
  std::size_t next = 0;
  for (auto& [name, number] : numbers) number = next++;
  return numbers;
}

std::optional<CohortModel> model_of(const Cohort& cohort, const Omission& omission,
                                    const std::map<std::string, std::size_t>& numbers,
                                    std::string* why) {
  std::string reason;
  auto model = Builder(cohort, omission, numbers).build(reason);
  if (why != nullptr) *why = reason;
  return model;
}

}  // namespace draftproof::oracle::speed
