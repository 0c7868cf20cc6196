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

}  // namespace draftproof::gpu::kernels::tree::anchor
