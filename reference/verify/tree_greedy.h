// Greedy verification of trees: from node to node as long as a child is what greedy decoding of the
// target emits, so that the emitted tokens are that decoding, token for token. No coin is looked
// at and no draft row is read. On a chain it is the greedy rule (greedy.h). Shipped by Medusa,
// EAGLE, Lookahead decoding and their engines for temperature 0.
//
// The order of judging is that of tree walks (tree_walk.h); line 2: the target row cannot be judged
// (greedy.h says when) -> its status; the first child with the row's token -> that child; otherwise
// the row's token ends the request, as the bonus where there are no children, else recovered.
// Siblings may be equal; the first one is taken.
#pragma once

#include "reference/outcome.h"
#include "reference/proposal.h"

namespace draftproof::reference::verify {

/// One request under the greedy rule for trees. Precondition: validate(batch) passes.
RequestOutcome tree_greedy(const Batch& batch, const Request& request);

}  // namespace draftproof::reference::verify
