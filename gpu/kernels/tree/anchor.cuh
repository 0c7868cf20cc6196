// Anchors of the tree kernels: places where patches plant their faults (gpu/kernels/anchor.cuh says
// how).
#pragma once

#include <cstdint>

namespace draftproof::gpu::kernels::tree::anchor {

/// One more than a node's parent, which must not exceed the node.
__device__ __forceinline__ void parent_row(std::uint32_t& row, std::uint32_t node) {
  asm("// draftproof: parent row %0 of node %1" : "+r"(row) : "r"(node));
}

/// The node whose mask row is written.
__device__ __forceinline__ void mask_row(std::uint32_t& node) {
  asm("// draftproof: mask row %0" : "+r"(node));
}

/// What a candidate counts for, from its own score and what it continues.
__device__ __forceinline__ void least_key(std::uint32_t& key, std::uint32_t own) {
  asm("// draftproof: least key %0 own %1" : "+r"(key) : "r"(own));
}

/// Candidates of the boundary score before this one, of which the first few stay.
__device__ __forceinline__ void ties_before(std::uint32_t& count, std::uint32_t kept) {
  asm("// draftproof: ties before %0 kept %1" : "+r"(count) : "r"(kept));
}

}  // namespace draftproof::gpu::kernels::tree::anchor
