// Every decision of the integer block is the decision of the paper's formulas in exact rationals,
// given the prefix ratio rounded down to 62 bits; no intermediate leaves its width at the largest
// totals; and no draw ever meets an empty residual.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "reference/distribution.h"
#include "reference/verify/block.h"
#include "tests/reference/batches.h"
#include "tests/reference/big_integers.h"

namespace draftproof::reference::verify {
namespace {

constexpr std::uint64_t kLargest = ~std::uint64_t{0};
constexpr Mass kLargestTotal = (Mass{1} << 63) - 1;

const BigInteger& coin_count() {
  static const BigInteger count = BigInteger(1) << 64;
  return count;
}

MassRow row_of(std::vector<Mass> mass) {
  MassRow row;
  row.mass = std::move(mass);
  for (const Mass each : row.mass) row.total += each;
  return row;
}

/// Rows of 2 to 5 tokens: coarse, spread over all sizes, or as large as totals may be.
MassRow random_row(std::mt19937_64& random, std::size_t vocab_size) {
  std::vector<Mass> mass;
  const auto kind = random() % 3;
  for (std::size_t v = 0; v < vocab_size; ++v) {
    if (kind == 0) mass.push_back(random() % 4);
    if (kind == 1) mass.push_back(random() >> (3 + random() % 61));
    if (kind == 2) mass.push_back(random() % 3);
  }
  MassRow row = row_of(mass);
  if (kind == 2 || row.total == 0) {
    Mass& any = row.mass[random() % vocab_size];
    any += kLargestTotal - row.total;
    row.total = kLargestTotal;
  }
  return row;
}

/// The same row with a unit moved, or another row.
MassRow near_or_other(std::mt19937_64& random, const MassRow& row) {
  if (random() % 3 == 0) return random_row(random, row.mass.size());
  MassRow near = row;
  const std::size_t from = random() % near.mass.size(), to = random() % near.mass.size();
  if (random() % 2 == 0 && near.mass[from] > 1) {
    --near.mass[from];
    ++near.mass[to];
  }
  return near;
}

struct Situation {
  MassRow target;
  MassRow draft;
  PrefixRatio ratio = kWholeRatio;
};

Situation random_situation(std::mt19937_64& random) {
  Situation result;
  result.target = random_row(random, 2 + random() % 4);
  result.draft = near_or_other(random, result.target);
  if (random() % 2 == 0) result.ratio = kWholeRatio - (random() >> (2 + random() % 62));
  if (random() % 4 == 0) result.ratio = random() % 3;
  return result;
}

Exact ratio_of(PrefixRatio ratio) { return Exact(BigInteger(ratio), BigInteger(kWholeRatio)); }

/// max(0, ratio target - draft) of every token, as the paper has it.
std::vector<Exact> left_over(const Situation& at) {
  std::vector<Exact> left;
  for (std::size_t v = 0; v < at.target.mass.size(); ++v) {
    const Exact target(BigInteger(at.target.mass[v]), BigInteger(at.target.total));
    const Exact draft(BigInteger(at.draft.mass[v]), BigInteger(at.draft.total));
    const Exact difference = ratio_of(at.ratio) * target - draft;
    left.push_back(difference > 0 ? difference : Exact(0));
  }
  return left;
}

Exact sum_of(const std::vector<Exact>& values) {
  Exact sum = 0;
  for (const Exact& value : values) sum += value;
  return sum;
}

/// The number of coins u with u / 2^64 < share.
BigInteger coins_below(const Exact& share) {
  const BigInteger scaled = numerator(share) * coin_count();
  return BigInteger((scaled + denominator(share) - 1) / denominator(share));
}

/// Whether `holds` is true for exactly the coins below `count`, by the two coins at the edge.
template <class Holds>
bool changes_at(const BigInteger& count, const Holds& holds) {
  if (count > 0 && !holds(static_cast<std::uint64_t>(BigInteger(count - 1)))) return false;
  return count >= coin_count() || !holds(static_cast<std::uint64_t>(count));
}

TEST(BlockOnMasses, CarriesTheRatioRoundedDown) {
  std::mt19937_64 random(3);
  int clipped = 0, below = 0;
  for (int i = 0; i < 20000; ++i) {
    const Situation at = random_situation(random);
    for (std::size_t x = 0; x < at.target.mass.size(); ++x) {
      if (at.draft.mass[x] == 0) continue;
      const BigInteger due = std::min<BigInteger>(
          kWholeRatio, BigInteger(at.ratio) * at.target.mass[x] * at.draft.total /
                           (BigInteger(at.draft.mass[x]) * at.target.total));
      const PrefixRatio got = carried(at.ratio, at.target, at.draft, static_cast<Token>(x));
      ASSERT_EQ(BigInteger(got), due);
      (got == kWholeRatio ? clipped : below) += 1;
    }
  }
  EXPECT_GT(clipped, 1000);
  EXPECT_GT(below, 1000);
}

TEST(BlockOnMasses, KeepsAPrefixAtThePapersCoins) {
  std::mt19937_64 random(4);
  int inner = 0, never = 0, always = 0;
  for (int i = 0; i < 20000; ++i) {
    const Situation at = random_situation(random);
    const Exact sum = sum_of(left_over(at));
    const Exact bottom = sum + 1 - ratio_of(at.ratio);
    const BigInteger count = bottom == 0 ? coin_count() : coins_below(Exact(sum / bottom));
    ASSERT_TRUE(changes_at(count, [&](std::uint64_t coin) {
      return is_candidate(coin, at.ratio, at.target, at.draft);
    }));
    (count == 0 ? never : count == coin_count() ? always : inner) += 1;
  }
  for (const int met : {inner, never, always}) EXPECT_GT(met, 500);
}

/// The paper's share with an inclusive comparison: what the test above must be able to refuse.
TEST(BlockOnMasses, ComparisonSeesAnInclusiveOne) {
  // S_1 = 0 behind a lost ratio: inclusively, coin 0 would keep the prefix and find nothing left.
  const Situation at{row_of({1, 1}), row_of({1, 1}), kWholeRatio / 2};
  const Exact sum = sum_of(left_over(at));
  EXPECT_EQ(sum, 0);
  EXPECT_TRUE(changes_at(
      0, [&](std::uint64_t coin) { return is_candidate(coin, at.ratio, at.target, at.draft); }));
  EXPECT_FALSE(changes_at(0, [](std::uint64_t coin) { return coin == 0; }));
}

TEST(BlockOnMasses, KeepsTheWholeDraftAtThePapersCoins) {
  std::mt19937_64 random(5);
  for (int i = 0; i < 20000; ++i) {
    const PrefixRatio ratio = kWholeRatio - (i < 3 ? i : random() >> (2 + random() % 62));
    ASSERT_TRUE(changes_at(coins_below(ratio_of(ratio)),
                           [&](std::uint64_t coin) { return keeps_whole(coin, ratio); }));
  }
  EXPECT_FALSE(keeps_whole(0, 0));
  EXPECT_TRUE(keeps_whole(kLargest, kWholeRatio));
}

TEST(BlockOnMasses, RecoversAtThePapersCoins) {
  std::mt19937_64 random(6);
  int draws = 0;
  for (int i = 0; i < 10000; ++i) {
    const Situation at = random_situation(random);
    const std::vector<Exact> left = left_over(at);
    const Exact sum = sum_of(left);
    const std::vector<Wide> weights = block_residual(at.ratio, at.target, at.draft);
    if (sum == 0) {
      ASSERT_TRUE(std::all_of(weights.begin(), weights.end(),
                              [](const Wide& weight) { return weight == Wide(); }));
      continue;
    }
    ++draws;
    Exact prefix = 0;
    for (std::size_t v = 0; v < left.size(); ++v) {
      prefix += left[v];
      ASSERT_TRUE(changes_at(coins_below(Exact(prefix / sum)), [&](std::uint64_t coin) {
        return draw(coin, weights) <= static_cast<Token>(v);
      }));
    }
  }
  EXPECT_GT(draws, 3000);
}

TEST(BlockOnMasses, StaysBelowTwoToThe188AtTheLargestTotals) {
  // Two rows of total 2^63 - 1 that share nothing: all the sums are as large as they get.
  const MassRow target = row_of({kLargestTotal - 1, 1, 0});
  const MassRow draft = row_of({0, 1, kLargestTotal - 1});
  const BigInteger total = kLargestTotal;
  for (const PrefixRatio ratio : {kWholeRatio, kWholeRatio - 1, PrefixRatio{1}}) {
    Wide sum;
    for (const Wide& weight : block_residual(ratio, target, draft)) sum += weight;
    EXPECT_EQ(big(sum), BigInteger(ratio) * (total - 1) * total);
    const Wide denominator =
        sum +
        Wide::product(kWholeRatio - ratio, static_cast<WideMass>(kLargestTotal) * kLargestTotal);
    EXPECT_EQ(big(denominator), BigInteger(ratio) * (total - 1) * total +
                                    BigInteger(kWholeRatio - ratio) * total * total);
    EXPECT_LT(big(denominator), BigInteger(1) << 188);
    EXPECT_EQ(carried(ratio, target, draft, 2), 0U);
    EXPECT_EQ(carried(ratio, target, draft, 1), ratio);
    is_candidate(kLargest, ratio, target, draft);
    EXPECT_EQ(draw(kLargest, block_residual(ratio, target, draft)), 0);
  }
}

/// Rows on a coarse grid with holes: equal rows, ratios of 0, 1 and powers of two are common.
Batch random_batch(std::mt19937& random) {
  const std::size_t vocab_size = 2 + random() % 3;
  const auto row = [&] {
    Row logits;
    for (std::size_t v = 0; v < vocab_size; ++v) {
      logits.push_back(-static_cast<float>(random() % 3));
      if (random() % 5 == 0) logits.back() = -std::numeric_limits<float>::infinity();
    }
    logits[random() % vocab_size] = 0;
    return logits;
  };
  std::vector<Row> target = {row()}, draft;
  std::vector<Token> tokens;
  for (std::size_t count = 1 + random() % 4; draft.size() < count;) {
    draft.push_back(random() % 2 == 0 ? target.back() : row());
    target.push_back(row());
    Token token = 0;
    do token = static_cast<Token>(random() % vocab_size);
    while (std::isinf(draft.back()[token]));
    tokens.push_back(token);
  }
  return one_request(tokens, target, draft);
}

TEST(BlockOnMasses, NoDrawMeetsAnEmptyResidual) {
  std::mt19937 random(7);
  int recovered = 0;
  for (int i = 0; i < 6000; ++i) {
    const Batch batch = random_batch(random);
    for (int repeat = 0; repeat < 4; ++repeat) {
      ScriptedCoins coins(random() % 2 == 0 ? 0 : kLargest);
      const auto count = static_cast<std::uint32_t>(batch.requests[0].proposal.tokens.size());
      for (std::uint32_t position = 0; position < count; ++position)
        if (random() % 2 == 0)
          coins.set({0, position, Purpose::kAccept}, kLargest * (random() % 2));
      // An empty residual would throw.
      const RequestOutcome outcome = block(batch, batch.requests[0], coins);
      ASSERT_EQ(outcome.status, Status::kOk);
      recovered += outcome.emitted.back().reason == Reason::kRecovered;
    }
  }
  EXPECT_GT(recovered, 1000);
}

}  // namespace
}  // namespace draftproof::reference::verify
