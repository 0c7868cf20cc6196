// Siblings that were sampled, tested one after the other against what is left of the target.
//   with replacement: each was drawn independently. Miao et al., "SpecInfer" (ASPLOS 2024),
//     algorithm 2, multi-step speculative sampling.
//   without replacement: each was drawn from its law without the siblings before it, renormalised.
//     Jeon et al., "Recursive speculative decoding" (2024, arXiv:2402.14160); Chen et al.,
//     "Sequoia" (2024, arXiv:2402.12374); Yang et al., "Multi-candidate speculative decoding"
//     (2024, arXiv:2401.06706); the sampled mode of EAGLE-1.
// Lossless up to rounding, if the siblings are tested in the order in which they were drawn, and
// each one's row is the law it was drawn from (without replacement: before anything is struck out):
// every sibling that is rejected before another one is tested costs at most V 2^-61 in total
// variation, coins apart (tools/docs/numerics.md, section 3).
//
// At a node, R_0 = its target row, and for its children j = 0, 1, ... with token x and draft row D:
//   without replacement: D has mass 0 at the tokens of children 0 .. j - 1, and its total shrinks
//   taken iff scaled(u_j, D_x sum R_j) < R_j,x sum D, which is the chain's test (chain.h)
//   W_v = max(0, R_j,v sum D - D_v sum R_j); it is not empty after a rejection, as in the chain
//   R_(j+1) = W shifted right by max(0, bits of sum W - 62), token by token, rounded down
// Behind the last child the recovered token is drawn from its W as it is. So every number fits in
// 128 bits, whatever the number of siblings, and with one child this is the chain rule, bit for
// bit. The R that was shifted, with its own sum, is the law against which the next sibling is
// judged.
//
// The order of judging is that of tree walks (tree_walk.h); line 2: the target row cannot be judged
// -> its status; no children: bonus; for each child in order: its draft row cannot be judged -> its
// status (never for one-hot drafts); D_x = 0 -> kDraftMassZero; taken -> that child. Draft rows
// behind a taken child are not read. So an equal sibling is fine with replacement, and a status
// without, as is a child beyond the support of its law.
// Coin addresses, iteration 0: {request id, position + d, kAccept, slot j}; slot 0 for kRecovered
// and kBonus. j numbers the children that are there.
#pragma once

#include <vector>

#include "reference/coin.h"
#include "reference/mass.h"
#include "reference/outcome.h"
#include "reference/proposal.h"

namespace draftproof::reference::verify {

/// One request under these rules. Precondition: validate(batch) passes.
RequestOutcome with_replacement(const Batch& batch, const Request& request, const Coins& coins);
RequestOutcome without_replacement(const Batch& batch, const Request& request, const Coins& coins);

/// `weights` shifted right until their sum has at most 62 bits, rounded down one by one, with
/// their own total. Precondition: the sum is in (0, 2^128), there are fewer than 2^60 weights.
MassRow shortened(const std::vector<WideMass>& weights);

}  // namespace draftproof::reference::verify
