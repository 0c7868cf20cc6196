// Shaping with adjustments: the records of shaping.cu, of target rows as the requests' penalties,
// biases, bans and masks leave them (gpu/kernels/shaping/adjustments.cuh). One block a row. Logits
// are adjusted where they are read, in every sweep; nothing adjusted is written. A module of its
// own, so that rows without adjustments cost what they always did. Determinism: gpu_to_gpu, for
// every block size (a multiple of 32 up to 512), order and schedule.
#include <cstdint>

#include "gpu/kernels/arguments/shaping.h"
#include "gpu/kernels/shaping/adjustments.cuh"
#include "gpu/kernels/shaping/row_place.cuh"
#include "gpu/kernels/shaping/row_shaper.cuh"

namespace draftproof::gpu::kernels::shaping {

struct AdjustedScratch {
  Scratch shaping;
  AdjustedRowScratch adjusted;
};

/// The row as the block reads it: a draft row passes as it is.
__device__ __forceinline__ FilteredLogits
logits_of(const draftproof_shape_rows_arguments& arguments, const RowPlace& place,
          AdjustedRowScratch& scratch) {
  if (!place.is_target) return unadjusted(arguments.vocab_size, scratch);
  const DraftPath path =
      path_to_row(drafted_of(arguments.draft_tokens, arguments, place.request),
                  drafted_of(arguments.parents, arguments, place.request), place.position);
  return prepare(adjusted_row(arguments.adjustments, place.request, place.slot, path),
                 arguments.vocab_size, scratch);
}

template <class Element>
__device__ __forceinline__ void shape_adjusted_row(const draftproof_shape_rows_arguments& arguments,
                                                   AdjustedScratch& scratch) {
  const RowPlace place = place_of_row(arguments, blockIdx.x);
  if (!place.is_used) return;
  const std::uint32_t fraction_bits = fraction_bits_for(arguments.vocab_size);
  RowRecord record;
  if (place.has_probabilities(arguments)) {
    record = shape_probabilities(place.elements<float>(arguments), arguments.vocab_size,
                                 fraction_bits, scratch.shaping);
  } else {
    const FilteredLogits logits = logits_of(arguments, place, scratch.adjusted);
    record = shape_logits(place.elements<Element>(arguments), arguments.vocab_size, logits,
                          fraction_bits, place.parameters(arguments), scratch.shaping);
  }
  if (threadIdx.x == 0) *place.record(arguments) = record;
}

}  // namespace draftproof::gpu::kernels::shaping

/// One entry for each storage format. The grid is one-dimensional: a block for each target slot,
/// and one for each draft slot when the drafts come with rows.
#define DRAFTPROOF_SHAPE_ADJUSTED_ROWS(name, Element)                           \
  extern "C" __global__ void __launch_bounds__(512, 1)                          \
      name(const __grid_constant__ draftproof_shape_rows_arguments arguments) { \
    using namespace draftproof::gpu::kernels;                                   \
    __shared__ shaping::AdjustedScratch scratch;                                \
    shaping::shape_adjusted_row<Element>(arguments, scratch);                   \
  }

DRAFTPROOF_SHAPE_ADJUSTED_ROWS(draftproof_shape_adjusted_rows_f32, Float32)
DRAFTPROOF_SHAPE_ADJUSTED_ROWS(draftproof_shape_adjusted_rows_bf16, Bfloat16)
DRAFTPROOF_SHAPE_ADJUSTED_ROWS(draftproof_shape_adjusted_rows_f16, Float16)
