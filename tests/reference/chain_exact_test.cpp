// Every decision of the integer chain is the decision of the papers' formulas on the exact rational
// laws mass / total at the exact point coin / 2^64; and no rejection has an empty residual.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "reference/distribution.h"
#include "reference/verify/chain.h"
#include "tests/reference/batches.h"

namespace draftproof::reference::verify {
namespace {

Exact point(std::uint64_t coin) { return Exact(BigInteger(coin), BigInteger(1) << 64); }

/// The first token whose cumulative probability exceeds `at`.
Token inverse(const Distribution& law, const Exact& at) {
  Exact cumulative = 0;
  for (std::size_t v = 0; v < law.vocab_size(); ++v)
    if (at < (cumulative += law[v])) return static_cast<Token>(v);
  return -1;
}

/// Leviathan et al. 2023, algorithm 1, with `strict` acceptance u < ratio.
RequestOutcome by_formula(const Batch& batch, const Coins& coins, bool strict) {
  const Request& request = batch.requests[0];
  const auto law = [&](const Row& row) {
    return distribution_of(shape(row, request.sampling, batch.preset));
  };
  RequestOutcome outcome;
  for (std::uint32_t i = 0;; ++i) {
    const auto at = [&](Purpose purpose) {
      return point(coins.coin({request.id, request.position + i, purpose}));
    };
    const Distribution target = law(request.target_rows[i]);
    if (i == request.proposal.tokens.size()) {
      outcome.emitted.push_back({inverse(target, at(Purpose::kBonus)), Reason::kBonus});
      return outcome;
    }
    const Distribution draft = law(request.proposal.rows[i]);
    const Token token = request.proposal.tokens[i];
    const Exact ratio = target[token] / draft[token];
    const Exact u = at(Purpose::kAccept);
    if (u > ratio || (strict && u == ratio)) {
      std::vector<Exact> weights;
      for (std::size_t v = 0; v < batch.vocab_size; ++v)
        weights.push_back(target[v] > draft[v] ? Exact(target[v] - draft[v]) : Exact(0));
      outcome.emitted.push_back(
          {inverse(normalised(std::move(weights)), at(Purpose::kRecovered)), Reason::kRecovered});
      return outcome;
    }
    outcome.emitted.push_back({token, Reason::kAccepted});
    ++outcome.accepted_count;
  }
}

/// Rows on a coarse grid with holes: ratios that are powers of two, ties and zeros are common.
Batch random_batch(std::mt19937& random) {
  const std::size_t vocab_size = 2 + random() % 5;
  const bool is_coarse = random() % 2 == 0;
  const auto row = [&] {
    Row logits;
    for (std::size_t v = 0; v < vocab_size; ++v) {
      const float value = static_cast<float>(random() % 6);
      logits.push_back(is_coarse ? -value : value * 0.377F - 1);
      if (random() % 5 == 0) logits.back() = -std::numeric_limits<float>::infinity();
    }
    logits[random() % vocab_size] = 0;
    return logits;
  };
  std::vector<Row> target = {row()};
  std::vector<Row> draft;
  std::vector<Token> tokens;
  for (std::size_t count = random() % 4; draft.size() < count;) {
    target.push_back(row());
    draft.push_back(random() % 4 == 0 ? target[draft.size()] : row());
    Token token = 0;
    do token = static_cast<Token>(random() % vocab_size);
    while (std::isinf(draft.back()[token]));
    tokens.push_back(token);
  }
  return one_request(tokens, target, draft);
}

int count_differences(bool strict, const std::vector<std::uint64_t>& extra_coins) {
  std::mt19937 random(21);
  int differences = 0;
  for (int i = 0; i < 3000; ++i) {
    const Batch batch = random_batch(random);
    std::vector<ScriptedCoins> sources(extra_coins.begin(), extra_coins.end());
    for (const ScriptedCoins& coins : sources)
      differences += chain(batch, batch.requests[0], coins) != by_formula(batch, coins, strict);
    const PhiloxCoins coins(random());
    differences += chain(batch, batch.requests[0], coins) != by_formula(batch, coins, strict);
  }
  return differences;
}

/// Coins on the edges that coarse rows have: 0, the largest, and multiples of 2^61 with neighbours.
std::vector<std::uint64_t> edge_coins() {
  std::vector<std::uint64_t> coins;
  for (std::uint64_t eighth = 0; eighth < 8; ++eighth)
    for (int around : {-1, 0, 1})
      coins.push_back((eighth << 61) + static_cast<std::uint64_t>(around));
  return coins;
}

TEST(ChainOnMasses, DecidesAsTheFormulasDo) { EXPECT_EQ(count_differences(true, edge_coins()), 0); }

TEST(ChainOnMasses, ComparisonSeesAnInclusiveAcceptance) {
  EXPECT_GT(count_differences(false, edge_coins()), 100);
}

/// Two mass rows that are nearly equal, with small or extreme totals.
std::pair<MassRow, MassRow> near_rows(std::mt19937_64& random) {
  MassRow target;
  MassRow draft;
  const int shift = static_cast<int>(random() % 45);
  for (std::size_t v = 0, size = 2 + random() % 4; v < size; ++v) {
    const Mass mass = random() >> (19 + shift);
    target.mass.push_back(mass + 1);
    draft.mass.push_back(random() % 3 == 0 ? mass + 2 : mass + 1);
  }
  for (Mass mass : target.mass) target.total += mass;
  for (Mass mass : draft.mass) draft.total += mass;
  return {target, draft};
}

TEST(ChainOnMasses, AnEmptyResidualNeverFollowsARejection) {
  std::mt19937_64 random(31);
  int rejections = 0;
  int empty = 0;
  for (int i = 0; i < 100000; ++i) {
    const auto [target, draft] = near_rows(random);
    const std::vector<WideMass> weights = residual(target, draft);
    const bool has_residual =
        std::any_of(weights.begin(), weights.end(), [](WideMass weight) { return weight > 0; });
    empty += !has_residual;
    for (Token token = 0; token < static_cast<Token>(target.mass.size()); ++token) {
      for (std::uint64_t coin : {~std::uint64_t{0}, ~std::uint64_t{0} - 1, random()}) {
        if (accepts(coin, target, draft, token)) continue;
        ++rejections;
        ASSERT_TRUE(has_residual);
      }
    }
  }
  // The search must have been where it matters, on both sides.
  EXPECT_GT(rejections, 1000);
  EXPECT_GT(empty, 1000);
}

TEST(ChainOnMasses, TargetAtLeastDraftAcceptsTheLargestCoin) {
  std::mt19937_64 random(32);
  int at_least = 0;
  for (int i = 0; i < 50000; ++i) {
    const auto [target, draft] = near_rows(random);
    for (Token token = 0; token < static_cast<Token>(target.mass.size()); ++token) {
      const bool is_at_least = static_cast<WideMass>(target.mass[token]) * draft.total >=
                               static_cast<WideMass>(draft.mass[token]) * target.total;
      at_least += is_at_least;
      ASSERT_TRUE(!is_at_least || accepts(~std::uint64_t{0}, target, draft, token));
    }
  }
  EXPECT_GT(at_least, 10000);
}

}  // namespace
}  // namespace draftproof::reference::verify
