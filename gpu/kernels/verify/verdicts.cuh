// Verdicts: one word a target row, by which teams that judge rows of one request at the same time
// agree on where it stops. A word holds the number of its launch and whether the row goes on, and
// is written once a launch by the team that judged the row; rows behind a stop may have none. Words
// of earlier launches say nothing, so that none has to be cleared.
#pragma once

#include <cstdint>

#include "gpu/kernels/arguments/acceptance.h"
#include "gpu/kernels/layout.h"
#include "gpu/kernels/row.cuh"
#include "gpu/kernels/team.cuh"

namespace draftproof::gpu::kernels::verify {

/// The verdicts on one request's rows.
struct Verdicts {
  std::uint64_t* words;
  std::uint64_t launch;

  __device__ __forceinline__ void publish(std::uint32_t position, bool is_accepted) const {
    store_release(words + position, launch << 1 | (is_accepted ? 1 : 0));
  }

  /// True when rows 0 .. count - 1 are all accepted, false when one of them is not; waits until
  /// that is settled. Called by a whole warp.
  __device__ __forceinline__ bool all_accepted(std::uint32_t count) const {
    const std::uint32_t lane = threadIdx.x % kWarpLanes;
#pragma unroll 1
    for (std::uint32_t first = 0; first < count; first += kWarpLanes) {
      const std::uint32_t position = first + lane;
      bool is_known = position >= count;
      bool stops = false;
#pragma unroll 1
      while (true) {
        if (!is_known) {
          const std::uint64_t word = load_acquire(words + position);
          is_known = word >> 1 == launch;
          stops = is_known && (word & 1) == 0;
        }
        if (__ballot_sync(0xffffffffu, stops) != 0) return false;
        if (__ballot_sync(0xffffffffu, !is_known) == 0) break;
      }
    }
    return true;
  }
};

/// Those of `request`, which lie behind the areas of all blocks.
__device__ __forceinline__ Verdicts verdicts_of(const draftproof_acceptance_arguments& arguments,
                                                std::uint32_t request, std::uint64_t launch) {
  auto* words =
      reinterpret_cast<std::uint64_t*>(arguments.workspace + sizeof(TeamHeader) +
                                       sizeof(TeamArea) * 2 * std::uint64_t{arguments.block_count});
  return {words + target_slot(request, 0, arguments.padded_draft_count), launch};
}

/// True when row `position` belongs to the draft of its request: no placeholder before it, and not
/// behind the row that follows the draft. Called by a whole warp.
__device__ __forceinline__ bool is_in_draft(const std::int32_t* tokens, std::uint32_t draft_count,
                                            std::uint32_t position) {
  if (position > draft_count) return false;
  const std::uint32_t lane = threadIdx.x % kWarpLanes;
#pragma unroll 1
  for (std::uint32_t first = 0; first < position; first += kWarpLanes) {
    const bool ends = first + lane < position && tokens[first + lane] == kNoToken;
    if (__ballot_sync(0xffffffffu, ends) != 0) return false;
  }
  return true;
}

}  // namespace draftproof::gpu::kernels::verify
