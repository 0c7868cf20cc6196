// Adjustments on the device: penalties, bias, bans and masks, applied where a logit is read
// (adjusted_row.cuh has the arithmetic).
//
// Two ways to read. AdjustedRow::logit is exact for any id and needs no preparation: one binary
// search. Whoever reads a whole row prepares filters first: a bit for every id, taken modulo their
// size, that the row does something to. An id whose bit is clear passes as it is, but for the mask
// and for "allowed ids only"; the others are visited from the request's list, or searched where two
// ids may share a bit, which costs time and changes nothing. So any vocabulary fits 33 KiB of
// shared memory, exactly.
//
//   RawLogits                          no adjustments
//   FilteredLogits(filters, row)       for a row that a block reads in full
// are what row loops take as `Logits`: float logit(id, raw), for_each(row, count, visit).
// Determinism: gpu_to_gpu, for any block size, order and schedule.
#pragma once

#include <cstdint>

#include "gpu/kernels/row.cuh"
#include "gpu/kernels/shaping/adjusted_row.cuh"

namespace draftproof::gpu::kernels::shaping {

using kernels::RawLogits;  ///< no adjustments

/// Bits of the filter of touched ids: exact for vocabularies up to this size.
inline constexpr std::uint32_t kTouchBits = 1u << 18;
/// Bits of the filter of tokens behind the packed history, which may have no entry.
inline constexpr std::uint32_t kBehindBits = 1u << 12;

/// Shared memory of one row that a block reads in full.
struct AdjustedRowScratch {
  AdjustedRow row;
  std::uint32_t behind[kBehindBits / 32];
  std::uint32_t touched[kTouchBits / 32];
};

/// A logit, and whether its id has an entry.
struct SearchedLogit {
  float logit;
  bool is_listed;
};

/// One body each for all loops that read logits: they are large, and seldom run.
__device__ __noinline__ SearchedLogit searched_logit(const AdjustedRow& row, std::uint32_t id,
                                                     float raw) {
  const FoundEntry found = find_entry(row, id);
  return {row.logit(found.entry, raw), found.is_listed};
}
__device__ __noinline__ float listed_logit(const AdjustedRow& row, std::uint32_t index, float raw) {
  return row.logit(row.entries[index], raw);
}

/// A prepared row.
struct FilteredLogits {
  static constexpr bool kIsSearched = true;

  const AdjustedRowScratch* scratch;
  const std::uint32_t* mask;
  std::uint32_t entry_count;
  bool bans_others;  ///< an id without an entry is not allowed

  __device__ __forceinline__ bool is_touched(std::uint32_t id) const {
    const std::uint32_t bit = id % kTouchBits;
    return (scratch->touched[bit / 32] >> (bit % 32) & 1u) != 0;
  }
  /// Of an id that the row does nothing to by itself.
  __device__ __forceinline__ float untouched(std::uint32_t id, float raw) const {
    const bool is_allowed = mask == nullptr || (mask[id / 32] >> (id % 32) & 1u) != 0;
    return bans_others || !is_allowed ? -__builtin_huge_valf() : raw;
  }

  __device__ __forceinline__ float logit(std::uint32_t id, float raw) const {
    return is_touched(id) ? searched_logit(scratch->row, id, raw).logit : untouched(id, raw);
  }

  /// As for_each_element, adjusted. Ids with an entry are left out of the sweep, where they would
  /// hold up a warp each, and visited behind it, a thread an entry.
  template <class Element, class Visit>
  __device__ __forceinline__ void for_each(const Element* row, std::uint32_t count,
                                           const Visit& visit) const {
    const bool is_exact = count <= kTouchBits;
    for_each_element(row, count, [&](std::uint32_t id, float raw) {
      if (!is_touched(id)) {
        visit(id, untouched(id, raw));
        return;
      }
      const std::uint32_t bit = id % kBehindBits;
      if (is_exact && (scratch->behind[bit / 32] >> (bit % 32) & 1u) == 0) return;
      const SearchedLogit found = searched_logit(scratch->row, id, raw);
      if (!found.is_listed) visit(id, found.logit);
    });
#pragma unroll 1
    for (std::uint32_t i = threadIdx.x; i < entry_count; i += blockDim.x) {
      const std::uint32_t id = scratch->row.entries[i].id;
      if (id < count) visit(id, listed_logit(scratch->row, i, widened(row[id])));
    }
  }
};

__device__ __forceinline__ void touch(AdjustedRowScratch& scratch, std::uint32_t id) {
  const std::uint32_t bit = id % kTouchBits;
  atomicOr(&scratch.touched[bit / 32], 1u << (bit % 32));
}

/// Called by the whole block.
__device__ __forceinline__ void clear_filters(AdjustedRowScratch& scratch,
                                              std::uint32_t vocab_size) {
  const std::uint32_t words = (min(vocab_size, kTouchBits) + 31) / 32;
  for (std::uint32_t i = threadIdx.x; i < words; i += blockDim.x) scratch.touched[i] = 0;
  for (std::uint32_t i = threadIdx.x; i < kBehindBits / 32; i += blockDim.x) scratch.behind[i] = 0;
}

/// Prepares `row` for a block that reads all of it. Called by the whole block, with equal
/// arguments; what was prepared before is gone.
__device__ __forceinline__ FilteredLogits prepare(const AdjustedRow& row, std::uint32_t vocab_size,
                                                  AdjustedRowScratch& scratch) {
  __syncthreads();  // the row before has been read
  clear_filters(scratch, vocab_size);
  const bool bans_others = row.has_step(DRAFTPROOF_ADJUST_ALLOWED_IDS);
  if (threadIdx.x == 0) scratch.row = row;
  __syncthreads();
  const std::uint32_t entry_count = row.request->entry_count;
  for (std::uint32_t i = threadIdx.x; i < entry_count; i += blockDim.x) {
    const std::uint32_t id = row.entries[i].id;
    if (id < vocab_size) touch(scratch, id);
  }
  if (threadIdx.x == 0 && row.has_step(DRAFTPROOF_ADJUST_PENALTIES))
    row.for_each_behind(row.has(DRAFTPROOF_PENALTIES_FROZEN), row.request->window,
                        [&](std::int32_t token) {
                          const std::uint32_t id = static_cast<std::uint32_t>(token);
                          if (id >= vocab_size) return;  // no row behind it will be asked for
                          touch(scratch, id);
                          scratch.behind[id % kBehindBits / 32] |= 1u << (id % 32);
                        });
  __syncthreads();
  return {&scratch, row.mask, entry_count, bans_others};
}

/// A row without adjustments, for kernels that read others with theirs. Called by the whole block.
__device__ __forceinline__ FilteredLogits unadjusted(std::uint32_t vocab_size,
                                                     AdjustedRowScratch& scratch) {
  clear_filters(scratch, vocab_size);
  __syncthreads();
  return {&scratch, nullptr, 0, false};
}

}  // namespace draftproof::gpu::kernels::shaping
