// Sequences of a launch and what is kept of each (gpu/kernels/arguments/kv.h). Every block of a
// sequence looks at all that it is told of it before it moves a byte. None moves what another one
// looks at, so that all come to the same word about it.
#pragma once

#include <cstdint>

#include "gpu/kernels/arguments/kv.h"
#include "gpu/kernels/kv/anchor.cuh"

namespace draftproof::gpu::kernels::kv {

inline constexpr std::uint32_t kNone = 0xffffffffu;
/// Lengths are int32, that behind a commit of all that was fed too.
inline constexpr std::int64_t kLengthMax = 0x7fffffff;

/// What is looked at behind one barrier; each look has a word of its own, so that nobody writes
/// what somebody still reads.
enum class Look : std::uint32_t { kCounts, kPages, kScales };

/// What the arrays of a launch say of one sequence; one thread of a block reads them for all.
struct Told {
  std::int32_t row;
  std::int32_t length;
  std::int32_t fed;
  std::uint32_t count;  ///< of kept nodes
};

/// Shared memory of a block's word about its sequence.
struct Word {
  Told told;
  std::uint32_t faults[3];  ///< by look: the least draftproof_kv_status but OK; kNone: none
  std::uint32_t end;        ///< the first kept number whose cell was never fed
  std::uint32_t moved;      ///< the first kept number that changes its place

  __device__ __forceinline__ void find(Look look, std::uint32_t status) {
    atomicMin(&faults[static_cast<std::uint32_t>(look)], status);
  }
  /// Of a look that lies behind a barrier.
  __device__ __forceinline__ bool is_sound(Look look) const {
    return faults[static_cast<std::uint32_t>(look)] == kNone;
  }
  /// To be told: the first look that found something says it.
  __device__ __forceinline__ std::uint32_t status() const {
    for (const std::uint32_t fault : faults)
      if (fault != kNone) return fault;
    return DRAFTPROOF_KV_OK;
  }
};

/// Called by the whole block, first; `tell` is called by one thread.
template <class Tell>
__device__ __forceinline__ void begin(Word& word, const Tell& tell) {
  if (threadIdx.x == 0) word = {tell(), {kNone, kNone, kNone}, kNone, kNone};
  __syncthreads();
}

__device__ __forceinline__ const std::int32_t* integers(draftproof_pointer pointer) {
  return reinterpret_cast<const std::int32_t*>(pointer);
}

/// One sequence: its row of the tables and its slots.
struct Sequence {
  const std::int32_t* table;
  bool is_there;
  bool is_sound;  ///< row and counts are what they may be, length + fed at most kLengthMax
  std::uint32_t fault;
  std::int64_t length;
  std::int64_t fed;
};

/// Of a sequence that is not there nothing but its row is read.
__device__ __forceinline__ Told told_of(const draftproof_kv_sequences& all, std::uint32_t number) {
  const std::int32_t row =
      all.rows == 0 ? static_cast<std::int32_t>(number) : integers(all.rows)[number];
  if (row == -1) return {row, 0, 0, 0};
  return {row, integers(all.lengths)[number], integers(all.fed_counts)[number], 0};
}

__device__ __forceinline__ std::uint32_t count_of(const draftproof_kv_kept& all,
                                                  std::uint32_t number) {
  return *reinterpret_cast<const std::uint32_t*>(all.counts + static_cast<std::uint64_t>(number) *
                                                                  all.count_stride_bytes);
}

__device__ __forceinline__ Sequence sequence_of(const draftproof_kv_sequences& all,
                                                const Told& told, std::uint32_t page_size) {
  if (told.row == -1) return {nullptr, false, true, kNone, 0, 0};
  if (told.row < 0 || static_cast<std::uint32_t>(told.row) >= all.row_count)
    return {nullptr, true, false, DRAFTPROOF_KV_BAD_ROW, 0, 0};
  const std::int64_t length = told.length;
  const std::int64_t fed = told.fed;
  const std::uint64_t slots = static_cast<std::uint64_t>(all.page_max) * page_size;
  const std::int64_t end = length + fed;
  const bool is_sound =
      length >= 0 && fed >= 0 && end <= kLengthMax && static_cast<std::uint64_t>(end) <= slots;
  return {integers(all.tables) + static_cast<std::uint64_t>(told.row) * all.table_stride,
          true,
          is_sound,
          is_sound ? kNone : static_cast<std::uint32_t>(DRAFTPROOF_KV_BAD_LENGTH),
          length,
          fed};
}

/// Where a slot of a sequence lies; the page is what the table says, be it a page or not.
struct Place {
  std::uint32_t page;
  std::uint32_t slot;
};

/// Precondition: the slot is below page_max * page_size.
__device__ __forceinline__ Place place_of(const std::int32_t* table, std::uint32_t slot,
                                          std::uint32_t page_size) {
  std::uint32_t index = slot / page_size;
  std::uint32_t inside = slot - index * page_size;
  anchor::page(index, inside);
  return {static_cast<std::uint32_t>(table[index]), inside};
}

__device__ __forceinline__ bool is_page(std::uint32_t page, std::uint32_t page_count) {
  return page < page_count;  // of negative ones too: page_count is below 2^31
}

/// What is kept of one sequence.
struct Kept {
  static constexpr std::int64_t kNotFed = -1;
  static constexpr std::int64_t kMalformed = -2;

  const std::int32_t* nodes;         ///< null: 0, 1, ...
  const std::int32_t* node_offsets;  ///< null: the nodes themselves
  std::uint32_t node_max;
  std::uint32_t leading;
  std::uint32_t count;

  /// The offset behind the length of number i, or one of the two words above.
  __device__ __forceinline__ std::int64_t offset(std::uint32_t i) const {
    if (i < leading) return i;
    const std::uint32_t place = i - leading;
    std::int64_t node = nodes == nullptr ? static_cast<std::int64_t>(place) : nodes[place];
    if (node < 0) return kMalformed;
    if (node_offsets != nullptr) {
      if (node >= node_max) return kMalformed;
      node = node_offsets[node];
      if (node < 0) return kNotFed;
    }
    return node + leading;
  }

  /// Every number is its own offset.
  __device__ __forceinline__ bool is_chain() const {
    return nodes == nullptr && node_offsets == nullptr;
  }
};

/// What is kept of a sequence with `fed` temporary slots. Called by the whole block; the word is
/// everybody's behind the next barrier, `count` is right at once. Nothing of `all` beyond kept_max
/// is read.
__device__ __forceinline__ Kept kept_of(const draftproof_kv_kept& all, std::uint32_t number,
                                        std::int64_t fed, bool is_clipped, Word& word) {
  const std::uint64_t sequence = number;
  Kept kept{
      all.nodes == 0 ? nullptr : integers(all.nodes) + sequence * all.node_stride,
      all.node_offsets == 0 ? nullptr : integers(all.node_offsets) + sequence * all.offset_stride,
      all.node_max, all.leading_count, 0};
  if (fed == 0) return kept;
  const std::uint32_t count = word.told.count;
  if (count > all.kept_max) {
    word.find(Look::kCounts, DRAFTPROOF_KV_BAD_LENGTH);
    return kept;
  }
  kept.count = count + all.leading_count;
  if (is_clipped) {
    for (std::uint32_t i = threadIdx.x; i < kept.count; i += blockDim.x) {
      const std::int64_t offset = kept.offset(i);
      if (offset == Kept::kNotFed || offset >= fed) atomicMin(&word.end, i);
    }
    __syncthreads();
    kept.count = min(kept.count, word.end);
  }
  for (std::uint32_t i = threadIdx.x; i < kept.count; i += blockDim.x) {
    const std::int64_t offset = kept.offset(i);
    const std::int64_t before = i == 0 ? -1 : kept.offset(i - 1);
    if (offset < 0 || offset <= before || offset >= fed)
      word.find(Look::kCounts, DRAFTPROOF_KV_BAD_KEPT);
    if (offset != i) atomicMin(&word.moved, i);
  }
  return kept;
}

}  // namespace draftproof::gpu::kernels::kv
