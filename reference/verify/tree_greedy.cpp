// Greedy verification down a tree (the order of judging is in tree_greedy.h).
#include "reference/verify/tree_greedy.h"

#include <algorithm>

#include "reference/verify/rows.h"
#include "reference/verify/tree_walk.h"

namespace draftproof::reference::verify {

RequestOutcome tree_greedy(const Batch& batch, const Request& request) {
  return walk(batch, request, [&](const Place& place) {
    const Status status = greedy_status(batch, request, place.row);
    if (status != Status::kOk) return fails(status);
    const auto best = static_cast<Token>(greedy_token(request.target_rows[place.row]));
    const auto match = std::find(place.tokens.begin(), place.tokens.end(), best);
    if (match != place.tokens.end())
      return takes(static_cast<std::size_t>(match - place.tokens.begin()));
    return ends(best, place.children.empty() ? Reason::kBonus : Reason::kRecovered);
  });
}

}  // namespace draftproof::reference::verify
