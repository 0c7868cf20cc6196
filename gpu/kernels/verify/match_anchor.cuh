// Anchors of sample-and-match: places where patches plant their faults (gpu/kernels/anchor.cuh says
// how).
#pragma once

#include <cstdint>

namespace draftproof::gpu::kernels::verify::match_anchor {

/// The number of tokens before a draw, which addresses its coin.
__device__ __forceinline__ void coin_depth(std::uint32_t& depth) {
  asm("// draftproof: coin depth %0" : "+r"(depth));
}

/// The drawn token, for which a child is looked for.
__device__ __forceinline__ void wanted(std::uint32_t& token) {
  asm("// draftproof: wanted token %0" : "+r"(token));
}

}  // namespace draftproof::gpu::kernels::verify::match_anchor
