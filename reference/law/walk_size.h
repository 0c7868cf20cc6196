// Walk sizes: how many branches a walk can have, before it is walked. An upper bound from the sizes
// alone, so that a case that is too large can be answered with one that is not.
//
// One iteration has V^n drafts of n tokens; a rule that stops at the first failure ends at one of
// n + 1 nodes with one of V tokens, one that reads every coin has 2^n patterns instead of n + 1. It
// starts from every sequence shorter than the horizon L: (V^L - 1) / (V - 1). So the cost grows as
// V^(n + L), times n or 2^n. Coins that recur, and memories, tell equal contexts apart; then no two
// paths need ever meet, and the bound is that of the tree of all paths.
#pragma once

#include <optional>
#include <string>

namespace draftproof::reference::law {

struct WalkShape {
  int vocab_size = 2;
  int node_count = 1;  ///< drafted tokens of an iteration, siblings included
  int horizon = 1;     ///< tokens that are asked for
  int request_count = 1;
  bool stops_at_first_failure = true;  ///< LawRule::is_prefix_adapted
  bool is_chain = true;
  bool states_meet = true;  ///< false when coins recur or drafter and scorer keep memory
};

/// At most so many branches, for a drafter that draws each node once and a rule that asks one
/// question a node and draws one token; infinity where that is no number. Preconditions:
/// vocab_size, request_count >= 1, node_count, horizon >= 0.
double branches_at_most(const WalkShape& shape);

/// The largest size within a budget when the others stay; absent where even the least is too large.
struct FittingSizes {
  std::optional<int> vocab_size;  ///< 2 or more
  std::optional<int> node_count;  ///< 1 or more
  std::optional<int> horizon;     ///< 1 or more
};
FittingSizes fitting_sizes(const WalkShape& shape, double branches_max);

/// The same as advice: "a horizon of 3, 2 drafted tokens or a vocabulary of 4 would work".
std::string sizes_that_fit(const WalkShape& shape, double branches_max);

}  // namespace draftproof::reference::law
