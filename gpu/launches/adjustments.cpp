#include "gpu/launches/adjustments.h"

namespace draftproof::gpu::launches {
namespace {

bool mask_bytes(const draftproof_adjustments& adjustments, const AdjustedBatch& batch,
                std::uint64_t& bytes) {
  return strided_bytes(batch.target_slots, adjustments.mask_stride,
                       (std::uint64_t{batch.vocab_size} + 31) / 32, sizeof(std::uint32_t), bytes);
}

}  // namespace

draftproof_result check(const draftproof_adjustments& adjustments, const AdjustedBatch& batch) {
  if (adjustments.requests == 0) return kGood;
  for (const draftproof_pointer pointer :
       {adjustments.requests, adjustments.entries, adjustments.words, adjustments.tokens,
        adjustments.masks})
    if (!is_aligned(pointer, 4))
      return {DRAFTPROOF_MISALIGNED, "adjustments: align every array to 4 bytes"};
  if (adjustments.masks == 0) return kGood;
  if (adjustments.mask_stride < (std::uint64_t{batch.vocab_size} + 31) / 32)
    return {DRAFTPROOF_OUT_OF_RANGE,
            "adjustments.mask_stride: give at least vocab_size / 32 words, rounded up"};
  std::uint64_t bytes = 0;
  if (!mask_bytes(adjustments, batch, bytes))
    return {DRAFTPROOF_TOO_LARGE, "adjustments.mask_stride: the masks do not fit in 63 bits"};
  return kGood;
}

std::array<Extent, 5> extents_of(const draftproof_adjustments& adjustments,
                                 const AdjustedBatch& batch) {
  if (adjustments.requests == 0) return {};
  std::uint64_t bytes = 0;
  if (adjustments.masks != 0) mask_bytes(adjustments, batch, bytes);
  constexpr std::uint64_t kFirstWord = 4;
  return {{{adjustments.requests, batch.request_count * sizeof(draftproof_adjusted_request), false},
           {adjustments.entries, kFirstWord, false},
           {adjustments.words, kFirstWord, false},
           {adjustments.tokens, kFirstWord, false},
           {adjustments.masks, bytes, false}}};
}

}  // namespace draftproof::gpu::launches
