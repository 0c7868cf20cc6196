// Walks down a draft tree, one accepted node after the other.
#include "reference/verify/tree_walk.h"

#include <algorithm>

#include "reference/error.h"
#include "reference/verify/rows.h"

namespace draftproof::reference::verify {
namespace {

Place place_of(const Request& request, int node, int depth) {
  const Proposal& proposal = request.proposal;
  Place place;
  place.node = node;
  place.row = static_cast<std::size_t>(node + 1);
  place.position = request.position + static_cast<std::uint32_t>(depth);
  for (int child = node + 1; child < static_cast<int>(proposal.tokens.size()); ++child) {
    const int parent = proposal.parents.empty() ? child - 1 : proposal.parents[child];
    if (parent != node || proposal.tokens[child] == kPlaceholder) continue;
    place.children.push_back(child);
    place.tokens.push_back(proposal.tokens[child]);
  }
  return place;
}

}  // namespace

Step takes(std::size_t child) { return {child, {}, Status::kOk}; }
Step ends(Token token, Reason reason) { return {{}, EmittedToken{token, reason}, Status::kOk}; }
Step fails(Status status) { return {{}, {}, status}; }

RequestOutcome walk(const Batch& batch, const Request& request,
                    const std::function<Step(const Place&)>& rule) {
  RequestOutcome outcome;
  for (int node = -1;;) {
    const Place place = place_of(request, node, outcome.accepted_count);
    const bool are_tokens = std::all_of(place.tokens.begin(), place.tokens.end(),
                                        [&](Token token) { return is_token(batch, token); });
    if (!are_tokens) return stopped(outcome, Status::kDraftTokenRange, place.row);
    const Step step = rule(place);
    if (step.last) outcome.emitted.push_back(*step.last);
    if (step.last) return outcome;
    if (!step.child) return stopped(outcome, step.status, place.row);
    node = place.children.at(*step.child);
    outcome.emitted.push_back({request.proposal.tokens[node], Reason::kAccepted});
    outcome.accepted_nodes.push_back(node);
    ++outcome.accepted_count;
  }
}

}  // namespace draftproof::reference::verify
