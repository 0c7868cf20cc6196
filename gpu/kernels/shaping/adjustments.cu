// Adjusted rows, written out: what the requests' penalties, biases, bans and masks leave of rows of
// logits (the steps and their arithmetic are those that reference/adjustments.h declares), in fp32,
// for kernels that take rows as they come. Draft rows are widened beside them. One block a row;
// slots that are not in use are neither read nor written. Determinism: gpu_to_gpu, for every block
// size (a multiple of 32 up to 512), order and schedule.
#include <cstdint>

#include "gpu/kernels/arguments/adjust_rows.h"
#include "gpu/kernels/shaping/adjustments.cuh"
#include "gpu/kernels/shaping/row_place.cuh"

namespace draftproof::gpu::kernels::shaping {

/// The batch as a shape_rows launch would be handed it, as far as places of rows depend on it.
__device__ __forceinline__ draftproof_shape_rows_arguments
rows_of(const draftproof_adjust_rows_arguments& arguments) {
  draftproof_shape_rows_arguments rows{};
  rows.target_rows = arguments.target_rows;
  rows.target_row_stride = arguments.target_row_stride;
  rows.draft_rows = arguments.draft_rows;
  rows.draft_row_stride = arguments.draft_row_stride;
  rows.draft_tokens = arguments.draft_tokens;
  rows.parents = arguments.parents;
  rows.requests = arguments.requests;
  rows.draft_kind = static_cast<std::uint32_t>(arguments.draft_rows != 0 ? DraftLawKind::kLogits
                                                                         : DraftLawKind::kOneHot);
  rows.request_count = arguments.request_count;
  rows.padded_draft_count = arguments.padded_draft_count;
  return rows;
}

template <class Element>
__device__ __forceinline__ void adjust_row(const draftproof_adjust_rows_arguments& arguments,
                                           AdjustedRowScratch& scratch) {
  const draftproof_shape_rows_arguments rows = rows_of(arguments);
  const RowPlace place = place_of_row(rows, blockIdx.x);
  if (!place.is_used) return;
  const Element* const read = place.elements<Element>(rows);
  if (!place.is_target) {
    float* const widened_row = reinterpret_cast<float*>(arguments.widened_rows) +
                               std::uint64_t{place.slot} * arguments.widened_row_stride;
    for_each_element(read, arguments.vocab_size,
                     [&](std::uint32_t id, float raw) { widened_row[id] = raw; });
    return;
  }
  const DraftPath path =
      path_to_row(drafted_of(arguments.draft_tokens, rows, place.request),
                  drafted_of(arguments.parents, rows, place.request), place.position);
  const FilteredLogits logits =
      prepare(adjusted_row(arguments.adjustments, place.request, place.slot, path),
              arguments.vocab_size, scratch);
  float* const written = reinterpret_cast<float*>(arguments.adjusted_rows) +
                         std::uint64_t{place.slot} * arguments.adjusted_row_stride;
  logits.for_each(read, arguments.vocab_size,
                  [&](std::uint32_t id, float logit) { written[id] = logit; });
}

}  // namespace draftproof::gpu::kernels::shaping

/// One entry for each storage format. The grid is one-dimensional: a block for each target slot,
/// and one for each draft slot when there are draft rows.
#define DRAFTPROOF_ADJUST_ROWS(name, Element)                                    \
  extern "C" __global__ void __launch_bounds__(512, 1)                           \
      name(const __grid_constant__ draftproof_adjust_rows_arguments arguments) { \
    using namespace draftproof::gpu::kernels;                                    \
    __shared__ shaping::AdjustedRowScratch scratch;                              \
    shaping::adjust_row<Element>(arguments, scratch);                            \
  }

DRAFTPROOF_ADJUST_ROWS(draftproof_adjust_rows_f32, Float32)
DRAFTPROOF_ADJUST_ROWS(draftproof_adjust_rows_bf16, Bfloat16)
DRAFTPROOF_ADJUST_ROWS(draftproof_adjust_rows_f16, Float16)
