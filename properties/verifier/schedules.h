// Schedules: the orders of warps under which subjects on a device are run, and the sizes of row at
// which the number of threads makes a difference.
#pragma once

#include <cstddef>
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

/// Vocabulary sizes on both sides of common block sizes and tiles, small ones first.
inline const std::vector<std::size_t>& sizes_around_blocks() {
  static const std::vector<std::size_t> sizes = {2, 33, 97, 257, 700, 1025, 2049};
  return sizes;
}

}  // namespace draftproof::properties::verifier
