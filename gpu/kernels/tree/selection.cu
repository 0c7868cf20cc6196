// Selection from draft trees on the device (reference/tree/selection.h is the rule). One block a
// request; one warp suits up to 64 candidates.
//
// What a candidate counts for is the least key on its path, so that a selection by key is closed.
// The key of the last one to stay is found by four rounds over eight bits each; of the candidates
// at that key the lowest numbers stay. One warp then walks the candidates in order and numbers
// those that stay, and parents are looked up among them by bisection, so that nothing of the size
// of the candidates is written. Determinism: gpu_to_gpu, for every block size (a multiple of 32 up
// to 1,024), order and schedule: all is integers.
#include <cstdint>

#include "gpu/kernels/arguments/tree.h"
#include "gpu/kernels/block.cuh"
#include "gpu/kernels/layout.h"
#include "gpu/kernels/mass.cuh"
#include "gpu/kernels/status.cuh"
#include "gpu/kernels/tree/anchor.cuh"

namespace draftproof::gpu::kernels::tree {

inline constexpr std::uint32_t kBins = 256;
/// So many candidates have their keys in shared memory; those of the others are found again.
inline constexpr std::uint32_t kStagedKeys = 2048;
/// Keys that no score has: of a candidate that is not there, below all; of NaN, above all.
inline constexpr std::uint32_t kAbsentKey = 0;
inline constexpr std::uint32_t kNanKey = 0xffffffffu;

struct SelectionScratch {
  std::uint32_t keys[kStagedKeys];
  std::uint32_t bins[kBins];
  std::uint32_t digit;
  std::uint32_t above;  ///< candidates of greater digits
  BlockScratch block;
};

/// The candidates of one request.
struct Candidates {
  const std::int32_t* parents;
  const std::int32_t* tokens;  ///< nullable
  const float* scores;
  std::uint32_t count;
  SelectionScratch& scratch;

  __device__ __forceinline__ bool is_malformed() const {
    bool is_bad = false;
    for (std::uint32_t node = threadIdx.x; node < count; node += blockDim.x) {
      // -1 becomes 0, node - 1 becomes node; what is below -1 wraps around.
      std::uint32_t row = static_cast<std::uint32_t>(parents[node]) + 1;
      anchor::parent_row(row, node);
      is_bad = is_bad || row > node;
    }
    return __syncthreads_or(is_bad) != 0;
  }

  /// The least key on a candidate's path; kNanKey: a NaN is on it; kAbsentKey: it is not there.
  __device__ __forceinline__ std::uint32_t find_key(std::uint32_t node) const {
    std::uint32_t least = kNanKey, own = kNanKey;
    bool is_nan = false;
    for (std::int32_t at = static_cast<std::int32_t>(node); at >= 0; at = parents[at]) {
      if (tokens != nullptr && tokens[at] == kNoToken) return kAbsentKey;
      const float score = scores[at];
      is_nan = is_nan || score != score;
      const std::uint32_t met = score == score ? key_of(score) : kNanKey;
      if (at == static_cast<std::int32_t>(node)) own = met;
      least = min(least, met);
    }
    anchor::least_key(least, own);
    return is_nan ? kNanKey : least;
  }
  __device__ __forceinline__ std::uint32_t key(std::uint32_t node) const {
    return node < kStagedKeys ? scratch.keys[node] : find_key(node);
  }

  __device__ __forceinline__ std::uint32_t levels_to(std::uint32_t node) const {
    std::uint32_t levels = 0;
    for (std::int32_t at = static_cast<std::int32_t>(node); at >= 0; at = parents[at]) ++levels;
    return levels;
  }
};

/// What stays: greater keys, and the first `ties` of the boundary key.
struct Boundary {
  std::uint32_t key;
  std::uint32_t ties;
};

/// Finds the greatest digit with `keep` candidates at it and above. Called by one warp, whose lanes
/// look at eight bins each, the greatest digits first.
__device__ __forceinline__ void find_digit(std::uint32_t keep, SelectionScratch& scratch) {
  constexpr std::uint32_t kOwn = kBins / kWarpLanes;
  const std::uint32_t last = kBins - 1 - threadIdx.x * kOwn;
  std::uint32_t own = 0;
  for (std::uint32_t i = 0; i < kOwn; ++i) own += scratch.bins[last - i];
  const std::uint64_t through = warp_prefix(std::uint64_t{own});
  if (through < keep || through - own >= keep) return;
  std::uint32_t above = static_cast<std::uint32_t>(through) - own;
  std::uint32_t digit = last;
  for (; above + scratch.bins[digit] < keep; --digit) above += scratch.bins[digit];
  scratch.digit = digit;
  scratch.above = above;
}

/// The boundary that leaves `keep` candidates. Precondition: 0 < keep <= candidates that are there.
/// Called by the whole block.
__device__ __forceinline__ Boundary boundary_of(const Candidates& all, std::uint32_t keep) {
  SelectionScratch& scratch = all.scratch;
  std::uint32_t prefix = 0;
#pragma unroll 1
  for (int shift = 24; shift >= 0; shift -= 8) {
    for (std::uint32_t bin = threadIdx.x; bin < kBins; bin += blockDim.x) scratch.bins[bin] = 0;
    __syncthreads();
    for (std::uint32_t node = threadIdx.x; node < all.count; node += blockDim.x) {
      const std::uint32_t key = all.key(node);
      // At first every key matches: all 32 bits are shifted out, in two steps.
      if (key != kAbsentKey && (key >> shift >> 8) == prefix)
        atomicAdd(&scratch.bins[(key >> shift) & 255], 1u);
    }
    __syncthreads();
    if (threadIdx.x < kWarpLanes) find_digit(keep, scratch);
    __syncthreads();
    prefix = prefix << 8 | scratch.digit;
    keep -= scratch.above;
    __syncthreads();  // the next round may write them
  }
  return {prefix, keep};
}

/// Numbers what stays, in order. Called by one warp.
__device__ __forceinline__ void number(const Candidates& all, const Boundary& boundary,
                                       std::int32_t* kept_candidates, std::int32_t* kept_tokens) {
  const std::uint32_t below = (1u << threadIdx.x % kWarpLanes) - 1;
  std::uint32_t kept_before = 0, ties_before = 0;
#pragma unroll 1
  for (std::uint32_t first = 0; first < all.count; first += kWarpLanes) {
    const std::uint32_t node = first + threadIdx.x % kWarpLanes;
    const std::uint32_t key = node < all.count ? all.key(node) : kAbsentKey;
    const std::uint32_t ties = __ballot_sync(0xffffffffu, key == boundary.key);
    std::uint32_t before = ties_before + __popc(ties & below);
    anchor::ties_before(before, boundary.ties);
    const bool stays = key > boundary.key || (key == boundary.key && before < boundary.ties);
    const std::uint32_t staying = __ballot_sync(0xffffffffu, stays);
    if (stays) {
      const std::uint32_t slot = kept_before + __popc(staying & below);
      kept_candidates[slot] = static_cast<std::int32_t>(node);
      if (kept_tokens != nullptr) kept_tokens[slot] = all.tokens[node];
    }
    kept_before += __popc(staying);
    ties_before += __popc(ties);
  }
}

/// The number of `candidate` among the kept ones, where it is.
__device__ __forceinline__ std::int32_t number_of(const std::int32_t* kept_candidates,
                                                  std::uint32_t count, std::int32_t candidate) {
  std::uint32_t begin = 0;
  for (std::uint32_t end = count; end - begin > 1;) {
    const std::uint32_t middle = begin + (end - begin) / 2;
    if (kept_candidates[middle] <= candidate)
      begin = middle;
    else
      end = middle;
  }
  return static_cast<std::int32_t>(begin);
}

__device__ __forceinline__ draftproof_tree_record selected(Status status, std::uint32_t nodes,
                                                           std::uint32_t levels) {
  return {static_cast<std::uint32_t>(status), nodes, levels, 0};
}

/// Where the selected nodes go.
struct Kept {
  std::int32_t* candidates;
  std::int32_t* parents;
  std::int32_t* tokens;  ///< nullable
};

/// Called by the whole block.
__device__ __forceinline__ draftproof_tree_record select_nodes(const Candidates& all,
                                                               std::uint32_t keep,
                                                               const Kept& kept) {
  if (all.is_malformed()) return selected(Status::kMalformedTree, 0, 0);
  std::uint32_t there = 0;
  bool is_nan = false;
  for (std::uint32_t node = threadIdx.x; node < all.count; node += blockDim.x) {
    const std::uint32_t key = all.find_key(node);
    if (node < kStagedKeys) all.scratch.keys[node] = key;
    there += key != kAbsentKey ? 1 : 0;
    is_nan = is_nan || key == kNanKey;
  }
  if (__syncthreads_or(is_nan) != 0) return selected(Status::kNan, 0, 0);
  there = static_cast<std::uint32_t>(block_sum(there, all.scratch.block));
  const std::uint32_t count = min(there, keep);
  if (count == 0) return selected(Status::kOk, 0, 0);
  const Boundary boundary = boundary_of(all, count);
  if (threadIdx.x < kWarpLanes) number(all, boundary, kept.candidates, kept.tokens);
  __syncthreads();
  std::uint32_t levels = 0;
  for (std::uint32_t node = threadIdx.x; node < count; node += blockDim.x) {
    const std::int32_t candidate = kept.candidates[node];
    const std::int32_t parent = all.parents[candidate];
    kept.parents[node] = parent < 0 ? -1 : number_of(kept.candidates, count, parent);
    levels = max(levels, all.levels_to(static_cast<std::uint32_t>(candidate)));
  }
  return selected(Status::kOk, count, block_max(levels, all.scratch.block));
}

template <class T>
__device__ __forceinline__ T* entry_of(draftproof_pointer pointer, std::uint64_t index) {
  return pointer == 0 ? nullptr : reinterpret_cast<T*>(pointer) + index;
}

}  // namespace draftproof::gpu::kernels::tree

/// One block a request, a multiple of 32 threads up to 1,024.
extern "C" __global__ void __launch_bounds__(1024, 1)
    draftproof_tree_select(const __grid_constant__ draftproof_tree_selection_arguments arguments) {
  using namespace draftproof::gpu::kernels;
  using namespace draftproof::gpu::kernels::tree;
  __shared__ SelectionScratch scratch;
  const std::uint64_t request = blockIdx.x;
  const std::uint64_t first = request * arguments.candidate_capacity;
  const std::uint64_t first_kept = request * arguments.keep_capacity;
  const std::uint32_t count = *reinterpret_cast<const std::uint32_t*>(
      arguments.candidate_counts + request * arguments.candidate_count_stride);
  std::uint32_t keep = arguments.keep_capacity;
  if (arguments.keep_counts != 0)
    keep = min(keep, *reinterpret_cast<const std::uint32_t*>(
                         arguments.keep_counts + request * arguments.keep_count_stride));
  const Candidates all{entry_of<const std::int32_t>(arguments.parents, first),
                       entry_of<const std::int32_t>(arguments.tokens, first),
                       entry_of<const float>(arguments.scores, first), count, scratch};
  const Kept kept{entry_of<std::int32_t>(arguments.kept_candidates, first_kept),
                  entry_of<std::int32_t>(arguments.kept_parents, first_kept),
                  entry_of<std::int32_t>(arguments.kept_tokens, first_kept)};
  const draftproof_tree_record record = count <= arguments.candidate_capacity
                                            ? select_nodes(all, keep, kept)
                                            : selected(Status::kMalformedTree, 0, 0);
  if (threadIdx.x == 0) *entry_of<draftproof_tree_record>(arguments.records, request) = record;
}
