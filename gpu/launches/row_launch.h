// Row launches: what all kernels that sweep rows of logits have in common on the host's side.
#pragma once

#include <array>
#include <cstdint>

#include "gpu/kernels/arguments/rows.h"
#include "gpu/launches/adjustments.h"
#include "gpu/launches/checks.h"

/// Names of an entry by draftproof_logit_format.
#define DRAFTPROOF_BY_FORMAT(stem) \
  { stem "_f32", stem "_bf16", stem "_f16" }

namespace draftproof::gpu::launches {

/// Threads a block of a row, where nobody chose them: a warp has something to do in it, and a long
/// row many warps.
constexpr std::uint32_t suitable_block_threads(std::uint32_t vocab_size) {
  if (vocab_size <= 1024) return 32;
  return vocab_size <= 8192 ? 128 : 512;
}

// Of arguments with the fields that shape_rows and adjust_rows share. Precondition of all: sizes
// are in their documented ranges.
template <class Arguments>
std::uint64_t target_slots(const Arguments& a) {
  return std::uint64_t{a.request_count} * (a.padded_draft_count + 1);
}
template <class Arguments>
std::uint64_t draft_slots(const Arguments& a) {
  return std::uint64_t{a.request_count} * a.padded_draft_count;
}
template <class Arguments>
std::uint64_t logit_bytes(const Arguments& a) {
  return a.format == DRAFTPROOF_FLOAT32 ? 4 : 2;
}
template <class Arguments>
AdjustedBatch adjusted_batch(const Arguments& a) {
  return {a.request_count, target_slots(a), a.vocab_size};
}

/// False when one of the outputs, `written`, shares bytes with another one or with what is read:
/// rows of so many bytes, tokens, parents, requests, and lists of adjustments.
template <class Arguments>
bool outputs_are_apart(const Arguments& a, const std::array<Extent, 3>& written,
                       std::uint64_t target_bytes, std::uint64_t draft_bytes) {
  const std::uint64_t token_bytes = draft_slots(a) * sizeof(std::int32_t);
  const std::array<Extent, 5> lists = extents_of(a.adjustments, adjusted_batch(a));
  return !overlap(std::array{
      written[0], written[1], written[2], Extent{a.target_rows, target_bytes, false},
      Extent{a.draft_rows, draft_bytes, false}, Extent{a.draft_tokens, token_bytes, false},
      Extent{a.parents, token_bytes, false},
      Extent{a.requests, std::uint64_t{a.request_count} * sizeof(draftproof_request), false},
      lists[0], lists[1], lists[2], lists[3], lists[4]});
}

}  // namespace draftproof::gpu::launches
