// Right arguments: what calls of the C interface are told of a batch where nothing is wrong with
// it, for tests that then break one field. Nothing lies at these addresses.
#pragma once

#include <cstdint>

#include "gpu/draftproof_kernels.h"

namespace draftproof::gpu::interface {

/// Buffers lie so far apart.
inline constexpr draftproof_pointer kMemory = 1 << 24;

/// Rows, tokens and requests of shape_rows, of a rule or of fused acceptance: buffers 1 to 4.
template <class Arguments>
Arguments right_rows(std::uint32_t vocab_size) {
  Arguments a{};
  a.target_rows = 1 * kMemory;
  a.draft_rows = 2 * kMemory;
  a.target_row_stride = a.draft_row_stride = vocab_size;
  a.draft_tokens = 3 * kMemory;
  a.requests = 4 * kMemory;
  a.padded_draft_count = 2;
  a.vocab_size = vocab_size;
  return a;
}

/// The same with records, of three requests: buffers 1 to 6.
template <class Arguments>
Arguments right_records() {
  auto a = right_rows<Arguments>(8);
  a.target_records = 5 * kMemory;
  a.draft_records = 6 * kMemory;
  a.request_count = 3;
  return a;
}

/// Fused acceptance of three requests, not divided yet: buffers 1 to 9, the workspace last.
inline draftproof_acceptance_arguments right_acceptance(std::uint32_t vocab_size) {
  auto a = right_rows<draftproof_acceptance_arguments>(vocab_size);
  a.emitted_tokens = 5 * kMemory;
  a.emitted_reasons = 6 * kMemory;
  a.outcomes = 7 * kMemory;
  a.kv_plans = 8 * kMemory;
  a.workspace = 9 * kMemory;
  a.request_capacity = 3;
  return a;
}

}  // namespace draftproof::gpu::interface
