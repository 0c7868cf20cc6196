// Block reductions of integers: maximum, minimum, sum, any. Exact, so the order of the threads and
// the block size do not matter (determinism: gpu_to_gpu).
#pragma once

#include <cstdint>

#include "gpu/kernels/locate.cuh"

namespace draftproof::gpu::kernels {

/// Shared memory of the reductions below.
struct BlockScratch {
  std::uint64_t partial[kWarpLanes];
};

/// combine over the values of all threads; valid in all threads. `neutral` leaves every value as it
/// is. `warp_combine` reduces the 32 values of a warp.
template <class WarpCombine>
__device__ __forceinline__ std::uint64_t block_reduce(std::uint64_t value, std::uint64_t neutral,
                                                      const WarpCombine& warp_combine,
                                                      BlockScratch& scratch) {
  const std::uint32_t lane = threadIdx.x % kWarpLanes;
  const std::uint32_t warp_count = blockDim.x / kWarpLanes;
  const std::uint64_t own = warp_combine(value);
  if (lane == 0) scratch.partial[threadIdx.x / kWarpLanes] = own;
  __syncthreads();
  const std::uint64_t partial = lane < warp_count ? scratch.partial[lane] : neutral;
  const std::uint64_t combined = warp_combine(partial);
  __syncthreads();  // the next reduction may write the partials
  return combined;
}

__device__ __forceinline__ std::uint64_t block_sum(std::uint64_t value, BlockScratch& scratch) {
  return block_reduce(
      value, 0, [](std::uint64_t own) { return warp_sum(own); }, scratch);
}

__device__ __forceinline__ std::uint32_t block_max(std::uint32_t value, BlockScratch& scratch) {
  return static_cast<std::uint32_t>(block_reduce(
      value, 0,
      [](std::uint64_t own) -> std::uint64_t {
        return __reduce_max_sync(0xffffffffu, static_cast<std::uint32_t>(own));
      },
      scratch));
}

__device__ __forceinline__ std::uint32_t block_min(std::uint32_t value, BlockScratch& scratch) {
  return ~block_max(~value, scratch);
}

}  // namespace draftproof::gpu::kernels
