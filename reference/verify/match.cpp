// Sample-and-match down a tree (the order of judging is in match.h).
#include "reference/verify/match.h"

#include <algorithm>

#include "reference/verify/chain.h"
#include "reference/verify/rows.h"
#include "reference/verify/tree_walk.h"

namespace draftproof::reference::verify {

RequestOutcome match(const Batch& batch, const Request& request, const Coins& coins) {
  return walk(batch, request, [&](const Place& place) {
    const MassRow target = target_law(batch, request, place.row);
    if (target.status != Status::kOk) return fails(target.status);
    const Token drawn = draw(coins.coin({request.id, place.position, Purpose::kBonus}), target);
    const auto found = std::find(place.tokens.begin(), place.tokens.end(), drawn);
    if (found != place.tokens.end())
      return takes(static_cast<std::size_t>(found - place.tokens.begin()));
    return ends(drawn, place.children.empty() ? Reason::kBonus : Reason::kRecovered);
  });
}

}  // namespace draftproof::reference::verify
