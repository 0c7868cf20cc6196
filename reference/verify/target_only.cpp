// Target-only verification down a tree (the rule and its order of judging are in target_only.h).
#include "reference/verify/target_only.h"

#include "reference/verify/chain.h"
#include "reference/verify/rows.h"
#include "reference/verify/tree_walk.h"

namespace draftproof::reference::verify {

RequestOutcome target_only(const Batch& batch, const Request& request, const Coins& coins) {
  return walk(batch, request, [&](const Place& place) {
    const auto coin = [&](Purpose purpose) {
      return coins.coin({request.id, place.position, purpose});
    };
    const MassRow target = target_law(batch, request, place.row);
    if (target.status != Status::kOk) return fails(target.status);
    if (place.children.empty()) return ends(draw(coin(Purpose::kBonus), target), Reason::kBonus);
    const auto taken = taken_child(coin(Purpose::kTreeLevel), target, place.tokens);
    if (taken) return takes(*taken);
    const MassRow rest = struck_out(target, place.tokens);
    return ends(draw(coin(Purpose::kTreeSecond), rest), Reason::kRecovered);
  });
}

std::optional<std::size_t> taken_child(std::uint64_t coin, const MassRow& target,
                                       const std::vector<Token>& children) {
  const WideMass point = scaled(coin, target.total);
  MassRow left = target;  // a token counts once only
  WideMass reached = 0;
  for (std::size_t i = 0; i < children.size(); ++i) {
    reached += left.mass[children[i]];
    if (point < reached) return i;
    left.mass[children[i]] = 0;
  }
  return std::nullopt;
}

MassRow struck_out(MassRow row, const std::vector<Token>& tokens) {
  for (const Token token : tokens) {
    row.total -= row.mass[token];
    row.mass[token] = 0;
  }
  return row;
}

}  // namespace draftproof::reference::verify
