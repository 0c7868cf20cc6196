// Tree walks: what all rules for draft trees have in common. They start where nothing of the draft
// is taken, go from an accepted node to its children, and end with one token that is no drafted one
// where no child is accepted. Nothing off that path is read, so coins may be keyed by position:
// an iteration looks at no coin behind the last token it emits.
//
// The order of judging at a node, d drafted tokens deep (d = 0 at the base):
//   1. a child's token is no token id, children in order  -> kDraftTokenRange
//   2. what the rule reads, in its own order              -> a status, a child, or the last token
// A child that is a kPlaceholder is not there, nor is anything that continues it. A status ends the
// request at the target row behind the node (reference/proposal.h), status_position = node + 1;
// accepted tokens before it stay. Coins have position + d.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "reference/coin.h"
#include "reference/outcome.h"
#include "reference/proposal.h"

namespace draftproof::reference::verify {

/// A node that a walk has come to.
struct Place {
  int node = -1;               ///< -1: the base, nothing of the draft is taken
  std::size_t row = 0;         ///< the target row behind it
  std::uint32_t position = 0;  ///< of its coins
  std::vector<int> children;  ///< the nodes that continue it, in the order in which they were drawn
  std::vector<Token> tokens;  ///< of the children
};

/// What a rule decides at a place: a child, or else the last token, or else a status.
struct Step {
  std::optional<std::size_t> child;  ///< a number in Place::children
  std::optional<EmittedToken> last;
  Status status = Status::kOk;
};
Step takes(std::size_t child);
Step ends(Token token, Reason reason);
Step fails(Status status);

/// Walks `rule` down the tree of one request. Precondition: validate(batch) passes.
RequestOutcome walk(const Batch& batch, const Request& request,
                    const std::function<Step(const Place&)>& rule);

}  // namespace draftproof::reference::verify
