// Key histogram: how often each value of a 16-bit format occurs in a row, and the cut of a filter
// from that alone (numerics contract, section 4). A row of any length has at most 65,536 distinct
// values, so that a mass is computed once a value, and the row is read once.
//
// Counts have 16 bits, two to a word of shared memory: bin b and bin b + 32,768. A row of more than
// 65,535 tokens is counted in chunks of 32,768, before each of which every count is below 32,768,
// so that no half of a word runs into the other one; a count that reaches 32,768 in a chunk is put
// on a list once, and loses as much behind it. Integer sums do not depend on the order of the
// additions (determinism: gpu_to_gpu).
#pragma once

#include <cstdint>

#include "gpu/kernels/block.cuh"
#include "gpu/kernels/locate.cuh"
#include "gpu/kernels/row.cuh"
#include "gpu/kernels/shaping/select.cuh"
#include "gpu/kernels/shaping/shaping_anchor.cuh"

namespace draftproof::gpu::kernels::shaping {

inline constexpr std::uint32_t kKeyBins = 1u << 16;
inline constexpr std::uint32_t kKeyWords = kKeyBins / 2;
inline constexpr std::uint32_t kKeyWordBytes = kKeyWords * 4;  ///< of dynamic shared memory
inline constexpr std::uint32_t kCountChunk = 1u << 15;
/// Rows up to this length are counted in one go.
inline constexpr std::uint32_t kCountMax = 0xffff;
/// So often a count can lose 32,768, all counts of a row of 2^20 tokens together.
inline constexpr std::uint32_t kCarriesMax = 32;
/// Bins are weighed 32 at a time.
inline constexpr std::uint32_t kKeySegments = kKeyBins / kWarpLanes;

/// Shared memory of one row, beside the words.
struct KeyScratch {
  BlockScratch block;
  SelectScratch select;  ///< its search for an id, and what a choice hands to the block
  std::uint64_t segments[kKeySegments];
  std::uint32_t carries[kCarriesMax];  ///< bins; each stands for 32,768 tokens
  std::uint32_t carry_count;
  std::uint32_t key;  ///< what a choice found
};

/// The order of 16-bit values: the larger value, the larger bin; -0 and +0 share +0's.
__device__ __forceinline__ std::uint32_t bin_of(std::uint32_t bits) {
  if (bits == 0x8000u) return 0x8000u;
  return (bits & 0x8000u) != 0 ? bits ^ 0xffffu : bits | 0x8000u;
}

/// The value that bin `bin` counts.
template <class Element>
__device__ __forceinline__ float value_of_bin(std::uint32_t bin) {
  const std::uint32_t bits = (bin & 0x8000u) != 0 ? bin & 0x7fffu : bin ^ 0xffffu;
  return widened(Element{static_cast<std::uint16_t>(bits)});
}

/// Calls visit(bits) for every element of a row, as for_each_element.
template <class Visit>
__device__ __forceinline__ void for_each_bits(const std::uint16_t* row, std::uint32_t count,
                                              Visit visit) {
  constexpr std::uint32_t kPerSlot = 8;
  const std::uint32_t skew =
      static_cast<std::uint32_t>(reinterpret_cast<std::uintptr_t>(row) / 2) % kPerSlot;
  const std::uint32_t slots = (skew + count + kPerSlot - 1) / kPerSlot;
  for (std::uint32_t slot = threadIdx.x; slot < slots; slot += blockDim.x) {
    // Ids before the row wrap around and fail the comparison with count.
    const std::uint32_t first = slot * kPerSlot - skew;
    if (first < count && count - first >= kPerSlot) {
      const uint4 raw = *reinterpret_cast<const uint4*>(row + first);
      const std::uint32_t pairs[] = {raw.x, raw.y, raw.z, raw.w};
#pragma unroll
      for (const std::uint32_t pair : pairs) {
        visit(pair & 0xffffu);
        visit(pair >> 16);
      }
    } else {
#pragma unroll 1
      for (std::uint32_t i = 0; i < kPerSlot; ++i)
        if (first + i < count) visit(std::uint32_t{row[first + i]});
    }
  }
}

/// The counts of one row, in shared memory.
struct KeyHistogram {
  std::uint32_t* words;
  KeyScratch& scratch;

  /// Counts the row. Called by the whole block; every thread may read the counts afterwards.
  __device__ __forceinline__ void fill(const std::uint16_t* row, std::uint32_t count) const {
    auto* const slots = reinterpret_cast<uint4*>(words);
    for (std::uint32_t i = threadIdx.x; i < kKeyWords / 4; i += blockDim.x) slots[i] = uint4{};
    if (threadIdx.x == 0) scratch.carry_count = 0;
    __syncthreads();
    if (count <= kCountMax) {
      for_each_bits(row, count, [&](std::uint32_t bits) {
        const std::uint32_t bin = bin_of(bits);
        atomicAdd(&words[bin % kKeyWords], bin < kKeyWords ? 1u : 0x10000u);
      });
      __syncthreads();
      return;
    }
#pragma unroll 1
    for (std::uint32_t begin = 0; begin < count; begin += kCountChunk)
      fill_chunk(row + begin, min(kCountChunk, count - begin));
  }

  __device__ __forceinline__ void fill_chunk(const std::uint16_t* row, std::uint32_t count) const {
    for_each_bits(row, count, [&](std::uint32_t bits) {
      const std::uint32_t bin = bin_of(bits);
      const std::uint32_t shift = bin < kKeyWords ? 0 : 16;
      const std::uint32_t before = atomicAdd(&words[bin % kKeyWords], 1u << shift);
      if ((before >> shift & 0xffffu) == kCountChunk - 1)
        scratch.carries[atomicAdd(&scratch.carry_count, 1u) % kCarriesMax] = bin;
    });
    __syncthreads();
    if (threadIdx.x == 0) {
      // A bin that was on the list before stays on it; only one that is full again loses a chunk.
#pragma unroll 1
      for (std::uint32_t i = 0; i < scratch.carry_count; ++i) {
        const std::uint32_t bin = scratch.carries[i];
        const std::uint32_t full = kCountChunk << (bin < kKeyWords ? 0 : 16);
        std::uint32_t& word = words[bin % kKeyWords];
        if ((word & full) != 0) word -= full;
      }
    }
    __syncthreads();
  }

  __device__ __forceinline__ std::uint32_t count(std::uint32_t bin) const {
    const std::uint32_t word = words[bin % kKeyWords];
    std::uint32_t count = bin < kKeyWords ? word & 0xffffu : word >> 16;
#pragma unroll 1
    for (std::uint32_t i = 0; i < scratch.carry_count; ++i) {
      std::uint32_t given_up = kCountChunk;
      shaping_anchor::carried(given_up);
      if (scratch.carries[i] == bin) count += given_up;
    }
    return count;
  }
  /// visit(bin, count) for every bin that is not empty, spread over the threads of the block.
  template <class Visit>
  __device__ __forceinline__ void for_each(const Visit& visit) const {
#pragma unroll 1
    for (std::uint32_t i = threadIdx.x; i < kKeyBins; i += blockDim.x) {
      const std::uint32_t own = count(i);
      if (own != 0) visit(i, own);
    }
  }
};

/// A cut as a histogram sees it: among equal logits so many of the lowest ids stay.
struct KeyCut {
  std::uint32_t key;   ///< smallest key that stays
  std::uint32_t rank;  ///< kAnyId: all of that key

  /// How many of `count` tokens of this key stay.
  __device__ __forceinline__ std::uint32_t kept(std::uint32_t token_key,
                                                std::uint32_t count) const {
    if (token_key != key) return token_key > key ? count : 0;
    return min(count, rank);
  }
};

/// The shorter of two prefixes of one order.
__device__ __forceinline__ KeyCut tighter(KeyCut a, KeyCut b) {
  return a.key > b.key || (a.key == b.key && a.rank < b.rank) ? a : b;
}

/// What of one bin `current` keeps, weighed.
template <class Element, class WeightOf>
__device__ __forceinline__ std::uint64_t weight_of_bin(const KeyHistogram& histogram,
                                                       std::uint32_t bin, KeyCut current,
                                                       const WeightOf& weight_of) {
  const std::uint32_t count = histogram.count(bin);
  if (count == 0) return 0;
  const float logit = value_of_bin<Element>(bin);
  const std::uint32_t kept = current.kept(key_of(logit), count);
  return kept == 0 ? 0 : kept * weight_of(logit);
}

/// Warp 0 walks the bins from the largest down to the one in which the running weight reaches
/// need_of(weight of all bins), and leaves it in scratch. Three levels: a lane has 64 segments,
/// then two, then one bin.
template <class Element, class WeightOf, class NeedOf>
__device__ __forceinline__ void choose_key(const KeyHistogram& histogram, KeyCut current,
                                           const WeightOf& weight_of, const NeedOf& need_of) {
  constexpr std::uint32_t kPerLane = kKeySegments / kWarpLanes;
  KeyScratch& scratch = histogram.scratch;
  const std::uint32_t lane = threadIdx.x % kWarpLanes;
  const std::uint32_t first = kKeySegments - kPerLane * (lane + 1);
  std::uint64_t own = 0;
#pragma unroll 1
  for (std::uint32_t i = 0; i < kPerLane; ++i)  // turned by the lane: no two lanes share a bank
    own += scratch.segments[first + (i + lane) % kPerLane];
  std::uint64_t through = warp_prefix(own);
  const std::uint64_t need = need_of(exchange_from(through, 31));
  std::uint32_t reached = __ballot_sync(0xffffffffu, through >= need);
  if (lane == 0) scratch.select.is_short = reached == 0 ? 1 : 0;
  if (reached == 0) return;
  int found = __ffs(static_cast<int>(reached)) - 1;
  std::uint64_t before = exchange_from(through - own, found);

  const std::uint32_t top = kKeySegments - kPerLane * found - 1;
  const std::uint64_t upper = scratch.segments[top - 2 * lane];
  own = upper + scratch.segments[top - 2 * lane - 1];
  through = before + warp_prefix(own);
  reached = __ballot_sync(0xffffffffu, through >= need);
  found = __ffs(static_cast<int>(reached)) - 1;
  before = exchange_from(through - own, found);
  const std::uint64_t with_upper = before + exchange_from(upper, found);
  const bool is_lower = with_upper < need;
  if (is_lower) before = with_upper;
  const std::uint32_t segment = top - 2 * found - (is_lower ? 1 : 0);

  const std::uint32_t bin = segment * kWarpLanes + kWarpLanes - 1 - lane;
  own = weight_of_bin<Element>(histogram, bin, current, weight_of);
  through = before + warp_prefix(own);
  reached = __ballot_sync(0xffffffffu, through >= need);
  if (lane != static_cast<std::uint32_t>(__ffs(static_cast<int>(reached)) - 1)) return;
  scratch.key = key_of(value_of_bin<Element>(bin));
  scratch.select.remaining = need - (through - own);
}

/// The shortest prefix of what `current` keeps whose weight reaches need_of(weight of all that is
/// kept); `current` when it is never reached. Called by the whole block; valid in all threads.
template <class Element, class WeightOf, class NeedOf>
__device__ __forceinline__ KeyCut select_key(const KeyHistogram& histogram, KeyCut current,
                                             Ties ties, const WeightOf& weight_of,
                                             const NeedOf& need_of) {
  KeyScratch& scratch = histogram.scratch;
#pragma unroll 1
  for (std::uint32_t bin = threadIdx.x; bin < kKeyBins; bin += blockDim.x) {
    // The lanes of a warp have the 32 bins of one segment.
    const std::uint64_t own = weight_of_bin<Element>(histogram, bin, current, weight_of);
    const bool is_empty = __ballot_sync(0xffffffffu, own != 0) == 0;
    const std::uint64_t sum = is_empty ? 0 : warp_sum(own);
    if (bin % kWarpLanes == 0) scratch.segments[bin / kWarpLanes] = sum;
  }
  __syncthreads();
  if (threadIdx.x < kWarpLanes) choose_key<Element>(histogram, current, weight_of, need_of);
  __syncthreads();
  if (scratch.select.is_short != 0) return current;
  const std::uint32_t key = scratch.key;
  if (ties == Ties::kKeepAll) return {key, key == current.key ? current.rank : kAnyId};
  const std::uint64_t weight = weight_of(logit_of(key));
  auto rank = static_cast<std::uint32_t>((scratch.select.remaining + weight - 1) / weight);
  shaping_anchor::kept_ties(rank);
  return {key, rank};
}

}  // namespace draftproof::gpu::kernels::shaping
