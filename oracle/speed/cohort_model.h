// Cohort model: what a cohort's trace says about draft lengths it did not run. Acceptance comes
// from the per-position rates, costs from the measured lengths: between two of them on the line
// that joins them, behind the longest on the last such line, and a draft of 0 is the baseline.
// Nothing else is assumed, and every prediction says which of the three it is.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string_view>
#include <vector>

#include "oracle/speed/acceptance.h"
#include "oracle/speed/trace.h"

namespace draftproof::oracle::speed {

enum class CostKind { kMeasured, kInterpolated, kExtrapolated };
std::string_view to_string(CostKind kind);

/// Measured points joined by lines; continued behind the last one, never falling there; before the
/// first one its own cost, because a step that reads all weights has a floor.
class CostLine {
 public:
  /// Points with the same argument are averaged.
  void add(double at, double cost);
  bool empty() const { return points_.empty(); }
  /// Precondition: not empty.
  double cost(double at) const;
  CostKind kind(double at) const;

 private:
  struct Mean {
    double sum = 0;
    double count = 0;
    double value() const { return sum / count; }
  };
  std::map<double, Mean> points_;
};

/// What one draft length would give.
struct Prediction {
  std::int64_t draft_length = 0;
  double committed = 1;
  StepTerms terms;
  double speed = 1;
  CostKind kind = CostKind::kMeasured;
};

/// Means over a cohort, or over what a jackknife left of it.
struct CohortModel {
  Placement placement = Placement::kSerial;
  bool has_terms = false;  ///< else `verify` is the whole step and the other terms are 0
  bool has_accept = false, has_rollback = false, has_link = false, has_step = false;  ///< reported
  bool is_chain = false;      ///< every draft is a chain: lengths can be predicted
  double calls = 0;           ///< of the speculative arm
  double drafting_calls = 0;  ///< of them with a draft
  double decode = 0;          ///< seconds of a baseline step per token
  double speed = 0;           ///< tokens per time, speculative over baseline, all iterations
  double drafting_speed = 0;  ///< the same, iterations with a draft only
  double committed = 0;       ///< tokens per call, iterations with a draft only
  double draft_length = 0;    ///< mean over iterations with a draft
  std::int64_t longest = 0;
  StepTerms terms;  ///< means over iterations with a draft
  std::vector<PositionRate> rates;
  CostLine draft, verify;  ///< by draft length

  /// Precondition: is_chain, draft_length >= 0. Absent when a position's rate is unknown.
  std::optional<Prediction> predict(std::int64_t draft_length) const;
};

/// Which iterations to leave out: those of requests whose number modulo `groups` is `group`.
struct Omission {
  std::size_t group = 0;
  std::size_t groups = 0;  ///< 0: leave out nothing
};

/// Numbers requests of both arms in the order of their names; the same request has one number.
std::map<std::string, std::size_t> numbered_requests(const Cohort& cohort);

/// Absent when an arm is empty, no draft was verified, or a time is not reported; `why` then says
/// so in words with the remedy.
std::optional<CohortModel> model_of(const Cohort& cohort, const Omission& omission,
                                    const std::map<std::string, std::size_t>& numbers,
                                    std::string* why = nullptr);

}  // namespace draftproof::oracle::speed
