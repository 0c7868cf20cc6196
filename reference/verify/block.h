// Block verification on integer masses: Sun, Mendlovic, Leviathan, Aharoni, Ro, Beirami, Suresh,
// "Block verification accelerates speculative decoding" (ICLR 2025, arXiv:2403.10444). It keeps the
// longest prefix of the draft for which a coin says so, judging each prefix by the product of its
// ratios, and so accepts at least as many tokens as the chain rule on average.
//
// With drafted tokens x_1 .. x_n and rows 0 .. n, in units of 2^-62, rounded down:
//   P_0 = 2^62,  P_i = min(2^62, floor(P_(i-1) T_x sum D / (D_x sum T))) on row i - 1 and x = x_i
//   R_i,v = max(0, P_i T_v sum D - 2^62 D_v sum T) on row i,  S_i = sum over v
//   d_i = S_i + (2^62 - P_i) sum T sum D
//   prefix i < n is a candidate iff d_i = 0 or scaled(u_i, d_i) < S_i;
//   the whole draft is one iff scaled(u_n, 2^62) < P_n;  the largest candidate is kept, else none.
// Then the token recovered from R_i, or the bonus from target row n. Everything stays below 2^188.
//
// Lossless up to rounding: the emitted tokens are within n 2^-62 of the target's law in total
// variation, coins apart (the proof is in tools/docs/numerics.md, section 3). Conditions: each
// token was drawn from its draft row, and all coins, the drafter's noise included, are new in every
// iteration. The rule looks at coins behind the tokens that it emits, so coins that are keyed by
// position alone and met again in the next iteration break it, which no single iteration shows.
//
// The order of judging. The draft ends before the first kPlaceholder; its length is n.
//   1. for i = 0 .. n - 1, as in the chain (chain.h, lines 2 to 5): drafted token i is no token id,
//      target row i, draft row i, the token's draft mass; then target row n. The first that cannot
//      be judged ends the request with its status, and nothing is accepted: whether earlier tokens
//      are kept depends on all rows. Rows and tokens behind the placeholder are not read.
//   2. the largest candidate is kept; i = n: bonus, otherwise recovered.
// Coin addresses, slot 0 and the request's iteration: prefix i is judged by {request id, position +
// i - 1, kAccept}, so that one drafted token has the chain's coins; {position + i, kRecovered |
// kBonus}.
#pragma once

#include <cstdint>
#include <vector>

#include "reference/coin.h"
#include "reference/mass.h"
#include "reference/outcome.h"
#include "reference/proposal.h"
#include "reference/verify/wide.h"

namespace draftproof::reference::verify {

/// One request under the block rule. Precondition: validate(batch) passes and it is a chain.
RequestOutcome block(const Batch& batch, const Request& request, const Coins& coins);

/// A prefix ratio in units of 2^-62; at most kWholeRatio.
using PrefixRatio = std::uint64_t;
inline constexpr PrefixRatio kWholeRatio = PrefixRatio{1} << 62;

/// P_i from P_(i-1). Precondition: both rows are kOk and draft.mass[token] > 0.
PrefixRatio carried(PrefixRatio before, const MassRow& target, const MassRow& draft, Token token);

/// R_i of every token. Precondition: both rows are kOk, ratio <= kWholeRatio.
std::vector<Wide> block_residual(PrefixRatio ratio, const MassRow& target, const MassRow& draft);

/// Whether a prefix that is not the whole draft is a candidate, given the rows behind it.
bool is_candidate(std::uint64_t coin, PrefixRatio ratio, const MassRow& target,
                  const MassRow& draft);

/// Whether the whole draft is a candidate.
bool keeps_whole(std::uint64_t coin, PrefixRatio ratio);

/// The first token v, in id order, with scaled(coin, sum) < weight of the tokens up to v.
/// Precondition: the sum is in (0, 2^192).
Token draw(std::uint64_t coin, const std::vector<Wide>& weights);

}  // namespace draftproof::reference::verify
