// Layout of a draft tree: what a target forward and a rule need of it, made of nothing but each
// node's parent. Depths and positions feed position embeddings, ancestor masks feed tree attention
// (Miao et al., "SpecInfer", ASPLOS 2024; Cai et al., "Medusa", ICML 2024), first children and next
// siblings are how a rule walks down (reference/verify/tree_walk.h says what a node is).
//
// Node i continues node parents[i] < i, or nothing of the draft (-1). A kPlaceholder is not there,
// nor is what continues it. A node has
//   depth     how many drafted tokens it continues: 0 for those with parent -1
//   position  base + depth, of its own token; base is the position of the first drafted token
//   siblings  the nodes with the same parent that are there, in ascending order
//   mask      the nodes it may look at: itself and all that it continues
// A tree with parents[i] >= i or parents[i] < -1 anywhere, or with more nodes than there is room
// for, is malformed: nothing of it is there, and nobody follows its parents. Every cycle has such a
// parent, and so has a node whose parent is missing.
#pragma once

#include <cstdint>
#include <vector>

#include "reference/status.h"
#include "reference/token.h"

namespace draftproof::reference::tree {

/// A draft tree as it was handed over, not looked at yet.
struct DraftTree {
  std::vector<std::int32_t> parents;
  std::vector<Token> tokens;  ///< one a node; empty: every node is there, and none has an equal
  std::uint32_t base = 0;     ///< position of the first drafted token
};

struct LayoutRule {
  std::size_t node_capacity = 0;              ///< nodes that there is room for
  bool equal_siblings_are_malformed = false;  ///< most rules take siblings with equal tokens
};

/// Of a node that is not there: depth, position and next sibling -1, mask empty. Vectors have one
/// entry a node, and no more than node_capacity; first_children one more, entry i + 1 for node i
/// and entry 0 for what continues nothing of the draft.
struct Layout {
  Status status = Status::kOk;  ///< or kMalformedTree
  std::vector<std::int32_t> depths;
  std::vector<std::int32_t> positions;       ///< modulo 2^32
  std::vector<std::int32_t> first_children;  ///< -1: none
  std::vector<std::int32_t> next_siblings;   ///< -1: none
  std::vector<std::vector<bool>> masks;      ///< [node][looked at]
  std::uint32_t node_count = 0;              ///< nodes that are there
  std::uint32_t level_count = 0;             ///< their greatest depth + 1; 0 without nodes
  bool has_equal_siblings = false;           ///< two that are there carry the same token

  friend bool operator==(const Layout&, const Layout&) = default;
};

/// Precondition: tokens is empty or has one entry a node.
Layout layout(const DraftTree& tree, const LayoutRule& rule);

}  // namespace draftproof::reference::tree
