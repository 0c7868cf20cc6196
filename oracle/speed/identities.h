// Identities: what must hold between the numbers of a trace, whatever the engine and the method. A
// broken one means that a counter lies, and then so does every rate made of it. Each is checked
// where its fields are reported, and says with which request and iteration it breaks.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "oracle/speed/trace.h"

namespace draftproof::oracle::speed {

enum class IdentityStatus { kHolds, kBroken, kNotExercised };
std::string_view to_string(IdentityStatus status);

/// Where an identity breaks. `iteration` is -1 for what concerns a whole request or cohort.
struct Breach {
  std::string request;
  std::int64_t iteration = -1;
  std::int64_t line = 0;
  std::string detail;
};

struct IdentityResult {
  std::string id;
  std::string statement;
  IdentityStatus status = IdentityStatus::kNotExercised;
  std::size_t checked = 0;       ///< iterations, requests or cohorts
  std::size_t broken = 0;        ///< of them
  std::vector<Breach> breaches;  ///< the first few
};

/// Breaches that an IdentityResult keeps at most.
inline constexpr std::size_t kBreachesKept = 3;

/// Reported rates are printed with three decimals at least: half of the last one.
inline constexpr double kReportedRateTolerance = 5e-4;

/// All of them for one cohort, in a fixed order.
std::vector<IdentityResult> identities_of(const Cohort& cohort);

bool any_broken(const std::vector<IdentityResult>& identities);

}  // namespace draftproof::oracle::speed
