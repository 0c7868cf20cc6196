// Shaping on the device: one record for every row of a batch, one block a row (numerics contract,
// section 1; the order of judging is the one that reference/shaping.h declares).
//
// A record is a few words from which any token's mass can be recomputed: the maximum, the scale,
// the cut that the filters leave, and the exact total. Nothing of the size of the vocabulary is
// written. Row slots that a request does not use, rows behind a placeholder included, are not read,
// and their records are not written. Determinism: gpu_to_gpu, bit for bit, for every block size (a
// multiple of 32 up to 1,024), order and schedule: floating-point values only meet in a maximum,
// everything else is a sum of integers.
#include <cstdint>

#include "gpu/kernels/anchor.cuh"
#include "gpu/kernels/layout.h"
#include "gpu/kernels/row.cuh"
#include "gpu/kernels/shaping/row_shaper.cuh"

namespace draftproof::gpu::kernels::shaping {

/// What a launch of shape_rows works on; the parameters of the entries below, in their order.
template <class Element>
struct ShapeRows {
  const Element* target_rows;
  std::uint64_t target_row_stride;
  const void* draft_rows;
  std::uint64_t draft_row_stride;
  const std::int32_t* draft_tokens;
  const RequestParameters* requests;
  RowRecord* target_records;
  RowRecord* draft_records;
  DraftLawKind draft_kind;
  std::uint32_t request_count;
  std::uint32_t padded_draft_count;
  std::uint32_t vocab_size;
  std::uint32_t fraction_bits;

  __device__ __forceinline__ void run(Scratch& scratch) const {
    // Blocks of the target side come first, then those of the draft side.
    const std::uint32_t target_blocks = request_count * (padded_draft_count + 1);
    const bool is_target = blockIdx.x < target_blocks;
    const std::uint32_t block = is_target ? blockIdx.x : blockIdx.x - target_blocks;
    const std::uint32_t slots = is_target ? padded_draft_count + 1 : padded_draft_count;
    const std::uint32_t request = block / slots;
    const std::uint32_t position = block % slots;
    const RequestParameters& parameters = requests[request];
    const std::int32_t* tokens = draft_tokens == nullptr
                                     ? nullptr
                                     : draft_tokens + draft_slot(request, 0, padded_draft_count);
    const std::uint32_t row_count =
        min(parameters.draft_count, padded_draft_count) + (is_target ? 1 : 0);
    if (!row_is_used(tokens, row_count, position)) return;

    std::uint64_t offset =
        std::uint64_t{block} * (is_target ? target_row_stride : draft_row_stride);
    anchor::row_offset(offset);
    const Element* logits =
        (is_target ? target_rows : static_cast<const Element*>(draft_rows)) + offset;
    const RowRecord record =
        !is_target && draft_kind == DraftLawKind::kProbabilities
            ? shape_probabilities(static_cast<const float*>(draft_rows) + offset, vocab_size,
                                  fraction_bits, scratch)
            : shape_logits(logits, vocab_size, RawLogits{}, fraction_bits, parameters, scratch);
    if (threadIdx.x == 0) (is_target ? target_records : draft_records)[block] = record;
  }
};

}  // namespace draftproof::gpu::kernels::shaping

/// One entry for each storage format. The grid is one-dimensional: request_count *
/// (padded_draft_count + 1) blocks, and request_count * padded_draft_count more when the drafts
/// come with rows; the block a multiple of 32 up to 1,024. `draft_tokens` may be null: then all
/// rows up to a request's draft_count are shaped, which trees need.
#define DRAFTPROOF_SHAPE_ROWS(name, Element)                                                    \
  extern "C" __global__ void __launch_bounds__(1024, 1) name(                                   \
      const draftproof::gpu::kernels::Element* target_rows, std::uint64_t target_row_stride,    \
      const void* draft_rows, std::uint64_t draft_row_stride, const std::int32_t* draft_tokens, \
      const draftproof::gpu::kernels::RequestParameters* requests,                              \
      draftproof::gpu::kernels::RowRecord* target_records,                                      \
      draftproof::gpu::kernels::RowRecord* draft_records, std::uint32_t draft_kind,             \
      std::uint32_t request_count, std::uint32_t padded_draft_count, std::uint32_t vocab_size,  \
      std::uint32_t fraction_bits) {                                                            \
    using namespace draftproof::gpu::kernels;                                                   \
    __shared__ shaping::Scratch scratch;                                                        \
    const shaping::ShapeRows<Element> launch{                                                   \
        target_rows,      target_row_stride,  draft_rows,                                       \
        draft_row_stride, draft_tokens,       requests,                                         \
        target_records,   draft_records,      static_cast<DraftLawKind>(draft_kind),            \
        request_count,    padded_draft_count, vocab_size,                                       \
        fraction_bits};                                                                         \
    launch.run(scratch);                                                                        \
  }

DRAFTPROOF_SHAPE_ROWS(draftproof_shape_rows_f32, Float32)
DRAFTPROOF_SHAPE_ROWS(draftproof_shape_rows_bf16, Bfloat16)
DRAFTPROOF_SHAPE_ROWS(draftproof_shape_rows_f16, Float16)
