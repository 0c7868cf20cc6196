// Anchors of shaping: places where patches plant their faults (gpu/kernels/anchor.cuh says how).
#pragma once

#include <cstdint>

namespace draftproof::gpu::kernels::shaping::shaping_anchor {

/// How many drafted tokens lie before a row.
__device__ __forceinline__ void path_depth(std::uint32_t& depth) {
  asm("// draftproof: path depth %0" : "+r"(depth));
}

/// The slot of a row's mask.
__device__ __forceinline__ void mask_slot(std::uint64_t& slot) {
  asm("// draftproof: mask slot %0" : "+l"(slot));
}

/// How often a token counts, behind one that lies between the packed history and the row.
__device__ __forceinline__ void behind_count(std::uint32_t& count) {
  asm("// draftproof: behind count %0" : "+r"(count));
}

/// What a full count has given up.
__device__ __forceinline__ void carried(std::uint32_t& count) {
  asm("// draftproof: carried %0" : "+r"(count));
}

/// How many of equal logits a filter keeps.
__device__ __forceinline__ void kept_ties(std::uint32_t& rank) {
  asm("// draftproof: kept ties %0" : "+r"(rank));
}

/// The arrival that ends a sweep.
__device__ __forceinline__ void last_arrival(std::uint32_t& arrival) {
  asm("// draftproof: last arrival %0" : "+r"(arrival));
}

/// The sweep that a ticket is of.
__device__ __forceinline__ void sweep_number(std::uint32_t& number) {
  asm("// draftproof: sweep number %0" : "+r"(number));
}

}  // namespace draftproof::gpu::kernels::shaping::shaping_anchor
