// Anchors of the model's kernels (gpu/kernels/anchor.cuh says what they are).
#pragma once

#include <cstdint>

namespace draftproof::gpu::kernels::model::anchor {

/// A word of a row's mask.
__device__ __forceinline__ void mask_word(std::uint64_t& bits) {
  asm("// draftproof: mask word %0" : "+l"(bits));
}

/// The position that queries and keys are turned by.
__device__ __forceinline__ void rope_position(std::int32_t& position) {
  asm("// draftproof: rope position %0" : "+r"(position));
}

/// The K/V head that a query head reads, and the query head.
__device__ __forceinline__ void kv_head(std::uint32_t& kv_head, std::uint32_t head) {
  asm("// draftproof: kv head %0 of %1" : "+r"(kv_head) : "r"(head));
}

/// What the sum of squares is divided by, and what is added then.
__device__ __forceinline__ void norm_divisor(float& width, float& epsilon) {
  asm("// draftproof: norm divisor %0 epsilon %1" : "+f"(width), "+f"(epsilon));
}

/// The slot that a row's key and value are written to.
__device__ __forceinline__ void slot(std::int64_t& slot) {
  asm("// draftproof: slot %0" : "+l"(slot));
}

/// How many elements a lane sums.
__device__ __forceinline__ void input_width(std::uint32_t& width) {
  asm("// draftproof: input width %0" : "+r"(width));
}

}  // namespace draftproof::gpu::kernels::model::anchor
