// Arrivals: when requests of an open loop are due. A closed loop sends the next request when an
// answer has come, so a slow engine is asked less and looks better than it is (coordinated
// omission); users do not wait for each other. The same arrivals are played to both arms.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "tools/engines/client.h"

namespace draftproof::tools::audit {

class Arrivals {
 public:
  /// "poisson:RATE" (requests a second, drawn from the seed) or a file of seconds, one a line, not
  /// falling, which begins anew when it is over. Throws Error(kInput) at "speed.arrivals" or at
  /// "FILE:LINE".
  Arrivals(const std::string& text, std::uint64_t seed);

  /// Seconds between the arrival of request i - 1 and that of request i; 0 for i = 0.
  double gap(std::size_t i) const;

 private:
  double rate_ = 0;
  std::uint64_t seed_ = 0;
  std::vector<double> gaps_;  ///< of a file
};

/// Two arms that are asked at these times, whether earlier answers have come or not. The position
/// in the arrivals is kept by arm, so that arms which are asked the same meet the same arrivals.
/// `baseline` may be null where it is never asked.
std::unique_ptr<properties::Engine> open_loop(std::shared_ptr<engines::ArmClient> baseline,
                                              std::shared_ptr<engines::ArmClient> speculative,
                                              Arrivals arrivals);

}  // namespace draftproof::tools::audit
