// Cases must be what their names say: a near tie that is none, or a coin that is not met, would
// leave the judge blind without anybody noticing.
#include "tools/draftproof/commands/card_cases.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numeric>
#include <set>

#include "oracle/curand_stream.h"

namespace draftproof::tools {
namespace {

constexpr std::size_t kTile = 16;

oracle::ReplayRule rule() {
  oracle::ReplayRule rule;
  rule.order = {oracle::DrawStep::kAccept, oracle::DrawStep::kRecount, oracle::DrawStep::kFinal};
  return rule;
}

CardCase made(CardLaw law, CardCoins coins, std::size_t draft_count, std::size_t vocab_size,
              std::uint64_t number) {
  return make_card_case({law, coins, 3, draft_count, vocab_size, number}, rule(), kTile, 1);
}

std::span<const float> row(std::span<const float> rows, std::size_t index, std::size_t size) {
  return rows.subspan(index * size, size);
}

TEST(CardCases, RowsAreLawsAndDraftsComeFromThem) {
  for (const CardLaw law : all_card_laws()) {
    for (const std::size_t vocab_size : {1u, 2u, 3u, 40u}) {
      const CardCase one = made(law, CardCoins::kAny, 3, vocab_size, 5);
      for (std::size_t index = 0; index < 3; ++index) {
        const oracle::ReplayRequest request = one.request(index);
        ASSERT_EQ(request.target_rows.size(), 4 * vocab_size);
        for (std::size_t i = 0; i < 4; ++i) {
          const auto target = row(request.target_rows, i, vocab_size);
          EXPECT_NEAR(std::accumulate(target.begin(), target.end(), 0.0), 1, 1e-5)
              << to_string(law);
          for (const float each : target) EXPECT_GE(each, 0);
        }
        for (std::size_t i = 0; i < 3; ++i) {
          const float drafted = row(request.draft_rows, i, vocab_size)[request.draft[i]];
          if (law == CardLaw::kUndrafted && vocab_size > 1) {
            EXPECT_EQ(drafted, 0);
          } else {
            EXPECT_GT(drafted, 0) << to_string(law);
          }
        }
      }
    }
  }
}

TEST(CardCases, AreAFunctionOfTheirSpecification) {
  const CardCase one = made(CardLaw::kRandom, CardCoins::kAny, 3, 40, 5);
  const CardCase same = made(CardLaw::kRandom, CardCoins::kAny, 3, 40, 5);
  const CardCase other = made(CardLaw::kRandom, CardCoins::kAny, 3, 40, 6);
  EXPECT_EQ(one.target_rows, same.target_rows);
  EXPECT_EQ(one.seed, same.seed);
  EXPECT_NE(one.target_rows, other.target_rows);
  EXPECT_NE(one.seed, other.seed);
}

TEST(CardCases, LawsAreWhatTheyAreCalled) {
  const CardCase equal = made(CardLaw::kEqual, CardCoins::kAny, 1, 40, 1);
  const CardCase disjoint = made(CardLaw::kDisjoint, CardCoins::kAny, 1, 40, 1);
  const CardCase edges = made(CardLaw::kTileEdges, CardCoins::kAny, 1, 40, 1);
  const CardCase thin = made(CardLaw::kSubnormal, CardCoins::kAny, 1, 40, 1);
  bool has_subnormal = false;
  for (std::size_t token = 0; token < 40; ++token) {
    EXPECT_EQ(equal.draft_rows[token], equal.target_rows[token]);
    EXPECT_EQ(disjoint.draft_rows[token] * disjoint.target_rows[token], 0);
    const bool is_edge = token % kTile == 0 || token % kTile == kTile - 1 || token == 39;
    EXPECT_EQ(edges.target_rows[token] > 0, is_edge) << token;
    has_subnormal |= std::fpclassify(thin.target_rows[token]) == FP_SUBNORMAL;
  }
  EXPECT_TRUE(has_subnormal);
}

TEST(CardCases, AcceptTiesLieWithinTwoUlpOfTheCoin) {
  int ties = 0;
  int equal = 0;
  for (std::uint64_t number = 0; number < 40; ++number) {
    const CardCase one = made(CardLaw::kAcceptTie, CardCoins::kAny, 2, 40, number);
    for (std::size_t index = 0; index < 3; ++index) {
      const oracle::ReplayRequest request = one.request(index);
      const oracle::CurandStream stream(request.seed, request.subsequence, request.offset);
      for (std::size_t i = 0; i < 2; ++i) {
        const auto token = static_cast<std::size_t>(request.draft[i]);
        const float product = stream.coin(i) * row(request.draft_rows, i, 40)[token];
        const float target = row(request.target_rows, i, 40)[token];
        ties += std::abs(product - target) <= 3e-7f * target ? 1 : 0;
        equal += product == target ? 1 : 0;
      }
    }
  }
  EXPECT_GE(ties, 120) << "one a request";
  EXPECT_GE(equal, 10);
}

TEST(CardCases, PickTiesLieAtABreakpoint) {
  int near = 0;
  for (std::uint64_t number = 0; number < 40; ++number) {
    const CardCase one = made(CardLaw::kPickTie, CardCoins::kAny, 2, 40, number);
    for (std::size_t index = 0; index < 3; ++index) {
      const oracle::ReplayRequest request = one.request(index);
      const oracle::CurandStream stream(request.seed, request.subsequence, request.offset);
      for (const int accepted : {0, 2}) {
        const std::size_t at = static_cast<std::size_t>(accepted);
        const auto draft =
            accepted == 2 ? std::span<const float>{} : row(request.draft_rows, at, 40);
        const float coin = stream.coin(oracle::final_draw(rule(), 2, accepted));
        near += oracle::pick_band(row(request.target_rows, at, 40), draft, coin,
                                  oracle::PickRule::kGreater, {20, 20, false})
                            .candidates > 1
                    ? 1
                    : 0;
      }
    }
  }
  EXPECT_GE(near, 100);
}

TEST(CardCases, ExtremeCoinsAreMet) {
  for (std::uint64_t number = 0; number < 12; ++number) {
    const auto met = [&](CardCoins coins, float wanted) {
      const CardCase one = made(CardLaw::kRandom, coins, 2, 3, number);
      const oracle::ReplayRequest request = one.request(0);
      const oracle::CurandStream stream(request.seed, request.subsequence, request.offset);
      for (std::uint64_t draw = 0; draw < 4; ++draw)
        if (stream.coin(draw) == wanted) return true;
      return false;
    };
    EXPECT_TRUE(met(CardCoins::kLargestAccept, 1.0f));
    EXPECT_TRUE(met(CardCoins::kLargestFinal, 1.0f));
    EXPECT_TRUE(met(CardCoins::kSmallestAccept, 0x1p-33f));
    EXPECT_TRUE(met(CardCoins::kSmallestFinal, 0x1p-33f));
    EXPECT_FALSE(met(CardCoins::kAny, 1.0f));
  }
}

TEST(CardCases, PlansReachBesideEveryTile) {
  for (const auto battery : {properties::Battery::kSmoke, properties::Battery::kStandard}) {
    std::set<std::size_t> sizes, draft_counts, request_counts, numbers;
    std::set<CardLaw> laws;
    const auto plan = card_case_plan(battery, {1024, 2048, 4096});
    for (const CardCaseSpec& spec : plan) {
      sizes.insert(spec.vocab_size);
      draft_counts.insert(spec.draft_count);
      request_counts.insert(spec.request_count);
      laws.insert(spec.law);
      numbers.insert(spec.number);
    }
    EXPECT_EQ(numbers.size(), plan.size());
    EXPECT_EQ(laws.size(), all_card_laws().size());
    EXPECT_EQ(draft_counts.size(), 9u);
    EXPECT_EQ(request_counts.size(), 8u);
    for (const std::size_t tile : {1024u, 2048u, 4096u})
      for (const std::size_t multiple : {1u, 2u})
        for (const int step : {-1, 0, 1})
          EXPECT_TRUE(sizes.count(tile * multiple + static_cast<std::size_t>(step))) << tile;
    for (const std::size_t size : {1u, 3u, 8u, 1000u, 32000u}) EXPECT_TRUE(sizes.count(size));
  }
  EXPECT_GT(card_case_plan(properties::Battery::kDeep, {16}).size(),
            card_case_plan(properties::Battery::kStandard, {16}).size());
}

}  // namespace
}  // namespace draftproof::tools
