// Anchors of the block rule: places where patches plant their faults (gpu/kernels/anchor.cuh says
// how).
#pragma once

#include <cstdint>

namespace draftproof::gpu::kernels::verify::block_anchor {

/// The ratio of the prefix in front of a drafted token, before it is carried over the token.
__device__ __forceinline__ void carried_ratio(std::uint64_t& ratio) {
  asm("// draftproof: carried ratio %0" : "+l"(ratio));
}

/// The prefix whose row is read, and its ratio, which decides what is left of the row.
__device__ __forceinline__ void prefix(std::uint32_t& length, std::uint64_t& ratio) {
  asm("// draftproof: prefix %0 ratio %1" : "+r"(length), "+l"(ratio));
}

/// Where the coin comes from that tests a prefix.
__device__ __forceinline__ void prefix_coin(std::uint32_t& position) {
  asm("// draftproof: prefix coin position %0" : "+r"(position));
}

/// What the prefix has lost, to which its residual is compared: the ratio's distance from whole.
__device__ __forceinline__ void lost(std::uint64_t& ratio) {
  asm("// draftproof: lost %0" : "+l"(ratio));
}

/// The iteration that all coins of the request have.
__device__ __forceinline__ void iteration(std::uint32_t& number) {
  asm("// draftproof: iteration %0" : "+r"(number));
}

}  // namespace draftproof::gpu::kernels::verify::block_anchor
