// Selection from a draft tree: of many candidate nodes the few that are worth a verification. Li et
// al., "EAGLE-2: faster inference of language models with dynamic draft trees" (EMNLP 2024,
// arXiv:2406.16858), reranking phase: the m candidates of the greatest scores, a score being the
// product (or the sum of logarithms) of the drafter's confidence along the node's path.
//
// A selection must be closed: with a node it has all that the node continues. Where scores never
// grow along a path that is so by itself. The rule here needs no such promise: a candidate counts
// for no more than the least score on its path, and of equal ones the lower number goes first,
// which every ancestor has. Selected nodes keep their order, so that parents stay before children,
// and are numbered anew.
//
// The order of judging: a malformed tree (reference/tree/layout.h) -> kMalformedTree; a NaN among
// the scores of candidates that are there -> kNan; in both cases nothing is selected. Candidates
// that are not there (a kPlaceholder, or what continues one) are not selected, and their scores are
// not looked at. Infinities are scores like others; -0 equals +0.
//
// Selecting by score from drafts that were sampled breaks the law they are reported with
// (reference/README.md, theorem F): rules that read draft rows may not follow a selection, those
// that treat each child as certain may (target-only, match, tree-greedy).
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "reference/status.h"
#include "reference/token.h"
#include "reference/tree/layout.h"

namespace draftproof::reference::tree {

struct Selection {
  Status status = Status::kOk;           ///< or kMalformedTree, kNan
  std::vector<std::int32_t> candidates;  ///< the selected nodes' numbers, ascending
  std::vector<std::int32_t> parents;     ///< among the selected; -1: none
  std::uint32_t level_count = 0;         ///< their greatest depth + 1; 0 without nodes

  friend bool operator==(const Selection&, const Selection&) = default;
};

/// The `keep` best of `tree`, or all that are there if they are fewer. `capacity`: candidates that
/// there is room for. Precondition: one score a node.
Selection select(const DraftTree& tree, const std::vector<float>& scores, std::size_t keep,
                 std::size_t capacity);

}  // namespace draftproof::reference::tree
