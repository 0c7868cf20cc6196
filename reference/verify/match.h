// Sample-and-match: draw from the target, go to the child that carries the drawn token, emit the
// draw in either case. llama.cpp verifies so (common_sampler_sample_and_accept_n), as do the
// sampled modes of Lookahead, DFlash and prompt lookup in transformers. Lossless for any draft that
// was chosen before the coins were seen: each emitted token is the target's own draw, and the draft
// only decides how far one iteration goes. Draft rows are not read. The coins are those of plain
// decoding, so that with one seed the emitted tokens are, token for token, what is emitted without
// any draft. Acceptance is lower than by the ratio rule.
//
// The order of judging is that of tree walks (tree_walk.h); line 2: the target row cannot be judged
// -> its status; the first child with the drawn token -> that child; otherwise the drawn token ends
// the request, as the bonus where there are no children, else recovered. Siblings may be equal.
// Coin: {request id, position + d, kBonus}, slot and iteration 0, whatever the reason of the token.
#pragma once

#include "reference/coin.h"
#include "reference/outcome.h"
#include "reference/proposal.h"

namespace draftproof::reference::verify {

/// One request under sample-and-match. Precondition: validate(batch) passes.
RequestOutcome match(const Batch& batch, const Request& request, const Coins& coins);

}  // namespace draftproof::reference::verify
