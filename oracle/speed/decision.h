// Decision: use, shorten or switch off, with the term that decides. It rests on the cohort's own
// baseline and on intervals over requests; where an interval straddles 1, or a counter contradicts
// another, the answer is "inconclusive" with what is missing.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "oracle/speed/cohort_model.h"
#include "oracle/speed/identities.h"
#include "oracle/speed/jackknife.h"

namespace draftproof::oracle::speed {

enum class Advice { kUse, kShorten, kSwitchOff, kInconclusive };
std::string_view to_string(Advice advice);

/// What the advice is made of. Speeds are ratios to plain decoding.
struct Evidence {
  JackknifeInterval speed;         ///< as run
  double present_length = 0;       ///< mean draft length as run
  std::optional<Prediction> best;  ///< best length >= 1 within the measured ones
  std::optional<JackknifeInterval> best_speed;
  std::optional<JackknifeInterval> gain;  ///< best speed over the speed of drafting as run
};

/// The rule alone, over intervals:
///   shorten       the best length is shorter, wins against 1, and wins against the present length
///   use           the speed as run is above 1
///   switch off    the speed as run is below 1, and so is the best length's
///   inconclusive  everything else
Advice advice_of(const Evidence& evidence);

/// What a step would gain without one of its costs.
struct TermEffect {
  std::string name;          ///< draft, verify slope, accept, rollback, link, other
  double seconds = 0;        ///< of a mean step with a draft
  double decodes = 0;        ///< the same in baseline steps
  double speed_without = 0;  ///< the speed of drafting as run, had the term cost nothing
};

/// Costs of a step with a draft, dearest first as `speed_without` counts. Only what the trace has
/// terms for; a lone "step" when it has none.
std::vector<TermEffect> term_effects(const CohortModel& model);

struct Decision {
  Advice advice = Advice::kInconclusive;
  std::string term;    ///< the term that decides
  std::string reason;  ///< one sentence with the numbers
  std::optional<CohortModel> model;
  std::optional<Evidence> evidence;
  std::vector<TermEffect> effects;
  std::vector<Prediction> predictions;  ///< lengths 0 .. limit; empty for trees
  std::optional<double> break_even;     ///< committed tokens per call at which speed is 1
};

struct DecisionOptions {
  double miss_probability = 0.05;  ///< of each interval
  std::int64_t length_limit = 16;  ///< of the predictions shown
};

Decision decide(const Cohort& cohort, const std::vector<IdentityResult>& identities,
                const DecisionOptions& options);

}  // namespace draftproof::oracle::speed
