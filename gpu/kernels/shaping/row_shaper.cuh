// Row shaper: what becomes of one row of logits, or of probabilities, when a whole block reads it
// (numerics contract, section 1; the order of judging is the one that reference/shaping.h
// declares). `Logits` says how a logit is read: as it is, or adjusted
// (gpu/kernels/shaping/adjustments.cuh).
#pragma once

#include <cstdint>

#include "gpu/kernels/anchor.cuh"
#include "gpu/kernels/block.cuh"
#include "gpu/kernels/layout.h"
#include "gpu/kernels/mass.cuh"
#include "gpu/kernels/row.cuh"
#include "gpu/kernels/shaping/select.cuh"
#include "gpu/kernels/status.cuh"

namespace draftproof::gpu::kernels::shaping {

struct Scratch {
  BlockScratch block;
  SelectScratch select;
};

__device__ __forceinline__ RowRecord without_law(Status status) {
  return {0, 0.0f, 0.0f, 0, 0, static_cast<std::uint32_t>(status), 0};
}

/// The larger value; NaN when either is NaN.
__device__ __forceinline__ float max_or_nan(float a, float b) {
  float result;
  asm("max.NaN.f32 %0, %1, %2;" : "=f"(result) : "f"(a), "f"(b));
  return result;
}

/// The largest key of the row; 0xffffffff, which no number has, when it holds a NaN.
template <class Element, class Logits>
__device__ __forceinline__ std::uint32_t maximum_key(const Element* row, std::uint32_t vocab_size,
                                                     const Logits& logits, BlockScratch& scratch) {
  constexpr float kInfinity = __builtin_huge_valf();
  float maximum = -kInfinity;
  for_each_logit(row, vocab_size, logits,
                 [&](std::uint32_t, float logit) { maximum = max_or_nan(maximum, logit); });
  return block_max(maximum == maximum ? key_of(maximum) : 0xffffffffu, scratch);
}

/// What a row of logits can be judged by, from its largest key.
__device__ __forceinline__ Status status_of(std::uint32_t key) {
  constexpr std::uint32_t kKeyOfInfinity = 0xff800000u;
  constexpr std::uint32_t kKeyOfMinusInfinity = 0x007fffffu;
  if (key > kKeyOfInfinity) return Status::kNan;
  if (key == kKeyOfInfinity) return Status::kPositiveInfinity;
  return key <= kKeyOfMinusInfinity ? Status::kEmptyRow : Status::kOk;
}

/// All mass on the lowest id of the maximum.
template <class Element, class Logits>
__device__ __forceinline__ RowRecord greedy_record(const Element* row, std::uint32_t vocab_size,
                                                   const Logits& logits, std::uint32_t key,
                                                   BlockScratch& scratch) {
  std::uint32_t lowest = kAnyId;
  for_each_logit(row, vocab_size, logits, [&](std::uint32_t id, float logit) {
    if (key_of(logit) == key) lowest = min(lowest, id);
  });
  const std::uint32_t token = block_min(lowest, scratch);
  return {1, logit_of(key), 0.0f, key, token, 0, static_cast<std::uint32_t>(LawKind::kOneHot)};
}

/// Walks the steps of a row's request one after the other. `shaper` has the row's maximum, its
/// parameters, scale and cut, and says what each filter leaves of a cut. False when a scale in use
/// cannot resolve the row.
template <class Shaper>
__device__ __forceinline__ bool walk_steps(Shaper& shaper) {
#pragma unroll 1
  for (std::uint64_t steps = shaper.parameters.steps; steps != 0; steps >>= 4) {
    const StepCode step = static_cast<StepCode>(steps & 15);
    const bool is_joint = step == StepCode::kJointTopKTopP;
    const auto entering = shaper.cut;
    if (step == StepCode::kTemperature) shaper.scale = shaper.parameters.scale;
    if ((is_joint || step == StepCode::kTopK) && shaper.parameters.top_k != 0)
      shaper.cut = shaper.top_k(entering);
    if ((is_joint || step == StepCode::kTopP) && shaper.has(kTopPOn)) {
      if (!in_range(shaper.maximum, shaper.scale)) return false;
      shaper.cut = tighter(shaper.cut, shaper.top_p(entering));
    }
    if (step == StepCode::kMinP && shaper.has(kMinPOn)) {
      if (!in_range(shaper.maximum, shaper.scale)) return false;
      shaper.cut = shaper.min_p(entering);
    }
  }
  return in_range(shaper.maximum, shaper.scale);
}

/// What top-p asks of a row of this total: at least one unit.
__device__ __forceinline__ std::uint64_t need_of_top_p(const RequestParameters& parameters,
                                                       std::uint64_t total) {
  const std::uint64_t need =
      ceil_fraction(parameters.top_p_mantissa, parameters.top_p_exponent, total);
  return need == 0 ? 1 : need;
}

/// What a filter does to equal logits at its boundary.
__device__ __forceinline__ Ties ties_of(const RequestParameters& parameters,
                                        std::uint32_t lowest_ids_flag) {
  return (parameters.flags & lowest_ids_flag) != 0 ? Ties::kLowestIdsFirst : Ties::kKeepAll;
}

/// The steps of one row of logits.
template <class Element, class Logits>
struct RowShaper {
  const Element* row;
  std::uint32_t vocab_size;
  const Logits& logits;
  std::uint32_t fraction_bits;
  float maximum;
  const RequestParameters& parameters;
  Scratch& scratch;
  float scale;
  Cut cut;

  __device__ __forceinline__ bool has(std::uint32_t flag) const {
    return (parameters.flags & flag) != 0;
  }

  __device__ __forceinline__ Cut top_k(Cut entering) const {
    const auto weight_of = [](float) -> std::uint64_t { return 1; };
    const auto need_of = [&](std::uint64_t) -> std::uint64_t { return parameters.top_k; };
    const Ties ties = has(kTopKLowestIds) ? Ties::kLowestIdsFirst : Ties::kKeepAll;
    return select(row, vocab_size, entering, ties, weight_of, need_of, scratch.select, logits);
  }

  __device__ __forceinline__ Cut top_p(Cut entering) const {
    const MassFrame frame = mass_frame(maximum, scale, fraction_bits);
    const auto weight_of = [&](float logit) { return mass_of(logit, frame); };
    const auto need_of = [&](std::uint64_t total) -> std::uint64_t {
      const std::uint64_t need =
          ceil_fraction(parameters.top_p_mantissa, parameters.top_p_exponent, total);
      return need == 0 ? 1 : need;
    };
    const Ties ties = has(kTopPLowestIds) ? Ties::kLowestIdsFirst : Ties::kKeepAll;
    return select(row, vocab_size, entering, ties, weight_of, need_of, scratch.select, logits);
  }

  __device__ __forceinline__ Cut min_p(Cut entering) const {
    const MassFrame frame = mass_frame(maximum, scale, fraction_bits);
    const std::uint64_t least = ceil_fraction(parameters.min_p_mantissa, parameters.min_p_exponent,
                                              mass_of(maximum, frame));
    std::uint32_t smallest = key_of(maximum);
    for_each_logit(row, vocab_size, logits, [&](std::uint32_t id, float logit) {
      const std::uint32_t key = key_of(logit);
      if (key < smallest && entering.keeps(key, id) && mass_of(logit, frame) >= least)
        smallest = key;
    });
    smallest = block_min(smallest, scratch.block);
    return tighter(entering, {smallest, kAnyId});
  }

  __device__ __forceinline__ RowRecord record() {
    if (!walk_steps(*this)) return without_law(Status::kRange);
    const MassFrame frame = mass_frame(maximum, scale, fraction_bits);
    std::uint64_t own = 0;
    for_each_logit(row, vocab_size, logits, [&](std::uint32_t id, float logit) {
      if (cut.keeps(key_of(logit), id)) own += mass_of(logit, frame);
    });
    const std::uint64_t total = block_sum(own, scratch.block);
    return {
        total, maximum, scale, cut.key, cut.id, 0, static_cast<std::uint32_t>(LawKind::kMasses)};
  }
};

template <class Element, class Logits>
__device__ __forceinline__ RowRecord shape_logits(const Element* row, std::uint32_t vocab_size,
                                                  const Logits& logits, std::uint32_t fraction_bits,
                                                  const RequestParameters& parameters,
                                                  Scratch& scratch) {
  const std::uint32_t key = maximum_key(row, vocab_size, logits, scratch.block);
  const Status status = status_of(key);
  if (status != Status::kOk) return without_law(status);
  if ((parameters.flags & kGreedy) != 0)
    return greedy_record(row, vocab_size, logits, key, scratch.block);
  RowShaper<Element, Logits> shaper{row,           vocab_size, logits,  fraction_bits,
                                    logit_of(key), parameters, scratch, parameters.initial_scale,
                                    kNothingCut};
  return shaper.record();
}

__device__ __forceinline__ RowRecord shape_probabilities(const float* row, std::uint32_t vocab_size,
                                                         std::uint32_t fraction_bits,
                                                         Scratch& scratch) {
  std::uint64_t own = 0;
  std::uint32_t is_bad = 0;
  for_each_element(row, vocab_size, [&](std::uint32_t, float probability) {
    if (probability_is_valid(probability))
      own += mass_of_probability(probability, fraction_bits);
    else
      is_bad = 1;
  });
  if (block_max(is_bad, scratch.block) != 0) return without_law(Status::kBadProbability);
  const std::uint64_t total = block_sum(own, scratch.block);
  if (total == 0) return without_law(Status::kEmptyRow);
  return {total, 0.0f, 0.0f, 0, kAnyId, 0, static_cast<std::uint32_t>(LawKind::kProbabilities)};
}

/// False when the row at `position` lies behind the end of the request's draft. `tokens` are the
/// request's drafted tokens; null when they are a tree, where a placeholder ends its own branch and
/// no other.
__device__ __forceinline__ bool row_is_used(const std::int32_t* tokens, std::uint32_t row_count,
                                            std::uint32_t position) {
  if (position >= row_count) return false;
  if (tokens == nullptr) return true;
#pragma unroll 1
  for (std::uint32_t i = 0; i < position; ++i)
    if (tokens[i] == kNoToken) return false;
  return true;
}

}  // namespace draftproof::gpu::kernels::shaping
