// Greedy verification: a drafted token is kept iff it is what greedy decoding of the target emits,
// so that the emitted tokens are that decoding, token for token. No coin is looked at.
//
// The order of judging is the chain's (chain.h) without its lines 4 and 5: draft rows are not read.
// The row's token is the lowest id of its maximum, whatever the request's temperature and filters,
// which never remove the maximum. At position i: the draft ended -> that token as the bonus; the
// drafted token is no token id -> kDraftTokenRange; the target row cannot be judged (NaN, +inf, all
// -inf; for probabilities kBadProbability, kEmptyRow) -> its status; equal -> accepted; otherwise
// the row's token is the recovered one. There is no range check.
#pragma once

#include "reference/outcome.h"
#include "reference/proposal.h"

namespace draftproof::reference::verify {

/// One request under the greedy rule. Precondition: validate(batch) passes.
RequestOutcome greedy(const Batch& batch, const Request& request);

}  // namespace draftproof::reference::verify
