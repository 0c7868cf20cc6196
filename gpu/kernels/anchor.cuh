// Anchors: places in a kernel that PTX alone would not let a fault be planted at reliably, because
// nvcc may compute the same thing in many ways. An anchor is a comment in the PTX that names the
// registers of a few values and lets them pass; it emits no instruction, and the values come out as
// they went in. Patches (fixtures/mutants/kernels) put their fault behind the comment.
#pragma once

#include <cstdint>

#include "gpu/kernels/wide.cuh"

namespace draftproof::gpu::kernels::anchor {

/// The position whose target row ends a request without a rejection.
__device__ __forceinline__ void end_row(std::uint32_t& position) {
  asm("// draftproof: end row %0" : "+r"(position));
}

/// The position whose target row yields the drawn token, and verify::Answer for why.
__device__ __forceinline__ void drawn_row(std::uint32_t& position, std::uint32_t answer) {
  asm("// draftproof: drawn row %0 answer %1" : "+r"(position) : "r"(answer));
}

/// The bound that the scaled accept coin must stay below.
__device__ __forceinline__ void accept_bound(Wide& bound) {
  asm("// draftproof: accept bound %0 %1" : "+l"(bound.high), "+l"(bound.low));
}

/// Where the accept coin of a position comes from.
__device__ __forceinline__ void accept_coin(std::uint32_t& position) {
  asm("// draftproof: accept coin position %0" : "+r"(position));
}

/// Where the recovered coin comes from: its purpose, and its column in a coin buffer.
__device__ __forceinline__ void recovered_coin(std::uint32_t& purpose, std::uint32_t& column) {
  asm("// draftproof: recovered coin purpose %0 column %1" : "+r"(purpose), "+r"(column));
}

/// What the draft takes away from a token's target mass in the residual.
__device__ __forceinline__ void spent(Wide& mass) {
  asm("// draftproof: spent %0 %1" : "+l"(mass.high), "+l"(mass.low));
}

/// The slot of the draft row that a position is judged with.
__device__ __forceinline__ void draft_row_slot(std::uint64_t& slot) {
  asm("// draftproof: draft row slot %0" : "+l"(slot));
}

/// The first element of a row, counted from the first row.
__device__ __forceinline__ void row_offset(std::uint64_t& offset) {
  asm("// draftproof: row offset %0" : "+l"(offset));
}

/// How many blocks of the team lie before the own slice of a row.
__device__ __forceinline__ void slices_before(std::uint32_t& count) {
  asm("// draftproof: slices before %0" : "+r"(count));
}

/// How many earlier rows of the request must be accepted for it to end here.
__device__ __forceinline__ void rows_before(std::uint32_t& count) {
  asm("// draftproof: rows before %0" : "+r"(count));
}

/// Cache slots that a KV plan keeps.
__device__ __forceinline__ void kept_count(std::uint32_t& count) {
  asm("// draftproof: kept count %0" : "+r"(count));
}

}  // namespace draftproof::gpu::kernels::anchor
