// Placement: where the drafter runs, and which of its time a step sees. Serial: before the verify,
// on the same device. Overlapped: while the target verifies (PEARL; SSD, arXiv:2603.03251). Remote:
// before the verify, on another machine, with a link between them.
#pragma once

#include <optional>
#include <string_view>

namespace draftproof::oracle::speed {

enum class Placement { kSerial, kOverlapped, kRemote };
std::string_view to_string(Placement placement);
/// Absent for an unknown word.
std::optional<Placement> placement_from(std::string_view word);

/// Seconds of one step, or any one unit. `other` is what no term accounts for (scheduling,
/// launches).
struct StepTerms {
  double draft = 0;
  double verify = 0;
  double accept = 0;
  double rollback = 0;
  double link = 0;
  double other = 0;
};

/// serial      draft + verify + accept + rollback + link + other
/// overlapped  max(draft + link, verify) + accept + rollback + other
/// remote      as serial: the link is a term of its own, whatever the drafter costs there
double step_time(const StepTerms& terms, Placement placement);

/// SSD in units of one verify: drafting for several outcomes while the target verifies, with the
/// next draft ready on a hit and a fallback drafter on a miss.
struct AheadOfTime {
  double hit_rate = 0;           ///< in [0, 1]
  double committed_on_hit = 0;   ///< E[committed] of a step that follows a hit
  double committed_on_miss = 0;  ///< and of one that follows a miss
  double draft_verifies = 0;     ///< T_p: drafting ahead, in verifies
  double fallback_verifies = 0;  ///< T_b: the drafter of a miss, in verifies
};

/// (h E_hit + (1 - h) E_miss) / (h max(1, T_p) + (1 - h) (1 + T_b)): tokens per verify's time.
/// Preconditions: hit_rate in [0, 1], the rest not negative.
double ahead_of_time_speed(const AheadOfTime& drafting);

}  // namespace draftproof::oracle::speed
