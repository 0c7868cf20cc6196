// Traversal verification of trees on integer masses, leaf first: Weng et al., "Traversal
// verification for speculative tree decoding" (NeurIPS 2025, arXiv:2505.12398). A whole path is
// accepted or its last node is taken away, so a token may be kept although a test above it would
// have failed; on a chain it is block verification in other coins.
//
// Every node has a row R, what is left of the target's behind it, and a rate P in units of 2^-62:
// at the base R = T and P = 2^62. With D the draft row of a child with token x:
//   the child enters with its own target row and min(2^62, floor(P R_x sum D / (D_x sum R)))
//   a child that is taken away leaves W_v = max(0, P R_v sum D - 2^62 D_v sum R), S = sum W,
//   P' = floor(2^62 S / (S + (2^62 - P) sum R sum D)), and R' = W shifted right to 62 bits
// The walk goes to the first leaf below; a node without children left is accepted iff
// scaled(u, 2^62) < P, else it is taken away and its parent goes on. The base always answers: its
// rate stays 2^62. The last token is drawn from R of the accepted node. All stays below 2^189. A
// node of rate 2^62 is never taken away, so S + (2^62 - P) sum R sum D > 0 wherever it divides.
//
// Lossless up to rounding (tools/docs/numerics.md, section 3), if siblings are in the order in
// which they were drawn, each one's row is the law it was drawn from (without replacement: with
// the siblings before it masked), and all coins, the drafter's included, are new in every
// iteration: it looks at coins behind the tokens that it emits.
//
// The order of judging. The nodes that are there (no kPlaceholder, and none above) in order:
// drafted token i is no token id -> kDraftTokenRange at the row behind its parent; its draft row ->
// its status there; its draft mass is 0 -> kDraftMassZero there; target row i + 1 -> its status.
// Before them all target row 0. The first that cannot be judged ends the request with nothing
// accepted. Coin addresses, the request's iteration: {request id, position + d - 1, kAccept, slot
// i} for node i with d nodes down to it; {position + d, kRecovered | kBonus, slot 0}, the bonus
// where the accepted node had no children.
#pragma once

#include "reference/coin.h"
#include "reference/mass.h"
#include "reference/outcome.h"
#include "reference/proposal.h"
#include "reference/verify/block.h"

namespace draftproof::reference::verify {

/// One request under traversal verification. Precondition: validate(batch) passes.
RequestOutcome traversal(const Batch& batch, const Request& request, const Coins& coins);

/// What is left of a node's target row, and the rate at which its subtree is accepted.
struct Rest {
  MassRow row;
  PrefixRatio rate = kWholeRatio;
};

/// What a child that was drawn from `draft` and taken away leaves of its parent. A rate of 0 comes
/// with a row without mass, from which nothing is drawn. Precondition: rest.rate > 0.
Rest without_child(const Rest& rest, const MassRow& draft);

}  // namespace draftproof::reference::verify
