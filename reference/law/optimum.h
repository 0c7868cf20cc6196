// Optima: how many tokens a lossless rule can emit at most. No rule, but an oracle: a rule that
// emits more on average is lossy, whatever its law looks like. Sun et al., SpecTr (NeurIPS 2023)
// and Hu et al. (ICLR 2025, arXiv:2502.18779) for one position and several candidates; Sun et al.,
// block verification (ICLR 2025, arXiv:2403.10444) with Greedy Block Verification
// (arXiv:2602.16961) for one path. Written apart from the rules.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "reference/law/model_case.h"
#include "reference/law/output_law.h"

namespace draftproof::reference::law {

/// The law of what a draft offers at one depth: a set of distinct paths of that many tokens.
using OfferLaw = std::map<std::set<std::vector<Token>>, Exact>;

/// What the case drafts at `depth`, at the empty context. Precondition: depth >= 1.
OfferLaw offers(const ModelCase& tiny, int depth);

/// The largest probability with which a sequence of this law can lie in the offered set, over all
/// ways of drawing the two together: a maximum flow from offers to sequences.
Exact matched_by_flow(const OfferLaw& offers, const SequenceLaw& target);
/// The same as its minimum cut: the least target(H) + 1 - P(everything offered is in H) over sets H
/// of sequences. Throws Error(kInput) above 20 sequences.
Exact matched_by_sets(const OfferLaw& offers, const SequenceLaw& target);

/// One position, `count` candidates drawn independently from `draft`: the least
/// target(H) + 1 - draft(H)^count. A minimiser is a prefix of the tokens sorted by target / draft,
/// since the tangent of -s^count at s = draft(H) bounds it from above and is least on such a
/// prefix. Sorts, then walks once.
Exact optimum_of_independent(const LawRow& target, const LawRow& draft, int count);
/// One position, candidates as kLargestThenDrawn: target(S) + sum outside S of min(target, draft').
Exact optimum_of_largest_then_drawn(const LawRow& target, const LawRow& draft, int count);

/// One path: 1 + sum over i of E[pi_i], pi_i = R_i / max(1, R_1, .., R_i), R_i = target / draft of
/// the first i tokens. The most that a lossless rule emits which reads the rows along the path, and
/// also of one that reads those off it. Precondition: the case is a chain.
Exact block_optimum(const ModelCase& tiny);
/// One path: 1 + sum over i of sum over paths of min(target, draft), what a rule that knew the
/// whole future of the target could reach. Precondition: the case is a chain.
Exact full_information_bound(const ModelCase& tiny);

/// The most tokens that a lossless rule emits on average in one iteration at the empty context.
struct LosslessOptimum {
  Exact emitted;
  std::string statement;    ///< which theorem bounds it
  bool is_reached = false;  ///< by some rule; false: a bound that may be loose
};
/// Chains: block_optimum. One position: 1 + what can be matched. Trees that are a function of the
/// context: 1 + sum over nodes of the target's probability of their path. Other trees: 1 + what can
/// be matched depth by depth, a bound.
LosslessOptimum lossless_optimum(const ModelCase& tiny);

}  // namespace draftproof::reference::law
