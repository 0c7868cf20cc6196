// Sampled siblings down a tree (the rules and their order of judging are in siblings.h).
#include "reference/verify/siblings.h"

#include "reference/error.h"
#include "reference/verify/chain.h"
#include "reference/verify/rows.h"
#include "reference/verify/target_only.h"
#include "reference/verify/tree_walk.h"

namespace draftproof::reference::verify {
namespace {

enum class Drawn { kWithReplacement, kWithoutReplacement };

RequestOutcome siblings(const Batch& batch, const Request& request, const Coins& coins,
                        Drawn drawn) {
  return walk(batch, request, [&](const Place& place) {
    const auto coin = [&](Purpose purpose, std::size_t slot) {
      return coins.coin({request.id, place.position, purpose, static_cast<std::uint32_t>(slot), 0});
    };
    MassRow left = target_law(batch, request, place.row);
    if (left.status != Status::kOk) return fails(left.status);
    if (place.children.empty()) return ends(draw(coin(Purpose::kBonus, 0), left), Reason::kBonus);

    std::vector<WideMass> weights;
    for (std::size_t j = 0; j < place.children.size(); ++j) {
      if (j > 0) left = shortened(weights);
      const Token token = place.tokens[j];
      MassRow draft = draft_law(batch, request, static_cast<std::size_t>(place.children[j]));
      if (draft.status != Status::kOk) return fails(draft.status);
      if (drawn == Drawn::kWithoutReplacement)
        draft = struck_out(std::move(draft), {place.tokens.begin(), place.tokens.begin() + j});
      if (draft.mass[token] == 0) return fails(Status::kDraftMassZero);
      if (accepts(coin(Purpose::kAccept, j), left, draft, token)) return takes(j);
      weights = residual(left, draft);
    }
    return ends(draw(coin(Purpose::kRecovered, 0), weights), Reason::kRecovered);
  });
}

int bits_of(WideMass value) {
  int bits = 0;
  for (; value > 0; value >>= 1) ++bits;
  return bits;
}

}  // namespace

RequestOutcome with_replacement(const Batch& batch, const Request& request, const Coins& coins) {
  return siblings(batch, request, coins, Drawn::kWithReplacement);
}

RequestOutcome without_replacement(const Batch& batch, const Request& request, const Coins& coins) {
  return siblings(batch, request, coins, Drawn::kWithoutReplacement);
}

MassRow shortened(const std::vector<WideMass>& weights) {
  WideMass sum = 0;
  for (const WideMass weight : weights) sum += weight;
  DRAFTPROOF_CHECK(sum > 0, "a law without mass");
  const int shift = std::max(0, bits_of(sum) - 62);
  MassRow row;
  for (const WideMass weight : weights) {
    row.mass.push_back(static_cast<Mass>(weight >> shift));
    row.total += row.mass.back();
  }
  return row;
}

}  // namespace draftproof::reference::verify
