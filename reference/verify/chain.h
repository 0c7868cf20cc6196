// Chain verification on integer masses: Leviathan, Kalman, Matias, "Fast inference from
// transformers via speculative decoding" (ICML 2023), algorithm 1; Chen et al., "Accelerating large
// language model decoding with speculative sampling" (2023), algorithm 2. Lossless: the emitted
// tokens have the target's law, up to 2^-64 per decision (numerics contract, "Coins").
//
// The order of judging, which every implementation follows. At position i = 0, 1, ...:
//   1. i is the draft length, or drafted token i is kPlaceholder: the draft ends here. Target row i
//      is judged; a status of it ends the request, otherwise its bonus draw does.
//   2. drafted token i is no token id                          -> kDraftTokenRange
//   3. target row i cannot be judged                           -> its status
//   4. draft row i cannot be judged (never for one-hot drafts) -> its status
//   5. the drafted token has mass 0 in draft row i             -> kDraftMassZero
//   6. accepted: i + 1 is next. Otherwise the recovered token of row i ends the request.
// A status ends the request at status_position = i without a token of that row; accepted tokens
// before it stay. Nothing behind the end is read: no token, no row, no coin.
//
// Coin addresses, slot and iteration 0: {request id, position + i, kAccept | kRecovered | kBonus}.
#pragma once

#include <cstdint>
#include <vector>

#include "reference/coin.h"
#include "reference/mass.h"
#include "reference/outcome.h"
#include "reference/proposal.h"

namespace draftproof::reference::verify {

/// One request under the chain rule. Precondition: validate(batch) passes.
RequestOutcome chain(const Batch& batch, const Request& request, const Coins& coins);

/// Keeps `token` with probability min(1, target(token) / draft(token)), exactly:
/// scaled(coin, D_x sum T) < T_x sum D. Target mass 0 is never kept, target >= draft always is.
/// Precondition: both rows are kOk and draft.mass[token] > 0.
bool accepts(std::uint64_t coin, const MassRow& target, const MassRow& draft, Token token);

/// max(0, T_v sum D - D_v sum T) of every token v. After a rejection its sum is never 0.
std::vector<WideMass> residual(const MassRow& target, const MassRow& draft);

/// The first token v, in id order, with scaled(coin, sum) < mass of the tokens up to v.
/// Precondition: the sum is in (0, 2^127).
Token draw(std::uint64_t coin, const std::vector<WideMass>& weights);
Token draw(std::uint64_t coin, const MassRow& row);

}  // namespace draftproof::reference::verify
