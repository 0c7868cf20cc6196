// Counting coins by bisection.
#include "reference/law/coin_count.h"

#include "reference/scalar.h"
#include "reference/verify/block.h"
#include "reference/verify/chain.h"

namespace draftproof::reference::law {
namespace {

template <class Weights>
LawRow law_of(const Weights& weights) {
  LawRow law;
  Exact before = 0;
  for (std::size_t v = 0; v < weights.size(); ++v) {
    const Exact up_to = share_of_coins(
        [&](std::uint64_t coin) { return verify::draw(coin, weights) <= static_cast<Token>(v); });
    law.emplace_back(up_to - before);
    before = up_to;
  }
  return law;
}

}  // namespace

Exact share_of_coins(const std::function<bool(std::uint64_t)>& holds) {
  if (holds(~std::uint64_t{0})) return 1;
  std::uint64_t count = 0;
  for (int bit = 63; bit >= 0; --bit) {
    const std::uint64_t candidate = count | std::uint64_t{1} << bit;
    if (holds(candidate - 1)) count = candidate;
  }
  return Exact(BigInteger(count), BigInteger(1) << 64);
}

LawRow law_of_draw(const std::vector<WideMass>& weights) { return law_of(weights); }

LawRow law_of_draw(const std::vector<verify::Wide>& weights) { return law_of(weights); }

LawRow law_of_draw(const MassRow& row) {
  return law_of(std::vector<WideMass>(row.mass.begin(), row.mass.end()));
}

void add_ends(EmissionLaw& law, const Context& accepted, const Exact& reach, const LawRow& last) {
  for (std::size_t v = 0; v < last.size(); ++v) {
    if (reach == 0 || last[v] == 0) continue;
    Emission emission{accepted, static_cast<int>(accepted.size())};
    emission.tokens.push_back(static_cast<Token>(v));
    law[emission] += reach * last[v];
  }
}

Exact two_to_minus(int bits) { return Exact(BigInteger(1), BigInteger(1) << bits); }

}  // namespace draftproof::reference::law
