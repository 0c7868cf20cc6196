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

/// Whether a sibling before this one carries its token.
__device__ __forceinline__ void repeated(std::uint32_t& is_repeated) {
  asm("// draftproof: repeated %0" : "+r"(is_repeated));
}

/// The purpose of the coin that draws from what the children leave.
__device__ __forceinline__ void second_coin(std::uint32_t& purpose) {
  asm("// draftproof: second coin purpose %0" : "+r"(purpose));
}

/// How far the weights of what is left are shifted right.
__device__ __forceinline__ void shortening(std::uint32_t& shift) {
  asm("// draftproof: shortening %0" : "+r"(shift));
}

/// The total of a draft row without what was struck out, and with it.
__device__ __forceinline__ void struck_total(std::uint64_t& total, std::uint64_t whole) {
  asm("// draftproof: struck total %0 of %1" : "+l"(total) : "l"(whole));
}

/// The slot of the coin that a sibling is tested with.
__device__ __forceinline__ void accept_sibling(std::uint32_t& sibling) {
  asm("// draftproof: accept sibling %0" : "+r"(sibling));
}

}  // namespace draftproof::gpu::kernels::verify::tree_anchor
