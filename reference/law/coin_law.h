// The laws of the integer rules over all 2^64 values of every coin, as a test oracle: coins are
// counted on the functions that reference/verify decides with (coin_count.h), drafts are drawn from
// exactly mass / total, and the rest is rational arithmetic. Each comes with the distance that the
// numerics contract allows (tools/docs/numerics.md, sections 1 and 3): 2^-64 for each decision by a
// coin, 2^-65 for each token of the last draw, of which half the sum of absolute differences
// counts, and what is rounded down on the way.
#pragma once

#include <functional>
#include <vector>

#include "reference/law/model_case.h"
#include "reference/law/output_law.h"
#include "reference/mass.h"

namespace draftproof::reference::law {

/// Mass rows at every context; [context length][context_index]. All rows are kOk. draft_count is
/// the length of a chain, or the depth of a tree.
struct MassCase {
  int vocab_size = 0;
  int draft_count = 0;
  std::vector<std::vector<MassRow>> target;
  std::vector<std::vector<MassRow>> draft;
};

/// mass / total of every row: the laws that the paper's rule is run on, for a chain.
ModelCase laws_of(const MassCase& masses);

/// The chain rule. Against the paper's law on the same masses the distance is at most
/// coin_law_bound: draft_count 2^-64 + vocab_size 2^-65.
EmissionLaw coin_law(const MassCase& masses);
Exact coin_law_bound(const MassCase& masses);

/// The block rule, with prefix ratios of so many fraction bits: 62 is the rule, fewer show what
/// they would cost.
EmissionLaw block_coin_law(const MassCase& masses, int fraction_bits = 62);
/// The most by which the emitted sequence may be off the target: draft_count (2^-62 + 2^-64) +
/// vocab_size 2^-65.
Exact block_sequence_bound(const MassCase& masses);
/// The most by which the joint law of tokens and accepted count may be off the paper's:
/// draft_count (draft_count + 1) / 2 2^-62 + draft_count 2^-64 + vocab_size 2^-65.
Exact block_emission_bound(const MassCase& masses);

/// A tree of drafts over mass rows; parents as in Proposal, masses.draft_count deep. A node's
/// children are drawn from the draft row behind it.
struct MassTree {
  MassCase masses;
  std::vector<int> parents;
  SiblingDraw siblings = SiblingDraw::kIndependent;

  /// The nodes behind `node`, in order; -1: behind the base context.
  std::vector<int> children(int node) const;
};

ModelCase laws_of(const MassTree& tree);

/// Sampled siblings, with replacement for kIndependent, without for kWithoutReplacement (a node has
/// fewer children when the support is used up). `shorten` is the rule's; another one shows what it
/// would cost.
using Shorten = std::function<MassRow(const std::vector<WideMass>&)>;
EmissionLaw siblings_coin_law(const MassTree& tree, const Shorten& shorten);
EmissionLaw siblings_coin_law(const MassTree& tree);
/// With n the most children of a node: depth ((n - 1) V 2^-61 + n 2^-64) + V 2^-65.
Exact siblings_sequence_bound(const MassTree& tree);
/// The same with (n - 1) 2^n V 2^-61: what a sibling that is rejected passes on, the joint law of
/// tokens and accepted count may see twice.
Exact siblings_emission_bound(const MassTree& tree);

/// Traversal verification; siblings as in siblings_coin_law.
EmissionLaw traversal_coin_law(const MassTree& tree);
/// The most by which the emitted sequence may be off the target: the sum over nodes, with d of them
/// down to one, of 2^(d-2) (3 2^-62 + V 2^-60), and over nodes and the base of 2^d V 2^-65.
Exact traversal_sequence_bound(const MassTree& tree);

/// Target-only and sample-and-match on the same trees; the drafter's law only chooses the children.
EmissionLaw target_only_coin_law(const MassTree& tree);
EmissionLaw match_coin_law(const MassTree& tree);
/// depth n 2^-64 + V 2^-65, and (depth + 1) V 2^-65.
Exact target_only_bound(const MassTree& tree);
Exact match_bound(const MassTree& tree);

}  // namespace draftproof::reference::law
