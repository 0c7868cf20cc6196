// Tree walk: how a rule goes down a draft tree, and what is written when it has stopped. Shared by
// the rules for trees, which differ in how they judge one place (reference/verify/tree_walk.h is
// the order of judging).
//
// A request's nodes are its drafted tokens; node i continues parents[i] < i, or the base for -1. A
// warp finds the children of a node by looking at 32 later nodes at a time, so that no list has to
// be made first; they come in ascending order, which is the order in which they are tried. Numbers
// grow along every path, so that a walk ends whatever the parents say; a tree with a parent that is
// no earlier node is malformed and is not walked at all.
//
// The functions below are called by whole warps. When several warps of a block call them, all do so
// with the same arguments and judge alike, and the walk is the block's.
#pragma once

#include <cstdint>

#include "gpu/kernels/verify/request.cuh"
#include "gpu/kernels/verify/tree_anchor.cuh"
#include "gpu/kernels/verify/walk.cuh"

namespace draftproof::gpu::kernels::verify {

inline constexpr std::int32_t kBase = -1;

/// One request's draft as a tree.
struct Tree {
  const std::int32_t* parents;  ///< null: each node continues the one before it
  const std::int32_t* tokens;
  std::uint32_t count;
  std::uint32_t capacity;
  std::uint32_t vocab_size;

  __device__ __forceinline__ std::int32_t parent(std::uint32_t node) const {
    return parents == nullptr ? static_cast<std::int32_t>(node) - 1 : parents[node];
  }

  /// True when there are more nodes than slots, or a parent is no earlier node.
  __device__ __forceinline__ bool is_malformed() const {
    if (count > capacity) return true;
    if (parents == nullptr) return false;
    bool is_bad = false;
    for (std::uint32_t node = threadIdx.x % kWarpLanes; node < count; node += kWarpLanes) {
      // -1 becomes 0, node - 1 becomes node; what is below -1 wraps around.
      std::uint32_t row = static_cast<std::uint32_t>(parents[node]) + 1;
      tree_anchor::parent_row(row, node);
      is_bad = is_bad || row > node;
    }
    return __any_sync(0xffffffffu, is_bad) != 0;
  }
};

__device__ __forceinline__ Tree tree_of(const draftproof_verify_arguments& arguments,
                                        std::uint32_t request) {
  const Drafts drafts = drafts_told(arguments, request);
  const std::int32_t* parents = at<const std::int32_t>(arguments.parents);
  if (parents != nullptr) parents += draft_slot(request, 0, arguments.padded_draft_count);
  return {parents, drafts.tokens, drafts.count, arguments.padded_draft_count, drafts.vocab_size};
}

/// The coins of request `index`, with the columns of trees; iteration 0.
__device__ __forceinline__ CoinSource tree_coins_of(const draftproof_verify_arguments& arguments,
                                                    std::uint32_t index) {
  CoinSource coins = coins_of(arguments, index);
  coins.columns = kTreeCoinColumns;
  return coins;
}

/// A node that a walk has come to.
struct Place {
  std::int32_t node;    ///< kBase: nothing of the draft is taken
  std::uint32_t depth;  ///< drafted tokens that lead to it, itself counted

  /// The target row behind it, and the slot of its coins.
  __device__ __forceinline__ std::uint32_t row() const {
    return static_cast<std::uint32_t>(node + 1);
  }
};

/// What one lane sees of 32 nodes in search of the children of a place.
struct Child {
  bool is_child;  ///< this lane's node is a child, and is there
  std::uint32_t node;
  std::uint32_t token;    ///< of a child; may be no token id
  std::uint32_t sibling;  ///< its number among the children
};

/// Calls visit(first, child) with `child` of each lane for the nodes first .. first + 31 and so on,
/// as long as it answers true.
template <class Visit>
__device__ __forceinline__ void for_children(const Tree& tree, const Place& place,
                                             const Visit& visit) {
  const std::uint32_t lane = threadIdx.x % kWarpLanes;
  // In a chain there is one child at most, and it is the next node.
  const std::uint32_t end = tree.parents == nullptr ? min(tree.count, place.row() + 1) : tree.count;
  std::uint32_t before = 0;
#pragma unroll 1
  for (std::uint32_t first = place.row(); first < end; first += kWarpLanes) {
    Child child{false, first + lane, 0, 0};
    if (child.node < end && tree.parent(child.node) == place.node) {
      const std::int32_t token = tree.tokens[child.node];
      child.is_child = token != kNoToken;
      child.token = static_cast<std::uint32_t>(token);
    }
    const std::uint32_t children = __ballot_sync(0xffffffffu, child.is_child);
    child.sibling = before + __popc(children & ((1u << lane) - 1));
    if (children != 0 && !visit(first, child)) return;
    before += __popc(children);
  }
}

/// How many children a place has, and whether all their tokens are token ids.
struct Children {
  std::uint32_t count;
  bool are_tokens;
};

__device__ __forceinline__ Children children_of(const Tree& tree, const Place& place) {
  Children all{0, true};
  for_children(tree, place, [&](std::uint32_t, const Child& child) {
    const bool is_odd = child.is_child && child.token >= tree.vocab_size;
    if (__any_sync(0xffffffffu, is_odd) != 0) all.are_tokens = false;
    all.count += __popc(__ballot_sync(0xffffffffu, child.is_child));
    return all.are_tokens;
  });
  return all;
}

/// The first child of a place from node `from` on. Precondition: there is one.
__device__ __forceinline__ std::uint32_t next_child(const Tree& tree, const Place& place,
                                                    std::uint32_t from) {
#pragma unroll 1
  for (;; from += kWarpLanes) {
    const std::uint32_t node = from + threadIdx.x % kWarpLanes;
    const bool is_child =
        node < tree.count && tree.parent(node) == place.node && tree.tokens[node] != kNoToken;
    const std::uint32_t children = __ballot_sync(0xffffffffu, is_child);
    if (children != 0)
      return from + static_cast<std::uint32_t>(__ffs(static_cast<int>(children))) - 1;
  }
}

/// The first of the children that `lanes` marks among the nodes first .. first + 31.
__device__ __forceinline__ std::uint32_t first_marked(std::uint32_t first, std::uint32_t lanes) {
  tree_anchor::marked_children(lanes);
  return first + static_cast<std::uint32_t>(__ffs(static_cast<int>(lanes))) - 1;
}

/// What a rule says at a place: kAccepted and a child, or why it is the last place.
struct TreeStep {
  Answer answer;
  Status status;
  std::uint32_t child;  ///< a node
};

__device__ __forceinline__ TreeStep takes(std::uint32_t child) {
  return {Answer::kAccepted, Status::kOk, child};
}
/// One more token is drawn: the bonus where there are no children, else the recovered one.
__device__ __forceinline__ TreeStep ends(const Children& children) {
  return {children.count == 0 ? Answer::kDraftEnded : Answer::kRejected, Status::kOk, 0};
}
__device__ __forceinline__ TreeStep fails(Status status) {
  return {Answer::kCannotBeJudged, status, 0};
}

/// Where a walk stopped, and why.
struct TreeStop {
  Place place;
  Answer answer;  ///< never kAccepted
  Status status;

  __device__ __forceinline__ bool draws() const { return answer != Answer::kCannotBeJudged; }
};

/// Where a rule for trees writes.
struct TreeOutput {
  Output tokens;        ///< slot_count = node_slots + 1
  std::int32_t* nodes;  ///< of this request
  std::uint32_t node_slots;
};

__device__ __forceinline__ TreeOutput tree_output_of(const draftproof_verify_arguments& arguments,
                                                     std::uint32_t request) {
  return {output_of(arguments, request),
          at<std::int32_t>(arguments.accepted_nodes) +
              draft_slot(request, 0, arguments.padded_draft_count),
          arguments.padded_draft_count};
}

/// Walks down from the base. judge(place, children) answers for a place whose children carry token
/// ids. The accepted tokens are written on the way, by the block's first thread.
template <class Judge>
__device__ __forceinline__ TreeStop walk_tree(const Tree& tree, const TreeOutput& output,
                                              const Judge& judge) {
  Place place{kBase, 0};
  if (tree.is_malformed()) return {place, Answer::kCannotBeJudged, Status::kMalformedTree};
#pragma unroll 1
  while (true) {
    const Children children = children_of(tree, place);
    if (!children.are_tokens) return {place, Answer::kCannotBeJudged, Status::kDraftTokenRange};
    const TreeStep step = judge(place, children);
    if (step.answer != Answer::kAccepted) return {place, step.answer, step.status};
    if (threadIdx.x == 0) {
      output.tokens.tokens[place.depth] = tree.tokens[step.child];
      output.tokens.reasons[place.depth] = static_cast<std::int32_t>(ReasonCode::kAccepted);
      output.nodes[place.depth] = static_cast<std::int32_t>(step.child);
    }
    place = {static_cast<std::int32_t>(step.child), place.depth + 1};
  }
}

/// Writes kNoToken behind what the walk and write_tree_outcome write. Called by the whole block.
__device__ __forceinline__ void write_tree_rest(const TreeOutput& output, const TreeStop& stop) {
  const std::uint32_t first = stop.place.depth + (stop.draws() ? 1 : 0);
  for (std::uint32_t slot = first + threadIdx.x; slot < output.tokens.slot_count;
       slot += blockDim.x) {
    output.tokens.tokens[slot] = kNoToken;
    output.tokens.reasons[slot] = static_cast<std::int32_t>(ReasonCode::kNone);
  }
  for (std::uint32_t slot = stop.place.depth + threadIdx.x; slot < output.node_slots;
       slot += blockDim.x)
    output.nodes[slot] = kNoToken;
}

/// Writes the drawn token, if there is one, and the outcome. Called by one thread.
__device__ __forceinline__ void write_tree_outcome(const TreeOutput& output, const TreeStop& stop,
                                                   const Located& drawn) {
  write_outcome(output.tokens, {stop.place.depth, stop.answer, stop.status}, drawn);
  // A status stands at a target row, which in a tree is not the number of tokens before it.
  if (output.tokens.outcome->status != 0) output.tokens.outcome->status_position = stop.place.row();
}

}  // namespace draftproof::gpu::kernels::verify
