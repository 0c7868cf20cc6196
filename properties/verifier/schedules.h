// Schedules: the orders of warps under which subjects on a device are run.
#pragma once

#include <vector>

#include "reference/verifier.h"

namespace draftproof::properties::verifier {

/// First warp first, last warp first, and `random_count` random ones with seeds 1, 2, ...
inline std::vector<reference::Execution> schedules(const reference::Execution& base,
                                                   int random_count) {
  std::vector<reference::Execution> list(2, base);
  list[0].schedule = reference::ScheduleKind::kFirstWarpFirst;
  list[1].schedule = reference::ScheduleKind::kLastWarpFirst;
  for (int seed = 1; seed <= random_count; ++seed) {
    list.push_back(base);
    list.back().schedule = reference::ScheduleKind::kRandom;
    list.back().schedule_seed = static_cast<std::uint64_t>(seed);
  }
  return list;
}

}  // namespace draftproof::properties::verifier
