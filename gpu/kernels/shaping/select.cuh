// Select: the cut of a filter, by radix selection on order-preserving 32-bit keys: four digits of
// eight bits, largest first, one sweep over the row each. The weight of a token is 1 (top-k) or its
// mass (top-p); the answer is the value at which the running weight, logits descending, reaches
// what is needed, and then, among equal logits, the last id that is needed.
//
// Bins are pairs of 32-bit words in shared memory, added with 32-bit atomics and an explicit carry,
// because 64-bit shared atomics compile to a compare-and-swap loop. Integer sums do not depend on
// the order of the additions (determinism: gpu_to_gpu).
#pragma once

#include <cstdint>

#include "gpu/kernels/locate.cuh"
#include "gpu/kernels/row.cuh"

namespace draftproof::gpu::kernels::shaping {

inline constexpr std::uint32_t kBinCount = 256;
inline constexpr std::uint32_t kBinsPerLane = kBinCount / kWarpLanes;

/// Shared memory of one selection.
struct SelectScratch {
  std::uint32_t low[kBinCount];
  std::uint32_t high[kBinCount];
  std::uint64_t remaining;  ///< what the chosen digit still has to bring
  std::uint32_t digit;
  std::uint32_t is_short;  ///< the whole row weighs less than what is needed
  Cut cut;
  LocateScratch<std::uint64_t> locate;
};

__device__ __forceinline__ void add_to_bin(SelectScratch& scratch, std::uint32_t bin,
                                           std::uint64_t weight) {
  const std::uint32_t low = static_cast<std::uint32_t>(weight);
  const std::uint32_t before = atomicAdd(&scratch.low[bin], low);
  const std::uint32_t carry = before + low < before ? 1u : 0u;
  const std::uint32_t high = static_cast<std::uint32_t>(weight >> 32) + carry;
  if (high != 0) atomicAdd(&scratch.high[bin], high);
}

__device__ __forceinline__ void clear_bins(SelectScratch& scratch) {
  for (std::uint32_t bin = threadIdx.x; bin < kBinCount; bin += blockDim.x) {
    scratch.low[bin] = 0;
    scratch.high[bin] = 0;
  }
}

/// Warp 0 walks the bins from the largest down to the one in which the running weight reaches
/// need_of(sum of all bins), and leaves it in scratch.
template <class NeedOf>
__device__ __forceinline__ void choose_digit(SelectScratch& scratch, const NeedOf& need_of) {
  const std::uint32_t lane = threadIdx.x % kWarpLanes;
  const std::uint32_t top = kBinCount - 1 - lane * kBinsPerLane;
  std::uint64_t own = 0;
#pragma unroll
  for (std::uint32_t i = 0; i < kBinsPerLane; ++i)
    own += std::uint64_t{scratch.high[top - i]} << 32 | scratch.low[top - i];
  const std::uint64_t through = warp_prefix(own);
  const std::uint64_t total = exchange_from(through, 31);
  const std::uint64_t need = need_of(total);
  const std::uint32_t reached = __ballot_sync(0xffffffffu, through >= need);
  if (lane == 0) scratch.is_short = reached == 0 ? 1 : 0;
  if (reached == 0 || lane != static_cast<std::uint32_t>(__ffs(static_cast<int>(reached)) - 1))
    return;
  std::uint64_t running = through - own;
  std::uint32_t bin = top;
#pragma unroll 1
  for (;; --bin) {
    const std::uint64_t weight = std::uint64_t{scratch.high[bin]} << 32 | scratch.low[bin];
    if (running + weight >= need) break;
    running += weight;
  }
  scratch.digit = bin;
  scratch.remaining = need - running;
}

/// Where among equal logits a filter ends.
enum class Ties : std::uint32_t { kKeepAll, kLowestIdsFirst };

/// id_of_tie where a logit by itself costs a search, and a sweep over all of them does not: the
/// sweep counts ties by segments of ids, one a word of the bins, and only the ids of one are
/// searched.
template <class Element, class Logits>
__device__ __forceinline__ std::uint32_t id_of_counted_tie(const Element* row,
                                                           std::uint32_t vocab_size,
                                                           const Logits& logits, Cut current,
                                                           std::uint32_t key, std::uint64_t rank,
                                                           SelectScratch& scratch) {
  constexpr std::uint32_t kSegments = 2 * kBinCount;
  constexpr std::uint32_t kPerLane = kSegments / kWarpLanes;
  const std::uint32_t length = (vocab_size + kSegments - 1) / kSegments;
  const auto count_of = [&](std::uint32_t segment) -> std::uint32_t& {
    return segment < kBinCount ? scratch.low[segment] : scratch.high[segment - kBinCount];
  };
  clear_bins(scratch);
  __syncthreads();
  for_each_logit(row, vocab_size, logits, [&](std::uint32_t id, float logit) {
    if (key_of(logit) == key && current.keeps(key, id)) atomicAdd(&count_of(id / length), 1u);
  });
  __syncthreads();
  if (threadIdx.x < kWarpLanes) {
    const std::uint32_t lane = threadIdx.x;
    std::uint64_t own = 0;
    for (std::uint32_t i = 0; i < kPerLane; ++i) own += count_of(lane * kPerLane + i);
    const std::uint64_t through = warp_prefix(own);
    const std::uint32_t reached = __ballot_sync(0xffffffffu, through >= rank);
    const int found = reached == 0 ? 31 : __ffs(static_cast<int>(reached)) - 1;
    std::uint64_t left = rank - exchange_from(through - own, found);
    std::uint32_t segment = static_cast<std::uint32_t>(found) * kPerLane;
#pragma unroll 1
    for (; count_of(segment) < left && segment % kPerLane < kPerLane - 1; ++segment)
      left -= count_of(segment);
    const std::uint32_t end = min(segment * length + length, vocab_size);
    std::uint32_t answer = kAnyId;
#pragma unroll 1
    for (std::uint32_t first = segment * length; first < end && answer == kAnyId;
         first += kWarpLanes) {
      const std::uint32_t id = first + lane;
      const bool is_tie =
          id < end && current.keeps(key, id) && key_of(logits.logit(id, widened(row[id]))) == key;
      const std::uint32_t ties = __ballot_sync(0xffffffffu, is_tie);
      const std::uint32_t before = __popc(ties & ((1u << lane) - 1));
      const std::uint32_t hit = __ballot_sync(0xffffffffu, is_tie && before + 1 == left);
      if (hit != 0) answer = first + static_cast<std::uint32_t>(__ffs(static_cast<int>(hit)) - 1);
      left -= min(static_cast<std::uint64_t>(__popc(ties)), left);
    }
    if (lane == 0) scratch.cut.id = answer;
  }
  __syncthreads();
  return scratch.cut.id;
}

/// The id of the rank-th kept token, counted from 1 in id order, whose key is `key`. Valid in all
/// threads.
template <class Element, class Logits>
__device__ __forceinline__ std::uint32_t id_of_tie(const Element* row, std::uint32_t vocab_size,
                                                   const Logits& logits, Cut current,
                                                   std::uint32_t key, std::uint64_t rank,
                                                   SelectScratch& scratch) {
  if constexpr (Logits::kIsSearched)
    return id_of_counted_tie(row, vocab_size, logits, current, key, rank, scratch);
  const auto weight = [&](std::uint32_t id) -> std::uint64_t {
    return key_of(logits.logit(id, widened(row[id]))) == key && current.keeps(key, id) ? 1 : 0;
  };
  const auto threshold_of = [&](std::uint64_t) { return rank - 1; };
  const Located located = locate<std::uint64_t>(vocab_size, weight, threshold_of, scratch.locate);
  if (threadIdx.x == 0) scratch.cut.id = located.is_found ? located.id : kAnyId;
  __syncthreads();
  return scratch.cut.id;
}

/// The shortest prefix of what `current` keeps whose weight reaches need_of(weight of all that is
/// kept); `current` when it is never reached. Called by the whole block; valid in all threads.
template <class Element, class WeightOf, class NeedOf, class Logits = RawLogits>
__device__ __forceinline__ Cut select(const Element* row, std::uint32_t vocab_size, Cut current,
                                      Ties ties, const WeightOf& weight_of, const NeedOf& need_of,
                                      SelectScratch& scratch, const Logits& logits = {}) {
  std::uint32_t prefix = 0;
  std::uint64_t remaining = 0;
#pragma unroll 1
  for (int shift = 24; shift >= 0; shift -= 8) {
    clear_bins(scratch);
    __syncthreads();
    for_each_logit(row, vocab_size, logits, [&](std::uint32_t id, float logit) {
      const std::uint32_t key = key_of(logit);
      // The digits above this one must be those chosen so far; the first digit has none above it.
      const std::uint32_t above = shift == 24 ? 0 : key >> (shift + 8);
      if (above != prefix || !current.keeps(key, id)) return;
      const std::uint64_t weight = weight_of(logit);
      if (weight != 0) add_to_bin(scratch, (key >> shift) & (kBinCount - 1), weight);
    });
    __syncthreads();
    if (threadIdx.x < kWarpLanes)
      choose_digit(scratch,
                   [&](std::uint64_t total) { return shift == 24 ? need_of(total) : remaining; });
    __syncthreads();
    if (scratch.is_short != 0) return current;
    prefix = prefix << 8 | scratch.digit;
    remaining = scratch.remaining;
  }
  Cut cut{prefix, prefix == current.key ? current.id : kAnyId};
  if (ties == Ties::kLowestIdsFirst) {
    const std::uint64_t weight = weight_of(logit_of(prefix));
    const std::uint64_t rank = (remaining + weight - 1) / weight;
    cut.id = id_of_tie(row, vocab_size, logits, current, prefix, rank, scratch);
  }
  return cut;
}

}  // namespace draftproof::gpu::kernels::shaping
