// Draft trees: shapes for generated proposals, and coins for every address that a rule for trees
// can read, some of them next to an edge of its decision.
#pragma once

#include <vector>

#include "properties/case.h"
#include "properties/random.h"

namespace draftproof::properties {

/// Parents of `count` drafted tokens: a chain, a star, a binary, a deep, a wide or any tree.
std::vector<int> nasty_parents(Random& random, int count);

/// The target row behind which drafted token `node` stands: 0 where it continues nothing.
std::size_t row_before(const reference::Proposal& proposal, std::size_t node);

/// Gives one coin to every address of the walk down a tree: at each depth the accept coin of each
/// sibling, level, second, recovered and bonus. With edges, some stand where a decision at one of
/// the nodes of that depth changes: the level coin at the summed masses of the children, the second
/// one and the bonus at those of the tokens left, the first sibling's accept coin at its ratio.
void script_tree_coins(Case& value, Random& random, bool with_edges);

}  // namespace draftproof::properties
