// Target-only verification of trees: one coin a level is held against the summed target masses of
// the children in order; where none of them is met the rest of the target is drawn from. This is
// "sample from the target, then match" with the children first in the order of the draw. SGLang's
// tree_speculative_sampling_target_only with both thresholds at 1 decides so, and EAGLE-2 and
// EAGLE-3, which take their children by score; each child is treated as certain, so draft rows are
// not read. Lossless for every tree that was chosen before the coins were seen, however it was.
//
// With T the target masses of the node's row and h = scaled(u, sum T), u the level's coin: child i
// is taken iff h < the mass of the distinct tokens among children 0 .. i, strictly, and i is the
// first such. None: the children's masses are struck out, and the second coin draws from the rest,
// which is not empty, since h < sum T always.
//
// The order of judging is that of tree walks (tree_walk.h); line 2: the target row cannot be judged
// -> its status; then as above, the last token as the bonus where there are no children, else
// recovered. Of equal siblings the first one counts, the others are never taken.
// Coin addresses, slot and iteration 0: {request id, position + d, kTreeLevel | kTreeSecond |
// kBonus}.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "reference/coin.h"
#include "reference/mass.h"
#include "reference/outcome.h"
#include "reference/proposal.h"

namespace draftproof::reference::verify {

/// One request under the target-only rule. Precondition: validate(batch) passes.
RequestOutcome target_only(const Batch& batch, const Request& request, const Coins& coins);

/// The number of the child that the level's coin takes; none: the rest is drawn from.
/// Precondition: the row is kOk and the tokens are ids of it.
std::optional<std::size_t> taken_child(std::uint64_t coin, const MassRow& target,
                                       const std::vector<Token>& children);

/// The row without these tokens. Its total may be 0.
MassRow struck_out(MassRow row, const std::vector<Token>& tokens);

}  // namespace draftproof::reference::verify
