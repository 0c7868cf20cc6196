// Locate: the first id, in id order, at which a running sum of weights exceeds a threshold. Draws
// the recovered and the bonus token, and finds the id cut among ties.
//
// The block splits the range into at most 32 segments, sums each with one warp, scans the 32 sums,
// keeps the segment in which the threshold is crossed, and repeats until 32 ids are left. Sums are
// exact integers, so the answer is the same for every block size, order and schedule
// (determinism: gpu_to_gpu). Reads (1 + 1/32 + ...) times the row.
#pragma once

#include <cstdint>

#include "gpu/kernels/wide.cuh"

namespace draftproof::gpu::kernels {

inline constexpr std::uint32_t kWarpLanes = 32;

/// Shared memory of one search.
template <class Number>
struct LocateScratch {
  Number segment_sums[kWarpLanes];
};

template <class Number>
__device__ __forceinline__ Number warp_sum(Number value) {
#pragma unroll
  for (int mask = 16; mask > 0; mask /= 2) value = sum(value, exchange_across(value, mask));
  return value;
}

/// Sum of the values of lanes 0 .. own lane.
template <class Number>
__device__ __forceinline__ Number warp_prefix(Number value) {
  const int lane = static_cast<int>(threadIdx.x % kWarpLanes);
#pragma unroll
  for (int distance = 1; distance < 32; distance *= 2) {
    const Number below = exchange_up(value, distance);
    if (lane >= distance) value = sum(value, below);
  }
  return value;
}

/// A range of ids.
struct LocateRange {
  std::uint32_t begin;
  std::uint32_t end;
};

/// Sums the segments of `range`; on return every thread may read scratch.segment_sums.
template <class Number, class Weight>
__device__ __forceinline__ void sum_segments(const LocateRange& range, std::uint32_t segment_length,
                                             std::uint32_t segment_count, const Weight& weight,
                                             LocateScratch<Number>& scratch) {
  // One 128-bit weight at a time keeps the residual within 64 registers on every architecture.
  constexpr int kUnroll = sizeof(Number) > 8 ? 1 : 4;
  __syncthreads();  // the sums of the round before have been read
  const std::uint32_t lane = threadIdx.x % kWarpLanes;
  for (std::uint32_t segment = threadIdx.x / kWarpLanes; segment < segment_count;
       segment += blockDim.x / kWarpLanes) {
    const std::uint32_t begin = range.begin + segment * segment_length;
    const std::uint32_t end = min(begin + segment_length, range.end);
    Number own{};
#pragma unroll kUnroll
    for (std::uint32_t id = begin + lane; id < end; id += kWarpLanes) own = sum(own, weight(id));
    const Number total = warp_sum(own);
    if (lane == 0) scratch.segment_sums[segment] = total;
  }
  __syncthreads();
}

/// Ids whose weight is another one than `weight` says: none.
struct NoExceptions {
  static constexpr bool kAreThere = false;
  template <class Visit>
  __device__ __forceinline__ void for_each(const Visit&) const {}
};

/// Adds what the exceptions in `range` weigh more to the sums of their segments. Called by the
/// whole block behind sum_segments; on return every thread may read scratch.segment_sums.
template <class Number, class Exceptions>
__device__ __forceinline__ void add_exceptions(const LocateRange& range,
                                               std::uint32_t segment_length,
                                               std::uint32_t segment_count,
                                               const Exceptions& exceptions,
                                               LocateScratch<Number>& scratch) {
  if (threadIdx.x < kWarpLanes) {
    Number own = threadIdx.x < segment_count ? scratch.segment_sums[threadIdx.x] : Number{};
    exceptions.for_each([&](bool has, std::uint32_t id, Number excess) {
      const std::uint32_t segment = (id - range.begin) / segment_length;
      const bool is_here = has && id >= range.begin && id < range.end;
      std::uint32_t left = __ballot_sync(0xffffffffu, is_here);
      for (; left != 0; left &= left - 1) {
        const int lane = __ffs(static_cast<int>(left)) - 1;
        const std::uint32_t to = __shfl_sync(0xffffffffu, segment, lane);
        const Number more = exchange_from(excess, lane);
        if (to == threadIdx.x) own = sum(own, more);
      }
    });
    if (threadIdx.x < segment_count) scratch.segment_sums[threadIdx.x] = own;
  }
  __syncthreads();
}

/// What the exceptions among 32 ids, one a lane, weigh more. Called by a whole warp.
template <class Number, class Exceptions>
__device__ __forceinline__ Number excess_of(std::uint32_t id, const Exceptions& exceptions) {
  Number own{};
  exceptions.for_each([&](bool has, std::uint32_t other, Number excess) {
    std::uint32_t left = __ballot_sync(0xffffffffu, has);
    for (; left != 0; left &= left - 1) {
      const int lane = __ffs(static_cast<int>(left)) - 1;
      const bool is_own = __shfl_sync(0xffffffffu, other, lane) == id;
      const Number more = exchange_from(excess, lane);
      if (is_own) own = sum(own, more);
    }
  });
  return own;
}

/// What locate found.
struct Located {
  bool is_found;  ///< false when the sum of all weights does not exceed the threshold
  std::uint32_t id;
};

/// The least id < count with threshold < weight(0) + ... + weight(id), where threshold =
/// threshold_of(sum of all weights). All threads of the block call it, with equal arguments; only
/// the answer of the threads of warp 0 is valid. count > 0, a multiple of 32 threads in the block.
/// exceptions.for_each(visit) calls visit(has, id, excess) with all lanes of a warp: where `has`,
/// the weight of `id` is weight(id) + excess, modulo the numbers there are; each id once.
template <class Number, class Weight, class ThresholdOf, class Exceptions = NoExceptions>
__device__ __forceinline__ Located locate(std::uint32_t count, const Weight& weight,
                                          const ThresholdOf& threshold_of,
                                          LocateScratch<Number>& scratch,
                                          const Exceptions& exceptions = {}) {
  const std::uint32_t lane = threadIdx.x % kWarpLanes;
  LocateRange range{0, count};
  Number threshold{};  // less what all weights before the range sum to, so that one number is kept
  bool is_first = true;
#pragma unroll 1
  do {
    const std::uint32_t ids = range.end - range.begin;
    const std::uint32_t chunks = (ids + kWarpLanes - 1) / kWarpLanes;
    const std::uint32_t segment_length = (chunks + kWarpLanes - 1) / kWarpLanes * kWarpLanes;
    const std::uint32_t segment_count = (ids + segment_length - 1) / segment_length;
    sum_segments(range, segment_length, segment_count, weight, scratch);
    if constexpr (Exceptions::kAreThere)
      add_exceptions(range, segment_length, segment_count, exceptions, scratch);
    const Number own = lane < segment_count ? scratch.segment_sums[lane] : Number{};
    const Number through = warp_prefix(own);
    if (is_first) threshold = threshold_of(exchange_from(through, 31));
    is_first = false;
    const std::uint32_t crossed = __ballot_sync(0xffffffffu, less(threshold, through));
    if (crossed == 0) return {false, 0};
    const int segment = __ffs(static_cast<int>(crossed)) - 1;
    // Before the segment: what lies through its predecessor.
    const Number before = exchange_from(through, max(segment - 1, 0));
    if (segment > 0) threshold = difference(threshold, before);
    range.begin += static_cast<std::uint32_t>(segment) * segment_length;
    range.end = min(range.begin + segment_length, range.end);
  } while (range.end - range.begin > kWarpLanes);

  if (threadIdx.x >= kWarpLanes) return {true, 0};
  const std::uint32_t id = range.begin + lane;
  Number own = id < range.end ? weight(id) : Number{};
  if constexpr (Exceptions::kAreThere) own = sum(own, excess_of<Number>(id, exceptions));
  const Number through = warp_prefix(own);
  const std::uint32_t crossed = __ballot_sync(0xffffffffu, less(threshold, through));
  if (crossed == 0) return {false, 0};
  return {true, range.begin + static_cast<std::uint32_t>(__ffs(static_cast<int>(crossed)) - 1)};
}

}  // namespace draftproof::gpu::kernels
