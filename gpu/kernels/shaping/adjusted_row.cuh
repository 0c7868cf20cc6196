// Adjusted row: one row's adjustments, and any of its logits by a search (the steps and their
// arithmetic are those that reference/adjustments.h and penalties.h declare; the bytes are those of
// gpu/kernels/arguments/adjustments.h). Steps are taken in the request's order; every
// floating-point operation is one IEEE operation, sums over the history are of integers
// (determinism: gpu_to_gpu).
#pragma once

#include <cstdint>

#include "gpu/kernels/arguments/adjustments.h"
#include "gpu/kernels/layout.h"
#include "gpu/kernels/row.cuh"
#include "gpu/kernels/shaping/shaping_anchor.cuh"

namespace draftproof::gpu::kernels::shaping {

/// The drafted tokens before one row, from the last one back to the first.
struct DraftPath {
  const std::int32_t* tokens;   ///< of the request; not read when depth is 0
  const std::int32_t* parents;  ///< null for a chain: the node before
  std::uint32_t last;           ///< node of the last token
  std::uint32_t depth;          ///< how many tokens there are

  /// visit(token) for the `count` last tokens, or all.
  template <class Visit>
  __device__ __forceinline__ void for_each_backwards(std::uint32_t count, Visit visit) const {
    std::uint32_t node = last;
#pragma unroll 1
    for (std::uint32_t i = 0; i < depth && i < count; ++i) {
      visit(tokens[node]);
      node = parents == nullptr ? node - 1 : static_cast<std::uint32_t>(parents[node]);
    }
  }
};

/// The path to row `position` of a chain (parents null) or of a tree, in which row i + 1 lies
/// behind node i and node i continues parents[i], or nothing where that is -1. A tree whose parents
/// do not precede their children ends in some path of at most `position` tokens, all of the
/// request's own.
__device__ __forceinline__ DraftPath path_to_row(const std::int32_t* tokens,
                                                 const std::int32_t* parents,
                                                 std::uint32_t position) {
  std::uint32_t depth = parents == nullptr ? position : 0;
  std::uint32_t node = position - 1;
#pragma unroll 1
  while (node < position && depth < position) {  // -1 is no node below `position`
    ++depth;
    node = static_cast<std::uint32_t>(parents[node]);
  }
  shaping_anchor::path_depth(depth);
  return {tokens, parents, position - 1, depth};
}

/// One row's adjustments: what a request asks for, and the drafted tokens before the row.
struct AdjustedRow {
  const draftproof_adjusted_request* request;
  const draftproof_adjusted_token* entries;  ///< of the request
  const draftproof_bad_word* words;          ///< of the batch, as tokens
  const std::int32_t* tokens;
  const std::uint32_t* mask;  ///< of the row; null: the request has no such step
  DraftPath path;

  /// `raw`, the row's logit of `id`, with everything that the request does to it.
  __device__ __forceinline__ float logit(std::uint32_t id, float raw) const;
  __device__ __forceinline__ float logit(const draftproof_adjusted_token& entry, float raw) const;

  __device__ __forceinline__ bool has(std::uint32_t flag) const {
    return (request->flags & flag) != 0;
  }
  __device__ __forceinline__ bool has_step(std::uint32_t code) const {
#pragma unroll 1
    for (std::uint32_t steps = request->steps; steps != 0; steps >>= 4)
      if ((steps & 15u) == code) return true;
    return false;
  }
  __device__ __forceinline__ bool mask_allows(std::uint32_t id) const {
    return mask == nullptr || (mask[id / 32] >> (id % 32) & 1u) != 0;
  }

  /// Committed tokens that no count has yet.
  __device__ __forceinline__ std::uint32_t recent_count() const {
    return request->tail_count - request->tail_counted;
  }
  /// visit(token) for the last `count` tokens behind the packed history, or all: drafted ones first
  /// (unless they are frozen), then recent ones, each from the back.
  template <class Visit>
  __device__ __forceinline__ void for_each_behind(bool is_frozen, std::uint32_t count,
                                                  Visit visit) const {
    const std::uint32_t drafted = is_frozen ? 0 : path.depth;
    if (!is_frozen) path.for_each_backwards(count, visit);
    const std::int32_t* tail = tokens + request->tail_begin;
    std::uint32_t left = count > drafted ? count - drafted : 0;
#pragma unroll 1
    for (std::uint32_t i = request->tail_count; i > request->tail_counted && left > 0; --i, --left)
      visit(tail[i - 1]);
  }
};

/// The adjustments of row `position` of `request`, whose target row slot is `slot`.
__device__ __forceinline__ AdjustedRow adjusted_row(const draftproof_adjustments& batch,
                                                    std::uint32_t request, std::uint64_t slot,
                                                    const DraftPath& path) {
  const auto* own = reinterpret_cast<const draftproof_adjusted_request*>(batch.requests) + request;
  AdjustedRow row{
      own,
      reinterpret_cast<const draftproof_adjusted_token*>(batch.entries) + own->entry_begin,
      reinterpret_cast<const draftproof_bad_word*>(batch.words),
      reinterpret_cast<const std::int32_t*>(batch.tokens),
      nullptr,
      path};
  shaping_anchor::mask_slot(slot);
  if (batch.masks != 0 && row.has_step(DRAFTPROOF_ADJUST_GRAMMAR_MASK))
    row.mask = reinterpret_cast<const std::uint32_t*>(batch.masks) + slot * batch.mask_stride;
  return row;
}

/// How often a token counts for one of the penalties at one row.
__device__ __forceinline__ std::uint32_t counted(const AdjustedRow& row, std::uint32_t id,
                                                 std::uint32_t packed_count,
                                                 std::uint32_t held_begin,
                                                 std::uint32_t held_count) {
  const bool is_frozen = row.has(DRAFTPROOF_PENALTIES_FROZEN);
  const std::uint32_t window = row.request->window;
  std::uint32_t count = packed_count;
  row.for_each_behind(is_frozen, window, [&](std::int32_t token) {
    if (static_cast<std::uint32_t>(token) == id) {
      ++count;
      shaping_anchor::behind_count(count);
    }
  });
  if (window == DRAFTPROOF_NO_WINDOW) return count;
  const std::uint64_t behind = std::uint64_t{is_frozen ? 0 : row.path.depth} + row.recent_count();
  const std::uint64_t all = behind + held_count;
  const std::uint64_t leaving = min(all > window ? all - window : 0, std::uint64_t{held_count});
  const std::int32_t* held = row.tokens + held_begin;
#pragma unroll 1
  for (std::uint32_t i = 0; i < leaving; ++i)
    if (static_cast<std::uint32_t>(held[i]) == id) --count;
  return count;
}

__device__ __forceinline__ float repeated(const AdjustedRow& row, float logit) {
  const float repetition = row.request->repetition;
  if (!row.has(DRAFTPROOF_REPETITION_RECIPROCAL))
    return logit > 0.0f ? __fdiv_rn(logit, repetition) : __fmul_rn(logit, repetition);
  return __fmul_rn(logit, logit > 0.0f ? __frcp_rn(repetition) : repetition);
}

/// Frequency and presence of a token that counts `count` > 0 times.
__device__ __forceinline__ float subtracted(const AdjustedRow& row, float logit,
                                            std::uint32_t count) {
  const float frequency = row.request->frequency;
  const float presence = row.request->presence;
  float share = 0.0f;
  if (row.has(DRAFTPROOF_FREQUENCY_SUMMED)) {
#pragma unroll 1
    for (std::uint32_t i = 0; i < count; ++i) {
      const float next = __fadd_rn(share, frequency);
      if (next == share) break;  // it stays where it is, however often it is added
      share = next;
    }
  } else {
    share = __fmul_rn(__uint2float_rn(count), frequency);
  }
  const bool has_both = frequency != 0.0f && presence != 0.0f;
  if (has_both && row.has(DRAFTPROOF_FREQUENCY_PLUS_PRESENCE))
    return __fsub_rn(logit, __fadd_rn(share, presence));
  if (frequency != 0.0f) logit = __fsub_rn(logit, share);
  if (presence != 0.0f) logit = __fsub_rn(logit, presence);
  return logit;
}

__device__ __forceinline__ float penalised(const AdjustedRow& row,
                                           const draftproof_adjusted_token& entry, float logit) {
  const draftproof_adjusted_request& request = *row.request;
  const std::uint32_t repetitions =
      request.repetition == 1.0f
          ? 0
          : counted(row, entry.id, entry.repetition_count, request.repetition_held_begin,
                    request.repetition_held_count);
  const std::uint32_t occurrences =
      request.frequency == 0.0f && request.presence == 0.0f
          ? 0
          : counted(row, entry.id, entry.frequency_count, request.frequency_held_begin,
                    request.frequency_held_count);
  const bool is_last = row.has(DRAFTPROOF_REPETITION_LAST);
#pragma unroll 1
  for (int turn = 0; turn < 2; ++turn) {
    if ((turn == 0) == is_last) {
      if (occurrences != 0) logit = subtracted(row, logit, occurrences);
    } else {
      if (repetitions != 0) logit = repeated(row, logit);
    }
  }
  return logit;
}

/// True when what lies before the row ends with all tokens of `word` but its last.
__device__ __forceinline__ bool word_is_due(const AdjustedRow& row,
                                            const draftproof_bad_word& word) {
  const std::int32_t* ids = row.tokens + word.token_begin;
  std::uint32_t left = word.token_count - 1;
  bool is_equal = true;
  row.path.for_each_backwards(left, [&](std::int32_t token) {
    --left;
    is_equal &= token == ids[left];
  });
  if (left > row.request->tail_count) return false;
  const std::int32_t* tail = row.tokens + row.request->tail_begin;
#pragma unroll 1
  for (std::uint32_t i = row.request->tail_count; left > 0 && is_equal; --i) {
    --left;
    is_equal = tail[i - 1] == ids[left];
  }
  return is_equal;
}

__device__ __forceinline__ bool ends_bad_word(const AdjustedRow& row,
                                              const draftproof_adjusted_token& entry) {
  const std::uint32_t end = row.request->word_begin + row.request->word_count;
#pragma unroll 1
  for (std::uint32_t i = entry.first_word; i < end; ++i) {
    const draftproof_bad_word word = row.words[i];
    const std::int32_t last = row.tokens[word.token_begin + word.token_count - 1];
    if (static_cast<std::uint32_t>(last) != entry.id) return false;
    if (word_is_due(row, word)) return true;
  }
  return false;
}

/// The entry of an id; one of all zeros and that id when it has none.
struct FoundEntry {
  draftproof_adjusted_token entry;
  bool is_listed;
};

__device__ __forceinline__ FoundEntry find_entry(const AdjustedRow& row, std::uint32_t id) {
  std::uint32_t begin = 0;
  std::uint32_t end = row.request->entry_count;
#pragma unroll 1
  while (begin < end) {
    const std::uint32_t middle = begin + (end - begin) / 2;
    const std::uint32_t found = row.entries[middle].id;
    if (found == id) return {row.entries[middle], true};
    if (found < id)
      begin = middle + 1;
    else
      end = middle;
  }
  return {{id, 0, 0, 0, 0.0f, 0}, false};
}

/// True when `step` bans the token of `entry`.
__device__ __forceinline__ bool is_banned(const AdjustedRow& row,
                                          const draftproof_adjusted_token& entry,
                                          std::uint32_t step) {
  switch (step) {
    case DRAFTPROOF_ADJUST_LOGIT_BIAS:
      return (entry.flags & DRAFTPROOF_ENTRY_BIAS_BANS) != 0;
    case DRAFTPROOF_ADJUST_ALLOWED_IDS:
      return (entry.flags & DRAFTPROOF_ENTRY_ALLOWED) == 0;
    case DRAFTPROOF_ADJUST_BAD_WORDS:
      return (entry.flags & DRAFTPROOF_ENTRY_ENDS_WORD) != 0 && ends_bad_word(row, entry);
    case DRAFTPROOF_ADJUST_MIN_TOKENS: {
      const std::uint32_t drafted = row.has(DRAFTPROOF_MIN_TOKENS_FROZEN) ? 0 : row.path.depth;
      return (entry.flags & DRAFTPROOF_ENTRY_ENDS) != 0 &&
             row.recent_count() + drafted < row.request->min_tokens_left;
    }
    case DRAFTPROOF_ADJUST_GRAMMAR_MASK:
      return !row.mask_allows(entry.id);
    default:
      return false;
  }
}

__device__ __forceinline__ float AdjustedRow::logit(std::uint32_t id, float raw) const {
  return logit(find_entry(*this, id).entry, raw);
}

__device__ __forceinline__ float AdjustedRow::logit(const draftproof_adjusted_token& entry,
                                                    float raw) const {
  float logit = raw;
#pragma unroll 1
  for (std::uint32_t steps = request->steps; steps != 0; steps >>= 4) {
    const std::uint32_t step = steps & 15u;
    if (step == DRAFTPROOF_ADJUST_PENALTIES)
      logit = penalised(*this, entry, logit);
    else if (is_banned(*this, entry, step))
      logit = -__builtin_huge_valf();
    else if (step == DRAFTPROOF_ADJUST_LOGIT_BIAS && (entry.flags & DRAFTPROOF_ENTRY_BIAS) != 0)
      logit = __fadd_rn(logit, entry.bias);
  }
  return logit;
}

}  // namespace draftproof::gpu::kernels::shaping
