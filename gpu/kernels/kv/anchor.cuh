// Anchors of the KV kernels, where patches plant their faults, as gpu/kernels/anchor.cuh has them
// of the others: comments in the PTX that name registers and emit nothing.
#pragma once

#include <cstdint>

namespace draftproof::gpu::kernels::kv::anchor {

/// A cell moves between two slots of its sequence.
__device__ __forceinline__ void move(std::uint32_t& from, std::uint32_t to) {
  asm("// draftproof: kv move from %0 to %1" : "+r"(from) : "r"(to));
}

/// Where a move stands in the order of its tile.
__device__ __forceinline__ void order(std::uint32_t& place, std::uint32_t count) {
  asm("// draftproof: kv order %0 of %1" : "+r"(place) : "r"(count));
}

/// The entry of a table and the slot in its page that a slot of a sequence is found by.
__device__ __forceinline__ void page(std::uint32_t& index, std::uint32_t& slot) {
  asm("// draftproof: kv page %0 slot %1" : "+r"(index), "+r"(slot));
}

/// So many planes are copied.
__device__ __forceinline__ void planes(std::uint32_t& count) {
  asm("// draftproof: kv planes %0" : "+r"(count));
}

/// The plane whose base a column is counted from.
__device__ __forceinline__ void base(std::uint32_t& plane) {
  asm("// draftproof: kv base %0" : "+r"(plane));
}

/// The slot that a token's cell is appended to, in a pool of so many.
__device__ __forceinline__ void slot(std::int64_t& slot, std::int64_t slots) {
  asm("// draftproof: kv slot %0 of %1" : "+l"(slot) : "l"(slots));
}

/// So many slots of a page are copied before it is written.
__device__ __forceinline__ void copied(std::uint32_t& count) {
  asm("// draftproof: kv copied %0" : "+r"(count));
}

/// The committed length behind a commit.
__device__ __forceinline__ void length(std::uint32_t& after, std::uint32_t before) {
  asm("// draftproof: kv length %0 from %1" : "+r"(after) : "r"(before));
}

/// So many entries of a table stay.
__device__ __forceinline__ void pages_kept(std::uint32_t& count) {
  asm("// draftproof: kv pages kept %0" : "+r"(count));
}

/// The fed token whose state is selected.
__device__ __forceinline__ void selected(std::uint32_t& offset) {
  asm("// draftproof: kv selected %0" : "+r"(offset));
}

/// The row that a gathered row is read from.
__device__ __forceinline__ void gathered(std::uint32_t& offset) {
  asm("// draftproof: kv gathered %0" : "+r"(offset));
}

}  // namespace draftproof::gpu::kernels::kv::anchor
