// Anchors of the rules for trees: places where patches plant their faults (gpu/kernels/anchor.cuh
// says how).
#pragma once

#include <cstdint>

namespace draftproof::gpu::kernels::verify::tree_anchor {

/// One more than a node's parent, which must not exceed the node.
__device__ __forceinline__ void parent_row(std::uint32_t& row, std::uint32_t node) {
  asm("// draftproof: parent row %0 of node %1" : "+r"(row) : "r"(node));
}

/// The lanes whose children a rule would take, the first of which it takes.
__device__ __forceinline__ void marked_children(std::uint32_t& lanes) {
  asm("// draftproof: marked children %0" : "+r"(lanes));
}

}  // namespace draftproof::gpu::kernels::verify::tree_anchor
