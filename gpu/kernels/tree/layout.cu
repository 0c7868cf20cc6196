// Layout of draft trees on the device (reference/tree/layout.h says what it is). One block a
// request; one warp suits up to 64 nodes.
//
// Nothing is followed before every parent is known to lie below its node, so that each step up is a
// step down in number and every walk ends. A thread walks up from each of its nodes: it meets the
// ancestors in descending order, so that it writes its mask row word by word, each word once. Child
// links come from the last 32 nodes to the first: within them lanes with the same parent meet by
// one match, and first_children holds what lies behind. Determinism: gpu_to_gpu, for every block
// size (a multiple of 32 up to 1,024), order and schedule.
#include <cstdint>

#include "gpu/kernels/arguments/tree.h"
#include "gpu/kernels/block.cuh"
#include "gpu/kernels/layout.h"
#include "gpu/kernels/status.cuh"
#include "gpu/kernels/tree/anchor.cuh"

namespace draftproof::gpu::kernels::tree {

inline constexpr std::int32_t kNone = -1;
/// In place of a parent: the node is a placeholder. In place of a sibling: the node is not there.
inline constexpr std::int32_t kAbsent = -2;
/// So many nodes have their links in shared memory; those of the others are read again.
inline constexpr std::uint32_t kStagedNodes = 1024;

struct Scratch {
  std::int32_t links[kStagedNodes];
  BlockScratch block;
};

/// One row of a mask, written from its last word to its first.
struct MaskRow {
  std::uint64_t* words;
  std::uint32_t word;
  std::uint64_t bits;

  /// Precondition: below every node marked before.
  __device__ __forceinline__ void mark(std::uint32_t node) {
    for (; word > node / 64; --word) flush();
    bits |= std::uint64_t{1} << (node % 64);
  }
  __device__ __forceinline__ void flush() {
    words[word] = bits;
    bits = 0;
  }
  __device__ __forceinline__ void finish() {
    for (; word > 0; --word) flush();
    flush();
  }
};

/// The tree of one request; null where an argument is.
struct Tree {
  const std::int32_t* parents;
  const std::int32_t* tokens;
  std::uint32_t count;
  std::uint32_t base;
  std::int32_t* depths;
  std::int32_t* positions;
  std::int32_t* first_children;
  std::int32_t* next_siblings;
  std::uint64_t* masks;
  std::uint32_t mask_words;
  Scratch& scratch;

  __device__ __forceinline__ std::int32_t read_link(std::uint32_t node) const {
    return tokens != nullptr && tokens[node] == kNoToken ? kAbsent : parents[node];
  }
  __device__ __forceinline__ std::int32_t link(std::uint32_t node) const {
    return node < kStagedNodes ? scratch.links[node] : read_link(node);
  }

  /// Stages links; true in all threads when a parent does not lie below its node.
  __device__ __forceinline__ bool is_malformed() const {
    bool is_bad = false;
    for (std::uint32_t node = threadIdx.x; node < count; node += blockDim.x) {
      // -1 becomes 0, node - 1 becomes node; what is below -1 wraps around.
      std::uint32_t row = static_cast<std::uint32_t>(parents[node]) + 1;
      anchor::parent_row(row, node);
      is_bad = is_bad || row > node;
      if (node < kStagedNodes) scratch.links[node] = read_link(node);
    }
    return __syncthreads_or(is_bad) != 0;
  }

  __device__ __forceinline__ void write_node(std::uint32_t node, std::int32_t depth) const {
    const bool is_there = depth >= 0;
    if (depths != nullptr) depths[node] = depth;
    if (positions != nullptr)
      positions[node] =
          is_there ? static_cast<std::int32_t>(base + static_cast<std::uint32_t>(depth)) : kNone;
    next_siblings[node] = is_there ? kNone : kAbsent;
    first_children[node + 1] = kNone;
    if (is_there || masks == nullptr) return;
    for (std::uint32_t word = 0; word < mask_words; ++word)
      masks[std::uint64_t{node} * mask_words + word] = 0;
  }

  /// Depth of a node, and its mask when it is there; -1: it is not there.
  __device__ __forceinline__ std::int32_t walk_up(std::uint32_t node) const {
    std::uint32_t row_of = node;
    anchor::mask_row(row_of);
    MaskRow row{masks + std::uint64_t{row_of} * mask_words, mask_words - 1, 0};
    std::int32_t depth = -1;
    for (std::int32_t at = static_cast<std::int32_t>(node); at != kNone;) {
      const std::int32_t up = link(static_cast<std::uint32_t>(at));
      if (up == kAbsent) return -1;
      if (masks != nullptr) row.mark(static_cast<std::uint32_t>(at));
      ++depth;
      at = up;
    }
    if (masks != nullptr) row.finish();
    return depth;
  }

  /// Called by one warp, behind write_node of all nodes.
  __device__ __forceinline__ void link_children() const {
    const std::uint32_t lane = threadIdx.x % kWarpLanes;
#pragma unroll 1
    for (std::uint32_t end = (count + kWarpLanes - 1) / kWarpLanes; end > 0; --end) {
      const std::uint32_t first = (end - 1) * kWarpLanes;
      const std::uint32_t node = first + lane;
      const bool is_there = node < count && next_siblings[node] != kAbsent;
      const std::int32_t parent = is_there ? link(node) : kAbsent;
      const std::uint32_t peers = __match_any_sync(0xffffffffu, parent);
      const std::uint32_t later = peers & (0xfffffffeu << lane);
      std::int32_t next = kNone;
      if (is_there)
        next = later != 0 ? static_cast<std::int32_t>(first) + __ffs(static_cast<int>(later)) - 1
                          : first_children[parent + 1];
      __syncwarp();  // what lies behind has been read
      if (node < count) next_siblings[node] = next;
      if (is_there && (peers & ((1u << lane) - 1)) == 0)
        first_children[parent + 1] = static_cast<std::int32_t>(node);
      __syncwarp();
    }
  }

  /// True in all threads when two siblings carry one token. Cost: each node looks at its later
  /// siblings, so that k siblings with k tokens take k (k - 1) / 2 looks, the first of them k - 1
  /// in one thread. Drafts have tens of siblings; of 65,536 the looks would be 2^31.
  __device__ __forceinline__ bool has_equal_siblings() const {
    bool is_met = false;
    for (std::uint32_t node = threadIdx.x; node < count; node += blockDim.x) {
      const std::int32_t token = tokens[node];
      for (std::int32_t other = next_siblings[node]; other != kNone && !is_met;
           other = next_siblings[other])
        is_met = tokens[other] == token;
    }
    return __syncthreads_or(is_met) != 0;
  }

  /// No node is there. Called by the whole block, as is the next one.
  __device__ __forceinline__ draftproof_tree_record clear(std::uint32_t flags) const {
    for (std::uint32_t node = threadIdx.x; node < count; node += blockDim.x) {
      write_node(node, -1);
      next_siblings[node] = kNone;
    }
    if (threadIdx.x == 0) first_children[0] = kNone;
    return {static_cast<std::uint32_t>(Status::kMalformedTree), 0, 0, flags};
  }

  __device__ __forceinline__ draftproof_tree_record lay_out(bool refuses_equals) const {
    if (is_malformed()) return clear(0);
    std::uint32_t nodes = 0, levels = 0;
    for (std::uint32_t node = threadIdx.x; node < count; node += blockDim.x) {
      const std::int32_t depth = walk_up(node);
      write_node(node, depth);
      nodes += depth >= 0 ? 1 : 0;
      levels = max(levels, static_cast<std::uint32_t>(depth + 1));
    }
    if (threadIdx.x == 0) first_children[0] = kNone;
    nodes = static_cast<std::uint32_t>(block_sum(nodes, scratch.block));
    levels = block_max(levels, scratch.block);
    if (threadIdx.x < kWarpLanes) link_children();
    __syncthreads();
    std::uint32_t flags = 0;
    if (tokens != nullptr && has_equal_siblings()) flags = DRAFTPROOF_EQUAL_SIBLINGS;
    if (flags != 0 && refuses_equals) return clear(flags);
    return {static_cast<std::uint32_t>(Status::kOk), nodes, levels, flags};
  }
};

template <class T>
__device__ __forceinline__ T* at(draftproof_pointer pointer, std::uint64_t index) {
  return pointer == 0 ? nullptr : reinterpret_cast<T*>(pointer) + index;
}

}  // namespace draftproof::gpu::kernels::tree

/// One block a request, a multiple of 32 threads up to 1,024.
extern "C" __global__ void __launch_bounds__(1024, 1)
    draftproof_tree_layout(const __grid_constant__ draftproof_tree_layout_arguments arguments) {
  using namespace draftproof::gpu::kernels;
  using namespace draftproof::gpu::kernels::tree;
  __shared__ Scratch scratch;
  const std::uint64_t request = blockIdx.x;
  const std::uint64_t first = request * arguments.node_capacity;
  const std::uint32_t count = *reinterpret_cast<const std::uint32_t*>(
      arguments.node_counts + request * arguments.node_count_stride);
  const std::uint32_t base =
      arguments.base_positions == 0
          ? 0
          : *reinterpret_cast<const std::uint32_t*>(arguments.base_positions +
                                                    request * arguments.base_position_stride);
  const bool fits = count <= arguments.node_capacity;
  const Tree tree{at<const std::int32_t>(arguments.parents, first),
                  at<const std::int32_t>(arguments.tokens, first),
                  fits ? count : arguments.node_capacity,
                  base,
                  at<std::int32_t>(arguments.depths, first),
                  at<std::int32_t>(arguments.positions, first),
                  at<std::int32_t>(arguments.first_children, first + request),
                  at<std::int32_t>(arguments.next_siblings, first),
                  at<std::uint64_t>(arguments.ancestor_masks, first * arguments.mask_words),
                  arguments.mask_words,
                  scratch};
  const draftproof_tree_record record =
      fits ? tree.lay_out(arguments.equal_siblings_are_malformed != 0) : tree.clear(0);
  if (threadIdx.x == 0) *at<draftproof_tree_record>(arguments.records, request) = record;
}
