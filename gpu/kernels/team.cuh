// Team: blocks that work on one row together. They meet in exchanges: every block hands in a few
// words, and goes on when it has everybody's. One exchange is one write and one read through L2,
// with no counter that blocks queue for: each block writes its words, then releases a tag beside
// them; warp 0 of every block polls the tags of all with acquire loads, a lane a block.
//
// Tags are never used twice: they count the exchanges of a team through all launches, and every
// block keeps in the workspace how far it came. So nothing has to be cleared between launches. An
// area is written again two exchanges later, which every block reaches only behind the exchange
// between, and so when all have read: two areas a block suffice.
//
// All blocks of the grid must be resident at once. Determinism: gpu_to_gpu.
#pragma once

#include <cstdint>

#include "gpu/kernels/anchor.cuh"
#include "gpu/kernels/block.cuh"
#include "gpu/kernels/locate.cuh"
#include "gpu/kernels/wide.cuh"

namespace draftproof::gpu::kernels {

inline constexpr std::uint32_t kTeamSizeMax = kWarpLanes;
inline constexpr std::uint32_t kTeamBinCount = 256;

/// First bytes of a workspace. Zero before the first launch.
struct alignas(128) TeamHeader {
  std::uint64_t launch;      ///< launches so far
  std::uint32_t left_count;  ///< blocks that have left this one
};

/// What one block hands to its team, two of them a block, so that one may be read while the next is
/// written.
struct alignas(32) TeamArea {
  std::uint64_t tag;
  Wide value;
  std::uint64_t bins[kTeamBinCount];
  std::uint64_t last_tag;  ///< of the launches before; of a block's first area only
};
static_assert(sizeof(TeamHeader) == 128 && sizeof(TeamArea) == 2080);  // as the host counts them

/// Shared memory of a team's block.
struct TeamScratch {
  Wide values[kTeamSizeMax];  ///< of the last exchange, by rank
  TeamArea* areas;            ///< of the team's first block: two a block
  std::uint64_t launch;       ///< this launch's number, from 1 on
  std::uint64_t last_tag;     ///< of the launches before
  std::uint32_t rank;
};

__device__ __forceinline__ std::uint64_t load_acquire(const std::uint64_t* from) {
  std::uint64_t value;
  asm volatile("ld.acquire.gpu.global.u64 %0, [%1];" : "=l"(value) : "l"(from) : "memory");
  return value;
}

__device__ __forceinline__ void store_release(std::uint64_t* to, std::uint64_t value) {
  asm volatile("st.release.gpu.global.u64 [%0], %1;" ::"l"(to), "l"(value) : "memory");
}

/// The last block to leave makes the workspace ready for the next launch. Called by the whole
/// block, last of all.
__device__ __forceinline__ void leave_launch(TeamHeader& header) {
  __syncthreads();
  if (threadIdx.x != 0) return;
  __threadfence();
  if (atomicAdd(&header.left_count, 1u) != gridDim.x - 1) return;
  __threadfence();
  header.left_count = 0;
  header.launch += 1;
}

/// A block's place in its team. All member functions are called by the whole block, and by all
/// blocks of the team in the same order.
struct Team {
  TeamScratch& scratch;
  std::uint32_t size;
  std::uint32_t exchange_count;  ///< in this launch

  /// Finds the block's place, first of all: blocks size * t .. size * t + size - 1 are team t.
  /// `areas` are those of block 0.
  __device__ __forceinline__ Team(const TeamHeader& header, TeamArea* areas,
                                  std::uint32_t team_size, TeamScratch& shared)
      : scratch(shared), size(team_size), exchange_count(0) {
    if (threadIdx.x == 0) {
      const std::uint32_t first = blockIdx.x / size * size;
      scratch.areas = areas + std::size_t{first} * 2;
      scratch.launch = header.launch + 1;
      scratch.rank = blockIdx.x - first;
      scratch.last_tag = areas[std::size_t{blockIdx.x} * 2].last_tag;
    }
    __syncthreads();
  }

  __device__ __forceinline__ std::uint32_t rank() const { return scratch.rank; }
  /// Where `of_rank` hands in what it has for exchange number `exchange`.
  __device__ __forceinline__ TeamArea& area(std::uint32_t of_rank, std::uint32_t exchange) const {
    return scratch.areas[of_rank * 2 + (exchange & 1)];
  }
  /// The bins to hand in with the next exchange; meaningless in a team of one.
  __device__ __forceinline__ std::uint64_t* next_bins() const {
    return area(rank(), exchange_count + 1).bins;
  }
  /// The bins that `of_rank` handed in with the last exchange.
  __device__ __forceinline__ const std::uint64_t* last_bins(std::uint32_t of_rank) const {
    return area(of_rank, exchange_count).bins;
  }

  /// Keeps the last tag for the next launch. Nothing is exchanged behind it.
  __device__ __forceinline__ void leave() const {
    if (threadIdx.x == 0) area(rank(), 0).last_tag = scratch.last_tag + exchange_count;
  }

  /// Hands in `own`, as thread 0 has it, and leaves everybody's in scratch.values. What the block's
  /// threads wrote to their bins before is handed in too.
  __device__ __forceinline__ void exchange(Wide own) {
    ++exchange_count;
    __syncthreads();  // the values of the last exchange have been read, the bins are written
    if (threadIdx.x < kWarpLanes) {
      const std::uint32_t lane = threadIdx.x;
      if (size == 1) {
        if (lane == 0) scratch.values[0] = own;
      } else {
        const std::uint64_t tag = scratch.last_tag + exchange_count;
        if (lane == 0) {
          TeamArea& mine = area(rank(), exchange_count);
          mine.value = own;
          store_release(&mine.tag, tag);
        }
        __syncwarp();
        if (lane < size) {
          const TeamArea& theirs = area(lane, exchange_count);
          while (load_acquire(&theirs.tag) != tag) {
          }
          scratch.values[lane] = theirs.value;
        }
      }
    }
    __syncthreads();
  }

  /// The largest value; valid in all threads.
  __device__ __forceinline__ std::uint64_t max_of(std::uint64_t own) {
    exchange({0, own});
    std::uint64_t result = 0;
#pragma unroll 1
    for (std::uint32_t i = 0; i < size; ++i) result = max(result, scratch.values[i].low);
    return result;
  }
};

__device__ __forceinline__ Wide widest(Wide) { return {~std::uint64_t{0}, ~std::uint64_t{0}}; }
__device__ __forceinline__ std::uint64_t widest(std::uint64_t) { return ~std::uint64_t{0}; }
__device__ __forceinline__ Wide as_wide(Wide value) { return value; }
__device__ __forceinline__ Wide as_wide(std::uint64_t value) { return {0, value}; }
__device__ __forceinline__ void narrow(Wide from, Wide& to) { to = from; }
__device__ __forceinline__ void narrow(Wide from, std::uint64_t& to) { to = from.low; }

/// Sums over a team.
template <class Number>
struct TeamSums {
  Number before;  ///< of the blocks of lower rank
  Number total;
};

/// The sums of what the blocks of the team hand in; valid in all threads.
template <class Number>
__device__ __forceinline__ TeamSums<Number> sums_of(Team& team, Number own) {
  team.exchange(as_wide(own));
  TeamSums<Number> sums{};
  std::uint32_t own_rank = team.rank();
  anchor::slices_before(own_rank);
#pragma unroll 1
  for (std::uint32_t i = 0; i < team.size; ++i) {
    Number value;
    narrow(team.scratch.values[i], value);
    if (i == own_rank) sums.before = sums.total;
    sums.total = sum(sums.total, value);
  }
  return sums;
}

/// What a team's search found, as one of its blocks sees it.
struct TeamLocated {
  bool exists;  ///< some block has found it; the same in all blocks
  Located own;  ///< found in this block's slice; valid in warp 0, an id of the slice
};

/// locate() over the slices of a team in the order of their ranks: the first id at which the
/// running sum exceeds threshold_of(sum of all weights). `count` ids in this block's slice, may be
/// 0.
template <class Number, class Weight, class ThresholdOf>
__device__ __forceinline__ TeamLocated team_locate(Team& team, std::uint32_t count,
                                                   const Weight& weight,
                                                   const ThresholdOf& threshold_of,
                                                   LocateScratch<Number>& scratch) {
  bool exists = false;
  // Where this slice must be crossed; its own sum is never above `widest`.
  const auto own_threshold_of = [&](Number own) -> Number {
    const TeamSums<Number> sums = sums_of(team, own);
    const Number threshold = threshold_of(sums.total);
    exists = less(threshold, sums.total);
    return less(threshold, sums.before) ? widest(own) : difference(threshold, sums.before);
  };
  if (count == 0) {
    own_threshold_of(Number{});
    return {exists, {false, 0}};
  }
  const Located own = locate<Number>(count, weight, own_threshold_of, scratch);
  return {exists, own};
}

}  // namespace draftproof::gpu::kernels
