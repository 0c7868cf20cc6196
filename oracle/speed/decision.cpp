#include "oracle/speed/decision.h"

#include <algorithm>
#include <cstdio>

#include "oracle/speed/draft_length.h"
#include "reference/error.h"

namespace draftproof::oracle::speed {
namespace {

std::string number(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.3g", value);
  return text;
}

std::string with_interval(const JackknifeInterval& estimate) {
  if (!estimate.interval) return number(estimate.value) + " (no interval)";
  return number(estimate.value) + " [" + number(estimate.interval->low) + ", " +
         number(estimate.interval->high) + "]";
}

bool is_above_one(const std::optional<JackknifeInterval>& estimate) {
  return estimate && estimate->interval && estimate->interval->low > 1;
}
bool is_below_one(const std::optional<JackknifeInterval>& estimate) {
  return estimate && estimate->interval && estimate->interval->high < 1;
}

/// The best length that was measured or lies between measured ones.
std::optional<Prediction> best_of(const CohortModel& model) {
  if (!model.is_chain) return std::nullopt;
  std::optional<Prediction> best;
  for (std::int64_t length = 1; length <= model.longest; ++length) {
    const auto prediction = model.predict(length);
    if (prediction && (!best || prediction->speed > best->speed)) best = prediction;
  }
  return best;
}

Evidence evidence_of(const Cohort& cohort, const CohortModel& model,
                     const DecisionOptions& options) {
  const auto numbers = numbered_requests(cohort);
  const std::size_t groups = std::min(numbers.size(), kMostGroups);
  std::vector<std::optional<CohortModel>> models;
  for (std::size_t g = 0; g < groups && groups > 1; ++g)
    models.push_back(model_of(cohort, {g, groups}, numbers));
  const auto estimate =
      [&](const std::function<std::optional<double>(const CohortModel&)>& value_of) {
        return jackknife(
            [&](std::size_t g) -> std::optional<double> {
              const auto& chosen = g < models.size() ? models[g] : model;
              return chosen ? value_of(*chosen) : std::nullopt;
            },
            groups, options.miss_probability);
      };
  Evidence evidence;
  evidence.speed = *estimate([](const CohortModel& each) { return std::optional(each.speed); });
  evidence.present_length = model.draft_length;
  evidence.best = best_of(model);
  if (!evidence.best) return evidence;
  // The length is chosen once, on everything: the interval is that of this length, not of a
  // maximum.
  const std::int64_t length = evidence.best->draft_length;
  const auto speed_at = [&](const CohortModel& each) -> std::optional<double> {
    const auto prediction = each.predict(length);
    return prediction ? std::optional(prediction->speed) : std::nullopt;
  };
  evidence.best_speed = estimate(speed_at);
  evidence.gain = estimate([&](const CohortModel& each) -> std::optional<double> {
    const auto speed = speed_at(each);
    return speed ? std::optional(*speed / each.drafting_speed) : std::nullopt;
  });
  return evidence;
}

double speed_with(const CohortModel& model, const StepTerms& terms) {
  return step_speed(model.committed, model.decode, terms, model.placement);
}

/// The dearest cost, or acceptance when no single cost would turn a loss into a gain.
std::string losing_term(const Decision& decision) {
  if (decision.effects.empty() || decision.effects.front().speed_without <= 1) return "acceptance";
  return decision.effects.front().name;
}

/// What made the tail of the draft too dear: the larger of the two marginal costs.
std::string shortening_term(const Decision& decision) {
  const Prediction& best = *decision.evidence->best;
  const CohortModel& model = *decision.model;
  if (!model.has_terms) return "step";
  const double draft = model.terms.draft - best.terms.draft;
  const double verify = model.terms.verify - best.terms.verify;
  return draft >= verify ? "draft" : "verify slope";
}

void explain(Decision& decision) {
  const Evidence& evidence = *decision.evidence;
  const std::string speed = "speed as run " + with_interval(evidence.speed);
  std::string best;
  if (evidence.best && evidence.best_speed) {
    best = "; best draft length " + std::to_string(evidence.best->draft_length) + " (" +
           std::string(to_string(evidence.best->kind)) + ") would give " +
           with_interval(*evidence.best_speed);
  }
  switch (decision.advice) {
    case Advice::kUse:
      decision.term = decision.effects.empty() ? "acceptance" : decision.effects.front().name;
      decision.reason = speed + best + "; what is left to gain is in: " + decision.term;
      return;
    case Advice::kShorten:
      decision.term = shortening_term(decision);
      decision.reason = speed + best + ", " + with_interval(*evidence.gain) +
                        " times drafting as run; the tail of the draft costs more " +
                        decision.term + " than it commits";
      return;
    case Advice::kSwitchOff:
      decision.term = losing_term(decision);
      decision.reason = speed + best;
      return;
    case Advice::kInconclusive:
      decision.term = evidence.speed.interval ? "uncertainty" : "number of requests";
      decision.reason =
          speed + best +
          (evidence.speed.interval ? "; trace more requests"
                                   : "; one request has no spread, trace at least two");
      return;
  }
}

}  // namespace

std::string_view to_string(Advice advice) {
  switch (advice) {
    case Advice::kUse:
      return "use";
    case Advice::kShorten:
      return "shorten";
    case Advice::kSwitchOff:
      return "switch off";
    case Advice::kInconclusive:
      return "inconclusive";
  }
  return "unknown";
}

Advice advice_of(const Evidence& evidence) {
  const bool is_shorter =
      evidence.best && static_cast<double>(evidence.best->draft_length) < evidence.present_length;
  if (is_shorter && is_above_one(evidence.best_speed) && is_above_one(evidence.gain))
    return Advice::kShorten;
  if (is_above_one(evidence.speed)) return Advice::kUse;
  const bool nothing_wins = !evidence.best || is_below_one(evidence.best_speed);
  if (is_below_one(evidence.speed) && nothing_wins) return Advice::kSwitchOff;
  return Advice::kInconclusive;
}

std::vector<TermEffect> term_effects(const CohortModel& model) {
  if (!model.has_terms) return {};
  const StepTerms& mean = model.terms;
  std::vector<TermEffect> effects;
  const auto effect = [&](const char* name, double seconds, double StepTerms::*term, double ideal) {
    StepTerms without = mean;
    without.*term = ideal;
    effects.push_back({name, seconds, seconds / model.decode, speed_with(model, without)});
  };
  effect("draft", mean.draft, &StepTerms::draft, 0);
  // A verify that is quicker than a decode cannot be improved by pretending it is as slow.
  effect("verify slope", mean.verify - model.decode, &StepTerms::verify,
         std::min(mean.verify, model.decode));
  if (model.has_accept) effect("accept", mean.accept, &StepTerms::accept, 0);
  if (model.has_rollback) effect("rollback", mean.rollback, &StepTerms::rollback, 0);
  if (model.has_link) effect("link", mean.link, &StepTerms::link, 0);
  if (model.has_step) effect("other", mean.other, &StepTerms::other, 0);
  std::stable_sort(effects.begin(), effects.end(), [](const TermEffect& a, const TermEffect& b) {
    return a.speed_without > b.speed_without;
  });
  return effects;
}

Decision decide(const Cohort& cohort, const std::vector<IdentityResult>& identities,
                const DecisionOptions& options) {
  Decision decision;
  const auto numbers = numbered_requests(cohort);
  decision.model = model_of(cohort, {}, numbers, &decision.reason);
  if (!decision.model) {
    decision.term = "not reported";
    return decision;
  }
  const CohortModel& model = *decision.model;
  decision.effects = term_effects(model);
  decision.break_even = step_time(model.terms, model.placement) / model.decode;
  for (std::int64_t length = 0; model.is_chain && length <= options.length_limit; ++length) {
    if (const auto prediction = model.predict(length)) decision.predictions.push_back(*prediction);
  }
  decision.evidence = evidence_of(cohort, model, options);
  for (const IdentityResult& identity : identities) {
    if (identity.status != IdentityStatus::kBroken) continue;
    decision.term = identity.id;
    decision.reason = "the numbers contradict each other: " + identity.statement + " is broken " +
                      std::to_string(identity.broken) + " times; repair the counters first";
    return decision;
  }
  decision.advice = advice_of(*decision.evidence);
  explain(decision);
  return decision;
}

}  // namespace draftproof::oracle::speed
