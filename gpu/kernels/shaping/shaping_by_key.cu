// Shaping by key: the records of shaping.cu for logits of 16 bits, from one pass over the row. The
// pass leaves a histogram of the row's values in shared memory (key_histogram.cuh); maximum, NaN,
// infinities, every filter and the total come from it, masses once a distinct value. Only where a
// filter ends among equal logits is the row read again, for the id (1 + 1/32 + ... times).
//
// One block a row; 128 KiB of dynamic shared memory a block. Determinism: gpu_to_gpu, for every
// block size (a multiple of 32 up to 1,024), order and schedule: all sums are integers.
#include <cstdint>

#include "gpu/kernels/arguments/shaping.h"
#include "gpu/kernels/shaping/key_histogram.cuh"
#include "gpu/kernels/shaping/row_place.cuh"
#include "gpu/kernels/shaping/row_shaper.cuh"

namespace draftproof::gpu::kernels::shaping {

union KeyRowScratch {
  KeyScratch key;
  Scratch probabilities;
};

/// The steps of one row, on its histogram.
template <class Element>
struct KeyShaper {
  const Element* row;
  std::uint32_t vocab_size;
  std::uint32_t fraction_bits;
  float maximum;
  const RequestParameters& parameters;
  const KeyHistogram& histogram;
  float scale;
  KeyCut cut;

  __device__ __forceinline__ bool has(std::uint32_t flag) const {
    return (parameters.flags & flag) != 0;
  }

  __device__ __forceinline__ KeyCut top_k(KeyCut entering) const {
    const auto weight_of = [](float) -> std::uint64_t { return 1; };
    const auto need_of = [&](std::uint64_t) -> std::uint64_t { return parameters.top_k; };
    return select_key<Element>(histogram, entering, ties_of(parameters, kTopKLowestIds), weight_of,
                               need_of);
  }

  __device__ __forceinline__ KeyCut top_p(KeyCut entering) const {
    const MassFrame frame = mass_frame(maximum, scale, fraction_bits);
    const auto weight_of = [&](float logit) { return mass_of(logit, frame); };
    const auto need_of = [&](std::uint64_t total) { return need_of_top_p(parameters, total); };
    return select_key<Element>(histogram, entering, ties_of(parameters, kTopPLowestIds), weight_of,
                               need_of);
  }

  __device__ __forceinline__ KeyCut min_p(KeyCut entering) const {
    const MassFrame frame = mass_frame(maximum, scale, fraction_bits);
    const std::uint64_t least = ceil_fraction(parameters.min_p_mantissa, parameters.min_p_exponent,
                                              mass_of(maximum, frame));
    std::uint32_t smallest = key_of(maximum);
    histogram.for_each([&](std::uint32_t bin, std::uint32_t count) {
      const float logit = value_of_bin<Element>(bin);
      const std::uint32_t key = key_of(logit);
      if (key < smallest && entering.kept(key, count) != 0 && mass_of(logit, frame) >= least)
        smallest = key;
    });
    smallest = block_min(smallest, histogram.scratch.block);
    return tighter(entering, KeyCut{smallest, kAnyId});
  }

  /// The id of the rank-th token of this key, counted from 1 in id order.
  __device__ __forceinline__ std::uint32_t id_of(std::uint32_t key, std::uint32_t rank) const {
    if (rank == kAnyId) return kAnyId;
    return id_of_tie(row, vocab_size, RawLogits{}, kNothingCut, key, rank,
                     histogram.scratch.select);
  }

  __device__ __forceinline__ RowRecord record() {
    if (!walk_steps(*this)) return without_law(Status::kRange);
    const MassFrame frame = mass_frame(maximum, scale, fraction_bits);
    std::uint64_t own = 0;
    histogram.for_each([&](std::uint32_t bin, std::uint32_t count) {
      const float logit = value_of_bin<Element>(bin);
      const std::uint32_t kept = cut.kept(key_of(logit), count);
      if (kept != 0) own += kept * mass_of(logit, frame);
    });
    const std::uint64_t total = block_sum(own, histogram.scratch.block);
    return {total,
            maximum,
            scale,
            cut.key,
            id_of(cut.key, cut.rank),
            0,
            static_cast<std::uint32_t>(LawKind::kMasses)};
  }
};

/// The largest key of the row; 0xffffffff, which no number has, when it holds a NaN.
template <class Element>
__device__ __forceinline__ std::uint32_t maximum_key(const KeyHistogram& histogram) {
  std::uint32_t largest = 0;
  histogram.for_each([&](std::uint32_t bin, std::uint32_t) {
    const float logit = value_of_bin<Element>(bin);
    largest = max(largest, logit == logit ? key_of(logit) : 0xffffffffu);
  });
  return block_max(largest, histogram.scratch.block);
}

template <class Element>
__device__ __forceinline__ RowRecord shape_by_key(const Element* row,
                                                  const draftproof_shape_rows_arguments& arguments,
                                                  const RequestParameters& parameters,
                                                  const KeyHistogram& histogram) {
  histogram.fill(reinterpret_cast<const std::uint16_t*>(row), arguments.vocab_size);
  const std::uint32_t key = maximum_key<Element>(histogram);
  const Status status = status_of(key);
  if (status != Status::kOk) return without_law(status);
  KeyShaper<Element> shaper{row,
                            arguments.vocab_size,
                            fraction_bits_for(arguments.vocab_size),
                            logit_of(key),
                            parameters,
                            histogram,
                            parameters.initial_scale,
                            {0, kAnyId}};
  if ((parameters.flags & kGreedy) == 0) return shaper.record();
  return {1,
          logit_of(key),
          0.0f,
          key,
          shaper.id_of(key, 1),
          0,
          static_cast<std::uint32_t>(LawKind::kOneHot)};
}

template <class Element>
__device__ __forceinline__ void shape_row_by_key(const draftproof_shape_rows_arguments& arguments,
                                                 std::uint32_t* words, KeyRowScratch& scratch) {
  const RowPlace place = place_of_row(arguments, blockIdx.x);
  if (!place.is_used) return;
  RowRecord record;
  if (place.has_probabilities(arguments))
    record = shape_probabilities(place.elements<float>(arguments), arguments.vocab_size,
                                 fraction_bits_for(arguments.vocab_size), scratch.probabilities);
  else
    record = shape_by_key(place.elements<Element>(arguments), arguments,
                          place.parameters(arguments), KeyHistogram{words, scratch.key});
  if (threadIdx.x == 0) *place.record(arguments) = record;
}

}  // namespace draftproof::gpu::kernels::shaping

/// One entry for each storage format of 16 bits. The grid is one-dimensional: a block for each
/// target slot, and one for each draft slot when the drafts come with rows; kKeyWordBytes of
/// dynamic shared memory.
#define DRAFTPROOF_SHAPE_ROWS_BY_KEY(name, Element)                             \
  extern "C" __global__ void __launch_bounds__(1024, 1)                         \
      name(const __grid_constant__ draftproof_shape_rows_arguments arguments) { \
    using namespace draftproof::gpu::kernels;                                   \
    extern __shared__ __align__(16) std::uint32_t words[];                      \
    __shared__ shaping::KeyRowScratch scratch;                                  \
    shaping::shape_row_by_key<Element>(arguments, words, scratch);              \
  }

DRAFTPROOF_SHAPE_ROWS_BY_KEY(draftproof_shape_rows_by_key_bf16, Bfloat16)
DRAFTPROOF_SHAPE_ROWS_BY_KEY(draftproof_shape_rows_by_key_f16, Float16)
