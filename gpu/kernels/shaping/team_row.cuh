// Team row: one row of logits in slices, a block of a team each, and its shaping into the record
// that shape_rows makes of it (the steps are those of reference/shaping.h). A slice is read from
// global memory once, into shared memory, and every sweep after that works there; or it stays where
// it is, and every sweep reads it again. Nothing else depends on which.
//
// A radix selection over a team is the one of select.cuh with the bins of all blocks added up
// between the sweep and the choice of a digit; logits of 16 bits have fewer digits that differ.
// Determinism: gpu_to_gpu: sums of integers, and one maximum.
#pragma once

#include <cstdint>

#include "gpu/kernels/block.cuh"
#include "gpu/kernels/layout.h"
#include "gpu/kernels/mass.cuh"
#include "gpu/kernels/row.cuh"
#include "gpu/kernels/shaping/row_shaper.cuh"
#include "gpu/kernels/shaping/select.cuh"
#include "gpu/kernels/status.cuh"
#include "gpu/kernels/team.cuh"

namespace draftproof::gpu::kernels::shaping {

/// Shared memory of a team's shaping and draws.
struct TeamRowScratch {
  TeamScratch team;
  BlockScratch block;
  SelectScratch select;
};

/// Ids begin .. begin + count - 1 of a row; element i is the raw logit of id begin + i.
template <class Element>
struct RowSlice {
  const Element* elements;
  std::uint32_t begin;
  std::uint32_t count;

  /// visit(id, logit) for every element, once, spread over the threads of the block.
  template <class Visit>
  __device__ __forceinline__ void for_each(const Visit& visit) const {
    for_each_element(elements, count,
                     [&](std::uint32_t index, float logit) { visit(begin + index, logit); });
  }
  __device__ __forceinline__ float logit(std::uint32_t index) const {
    return widened(elements[index]);
  }
};

/// Ids a slice has at most: a multiple of 8, so that slices of aligned rows are aligned to 16
/// bytes.
__device__ __forceinline__ std::uint32_t slice_length(std::uint32_t vocab_size,
                                                      std::uint32_t team_size) {
  return ((vocab_size + team_size - 1) / team_size + 7) & ~7u;
}

/// This block's slice of the row at `row`, where it lies.
template <class Element>
__device__ __forceinline__ RowSlice<Element> slice_of(const Element* row, std::uint32_t vocab_size,
                                                      const Team& team) {
  const std::uint32_t length = slice_length(vocab_size, team.size);
  const std::uint32_t begin = min(team.rank() * length, vocab_size);
  return {row + begin, begin, min(length, vocab_size - begin)};
}

/// The key of a maximum; 0xffffffff, which no number has, for NaN.
__device__ __forceinline__ std::uint32_t key_or_nan(float maximum) {
  return maximum == maximum ? key_of(maximum) : 0xffffffffu;
}

/// Elements of a 16-byte slot before the first one of `slice`.
template <class Element>
__device__ __forceinline__ std::uint32_t skew_of(const RowSlice<Element>& slice) {
  return static_cast<std::uint32_t>(reinterpret_cast<std::uintptr_t>(slice.elements) /
                                    sizeof(Element)) %
         (16 / sizeof(Element));
}

/// Where `slice` lies when it is staged in `room`: it keeps its alignment. The room is aligned to
/// 16 and has space for count elements and 16 bytes.
template <class Element>
__device__ __forceinline__ RowSlice<Element> in_room(const RowSlice<Element>& slice,
                                                     const unsigned char* room) {
  return {reinterpret_cast<const Element*>(room) + skew_of(slice), slice.begin, slice.count};
}

/// Calls visit(id, logit) for every element of `slice` while copying it to its place in `room`.
/// Called by the whole block; the copy may be read after the next barrier.
template <class Element, class Visit>
__device__ __forceinline__ void stage(const RowSlice<Element>& slice, unsigned char* room,
                                      const Visit& visit) {
  constexpr std::uint32_t kPerSlot = 16 / sizeof(Element);
  const Element* from = slice.elements;
  const std::uint32_t skew = skew_of(slice);
  Element* to = reinterpret_cast<Element*>(room) + skew;
  const std::uint32_t slots = (skew + slice.count + kPerSlot - 1) / kPerSlot;
#pragma unroll 4
  for (std::uint32_t slot = threadIdx.x; slot < slots; slot += blockDim.x) {
    // Indices before the slice wrap around and fail the comparison with its count.
    const std::uint32_t first = slot * kPerSlot - skew;
    if (first < slice.count && slice.count - first >= kPerSlot) {
      const uint4 raw = __ldg(reinterpret_cast<const uint4*>(from + first));
      *reinterpret_cast<uint4*>(to + first) = raw;
      Element values[kPerSlot];
      memcpy(values, &raw, sizeof(raw));
#pragma unroll
      for (std::uint32_t i = 0; i < kPerSlot; ++i)
        visit(slice.begin + first + i, widened(values[i]));
    } else {
#pragma unroll 1
      for (std::uint32_t i = 0; i < kPerSlot; ++i) {
        const std::uint32_t index = first + i;
        if (index >= slice.count) continue;
        const Element value = from[index];
        to[index] = value;
        visit(slice.begin + index, widened(value));
      }
    }
  }
}

/// Digits of a key, from the top, in which logits of a format differ. Widened, a bf16 has 16 bits
/// and an fp16 19 that are not fixed by its sign.
template <class Element>
inline constexpr int kKeyDigits = 4;
template <>
inline constexpr int kKeyDigits<Bfloat16> = 2;
template <>
inline constexpr int kKeyDigits<Float16> = 3;

/// The key whose upper digits are `prefix`: the bits below are all zero above +0, all one below.
template <class Element>
__device__ __forceinline__ std::uint32_t key_with(std::uint32_t prefix) {
  constexpr int kShift = 32 - 8 * kKeyDigits<Element>;
  if constexpr (kShift == 0) {
    return prefix;
  } else {
    const std::uint32_t key = prefix << kShift;
    return (key & 0x80000000u) != 0 ? key : key | ((1u << kShift) - 1);
  }
}

/// Adds up the bins of all blocks of the team; every block then has all of it in its own.
__device__ __forceinline__ void merge_bins(Team& team, SelectScratch& scratch) {
  if (team.size == 1) return;
  std::uint64_t* own = team.next_bins();
  for (std::uint32_t bin = threadIdx.x; bin < kBinCount; bin += blockDim.x)
    own[bin] = std::uint64_t{scratch.high[bin]} << 32 | scratch.low[bin];
  team.exchange({});
  for (std::uint32_t bin = threadIdx.x; bin < kBinCount; bin += blockDim.x) {
    std::uint64_t weight = 0;
#pragma unroll 1
    for (std::uint32_t rank = 0; rank < team.size; ++rank) weight += team.last_bins(rank)[bin];
    scratch.low[bin] = static_cast<std::uint32_t>(weight);
    scratch.high[bin] = static_cast<std::uint32_t>(weight >> 32);
  }
  __syncthreads();
}

/// The id of the rank-th kept token of the row, counted from 1 in id order, whose key is `key`.
template <class Element>
__device__ __forceinline__ std::uint32_t team_id_of_tie(Team& team, const RowSlice<Element>& slice,
                                                        Cut current, std::uint32_t key,
                                                        std::uint64_t rank,
                                                        SelectScratch& scratch) {
  const auto weight = [&](std::uint32_t index) -> std::uint64_t {
    return key_of(slice.logit(index)) == key && current.keeps(key, slice.begin + index) ? 1 : 0;
  };
  const auto threshold_of = [&](std::uint64_t) { return rank - 1; };
  const TeamLocated located =
      team_locate<std::uint64_t>(team, slice.count, weight, threshold_of, scratch.locate);
  // One block has it, or none: ids are handed around plus one.
  const bool is_found = located.own.is_found;
  const std::uint64_t found = is_found ? std::uint64_t{slice.begin} + located.own.id + 1 : 0;
  const std::uint64_t id = team.max_of(found);
  return id == 0 ? kAnyId : static_cast<std::uint32_t>(id - 1);
}

/// select() over the slices of a team.
template <class Element, class WeightOf, class NeedOf>
__device__ __forceinline__ Cut team_select(Team& team, const RowSlice<Element>& slice, Cut current,
                                           Ties ties, const WeightOf& weight_of,
                                           const NeedOf& need_of, SelectScratch& scratch) {
  constexpr int kLastShift = 32 - 8 * kKeyDigits<Element>;
  std::uint32_t prefix = 0;
  std::uint64_t remaining = 0;
#pragma unroll 1
  for (int shift = 24; shift >= kLastShift; shift -= 8) {
    clear_bins(scratch);
    __syncthreads();
    slice.for_each([&](std::uint32_t id, float logit) {
      const std::uint32_t key = key_of(logit);
      // The digits above this one must be those chosen so far; the first digit has none above it.
      const std::uint32_t above = shift == 24 ? 0 : key >> (shift + 8);
      if (above != prefix || !current.keeps(key, id)) return;
      const std::uint64_t weight = weight_of(logit);
      if (weight != 0) add_to_bin(scratch, (key >> shift) & (kBinCount - 1), weight);
    });
    __syncthreads();
    merge_bins(team, scratch);
    if (threadIdx.x < kWarpLanes)
      choose_digit(scratch,
                   [&](std::uint64_t total) { return shift == 24 ? need_of(total) : remaining; });
    __syncthreads();
    if (scratch.is_short != 0) return current;
    prefix = prefix << 8 | scratch.digit;
    remaining = scratch.remaining;
  }
  const std::uint32_t key = key_with<Element>(prefix);
  Cut cut{key, key == current.key ? current.id : kAnyId};
  if (ties == Ties::kLowestIdsFirst) {
    const std::uint64_t weight = weight_of(logit_of(key));
    const std::uint64_t rank = (remaining + weight - 1) / weight;
    cut.id = team_id_of_tie(team, slice, current, key, rank, scratch);
  }
  return cut;
}

/// The steps of one row, walked one after the other by a team.
template <class Element>
struct TeamRowShaper {
  Team& team;
  RowSlice<Element> slice;
  std::uint32_t fraction_bits;
  float maximum;
  const RequestParameters& parameters;
  TeamRowScratch& scratch;
  float scale;
  Cut cut;

  __device__ __forceinline__ bool has(std::uint32_t flag) const {
    return (parameters.flags & flag) != 0;
  }
  /// Top-k, or else top-p. One body for both, so that the selection is there once.
  __device__ __forceinline__ Cut top(Cut entering, bool is_count) const {
    const MassFrame frame = mass_frame(maximum, scale, fraction_bits);
    const auto weight_of = [&](float logit) -> std::uint64_t {
      return is_count ? 1 : mass_of(logit, frame);
    };
    const auto need_of = [&](std::uint64_t total) -> std::uint64_t {
      if (is_count) return parameters.top_k;
      const std::uint64_t need =
          ceil_fraction(parameters.top_p_mantissa, parameters.top_p_exponent, total);
      return need == 0 ? 1 : need;
    };
    const Ties ties =
        has(is_count ? kTopKLowestIds : kTopPLowestIds) ? Ties::kLowestIdsFirst : Ties::kKeepAll;
    return team_select(team, slice, entering, ties, weight_of, need_of, scratch.select);
  }

  __device__ __forceinline__ Cut min_p(Cut entering) const {
    const MassFrame frame = mass_frame(maximum, scale, fraction_bits);
    const std::uint64_t least = ceil_fraction(parameters.min_p_mantissa, parameters.min_p_exponent,
                                              mass_of(maximum, frame));
    std::uint32_t smallest = key_of(maximum);
    slice.for_each([&](std::uint32_t id, float logit) {
      const std::uint32_t key = key_of(logit);
      if (key < smallest && entering.keeps(key, id) && mass_of(logit, frame) >= least)
        smallest = key;
    });
    // The smallest of all is the complement of the largest complement.
    const std::uint32_t own = block_min(smallest, scratch.block);
    smallest = ~static_cast<std::uint32_t>(team.max_of(~own));
    return tighter(entering, {smallest, kAnyId});
  }

  /// False when a scale in use cannot resolve the row.
  __device__ __forceinline__ bool walk() {
#pragma unroll 1
    for (std::uint64_t steps = parameters.steps; steps != 0; steps >>= 4) {
      const StepCode step = static_cast<StepCode>(steps & 15);
      const bool is_joint = step == StepCode::kJointTopKTopP;
      const Cut entering = cut;
      if (step == StepCode::kTemperature) scale = parameters.scale;
      const bool has_top_k = (is_joint || step == StepCode::kTopK) && parameters.top_k != 0;
      const bool has_top_p = (is_joint || step == StepCode::kTopP) && has(kTopPOn);
#pragma unroll 1
      for (std::uint32_t filter = 0; filter < 2; ++filter) {
        const bool is_count = filter == 0;
        if (!(is_count ? has_top_k : has_top_p)) continue;
        if (!is_count && !in_range(maximum, scale)) return false;
        cut = tighter(cut, top(entering, is_count));
      }
      if (step == StepCode::kMinP && has(kMinPOn)) {
        if (!in_range(maximum, scale)) return false;
        cut = min_p(entering);
      }
    }
    return in_range(maximum, scale);
  }

  __device__ __forceinline__ RowRecord record() {
    if (!walk()) return without_law(Status::kRange);
    const MassFrame frame = mass_frame(maximum, scale, fraction_bits);
    std::uint64_t own = 0;
    slice.for_each([&](std::uint32_t id, float logit) {
      if (cut.keeps(key_of(logit), id)) own += mass_of(logit, frame);
    });
    const std::uint64_t total = sums_of(team, block_sum(own, scratch.block)).total;
    return {
        total, maximum, scale, cut.key, cut.id, 0, static_cast<std::uint32_t>(LawKind::kMasses)};
  }
};

/// The record of a row of logits, from its slices and the largest key that each thread has seen of
/// its own (key_or_nan). Called by all blocks of the team; the record is valid in thread 0.
template <class Element>
__device__ __forceinline__ RowRecord team_record(Team& team, const RowSlice<Element>& slice,
                                                 std::uint32_t thread_key,
                                                 std::uint32_t fraction_bits,
                                                 const RequestParameters& parameters,
                                                 TeamRowScratch& scratch) {
  const bool is_greedy = (parameters.flags & kGreedy) != 0;
  const std::uint32_t own_key = block_max(thread_key, scratch.block);
  std::uint32_t lowest = kAnyId;
  if (is_greedy) {
    slice.for_each([&](std::uint32_t id, float logit) {
      if (key_of(logit) == own_key) lowest = min(lowest, id);
    });
    lowest = block_min(lowest, scratch.block);
  }
  // The larger key wins, and of equal keys the lower id.
  const std::uint64_t best = team.max_of(std::uint64_t{own_key} << 32 | ~lowest);
  const std::uint32_t key = static_cast<std::uint32_t>(best >> 32);
  const Status status = status_of(key);
  if (status != Status::kOk) return without_law(status);
  if (is_greedy)
    return {1,
            logit_of(key),
            0.0f,
            key,
            ~static_cast<std::uint32_t>(best),
            0,
            static_cast<std::uint32_t>(LawKind::kOneHot)};
  TeamRowShaper<Element> shaper{team,
                                slice,
                                fraction_bits,
                                logit_of(key),
                                parameters,
                                scratch,
                                parameters.initial_scale,
                                kNothingCut};
  return shaper.record();
}

/// The record of a row of probabilities; valid in thread 0.
__device__ __forceinline__ RowRecord team_record_of_probabilities(Team& team,
                                                                  const RowSlice<float>& slice,
                                                                  std::uint32_t fraction_bits,
                                                                  TeamRowScratch& scratch) {
  std::uint64_t own = 0;
  std::uint32_t is_bad = 0;
  slice.for_each([&](std::uint32_t, float probability) {
    if (probability_is_valid(probability))
      own += mass_of_probability(probability, fraction_bits);
    else
      is_bad = 1;
  });
  is_bad = block_max(is_bad, scratch.block);
  const std::uint64_t sum = block_sum(own, scratch.block);
  team.exchange({is_bad, sum});
  Wide all{};
#pragma unroll 1
  for (std::uint32_t i = 0; i < team.size; ++i) {
    all.high |= scratch.team.values[i].high;
    all.low += scratch.team.values[i].low;
  }
  if (all.high != 0) return without_law(Status::kBadProbability);
  if (all.low == 0) return without_law(Status::kEmptyRow);
  return {all.low, 0.0f, 0.0f, 0, kAnyId, 0, static_cast<std::uint32_t>(LawKind::kProbabilities)};
}

}  // namespace draftproof::gpu::kernels::shaping
