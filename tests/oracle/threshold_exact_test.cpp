// Thresholds by long division against unbounded rationals, and both against their definition: the
// coin below decides one way, the coin at the threshold the other.
#include <gtest/gtest.h>

#include <random>

#include "oracle/threshold.h"
#include "reference/error.h"

namespace draftproof::oracle {
namespace {

using reference::Exact;
using reference::MassRow;
using reference::WideMass;

MassRow row(std::vector<reference::Mass> mass) {
  MassRow result;
  result.mass = std::move(mass);
  for (reference::Mass each : result.mass) result.total += each;
  return result;
}

/// Rows with zeros, small and huge masses, whose totals stay below 2^63.
MassRow random_row(std::mt19937_64& random, std::size_t vocab_size) {
  std::vector<reference::Mass> mass;
  for (std::size_t v = 0; v < vocab_size; ++v) {
    const int bits = static_cast<int>(random() % 59);
    mass.push_back(random() % 4 == 0 ? 0 : (random() & ((std::uint64_t{2} << bits) - 1)));
  }
  mass[random() % vocab_size] += 1;
  return row(mass);
}

TEST(CeilRatio, RoundsUpToTheNextCoin) {
  EXPECT_TRUE(ceil_ratio(WideMass{0}, 3) == 0);
  EXPECT_TRUE(ceil_ratio(WideMass{1}, 2) == Threshold{1} << 63);
  EXPECT_TRUE(ceil_ratio(WideMass{1}, 3) == 0x5555555555555556);
  EXPECT_TRUE(ceil_ratio(WideMass{3}, 3) == kAlways);
  EXPECT_TRUE(ceil_ratio(WideMass{5}, 3) == kAlways);
  EXPECT_TRUE(ceil_ratio(WideMass{1}, WideMass{1} << 126) == 1);
  EXPECT_TRUE(ceil_ratio((WideMass{1} << 126) - 1, WideMass{1} << 126) == kAlways);
  EXPECT_THROW(ceil_ratio(WideMass{1}, 0), BrokenInvariant);
}

TEST(CeilRatio, WideDenominatorsTakeTheRationalWay) {
  const WideMass denominator = ~WideMass{0};
  EXPECT_TRUE(ceil_ratio(denominator >> 1, denominator) == Threshold{1} << 63);
  EXPECT_TRUE(ceil_ratio(WideMass{1}, denominator) == 1);
}

TEST(Thresholds, LongDivisionAndRationalsAgreeOnEveryEdge) {
  std::mt19937_64 random(1);
  for (int round = 0; round < 300; ++round) {
    const std::size_t vocab_size = 1 + random() % 9;
    const MassRow target = random_row(random, vocab_size), draft = random_row(random, vocab_size);
    for (std::size_t token = 0; token < vocab_size; ++token)
      if (draft.mass[token] > 0) {
        ASSERT_TRUE(accept_threshold(target, draft, token) ==
                    accept_threshold_exact(target, draft, token));
      }
    ASSERT_TRUE(residual_thresholds(target, draft) == residual_thresholds_exact(target, draft));
  }
}

TEST(Thresholds, AThresholdIsTheLeastCoinThatRejects) {
  std::mt19937_64 random(2);
  const Exact unit(reference::BigInteger(1) << 64);
  for (int round = 0; round < 300; ++round) {
    const MassRow target = random_row(random, 3), draft = random_row(random, 3);
    if (draft.mass[0] == 0) continue;
    const Threshold threshold = accept_threshold(target, draft, 0);
    const Exact ratio = Exact(target.mass[0], target.total) / Exact(draft.mass[0], draft.total);
    if (threshold > 0) {
      EXPECT_LT(Exact(static_cast<std::uint64_t>(threshold - 1)) / unit, ratio);
    }
    if (threshold < kAlways) {
      EXPECT_GE(Exact(static_cast<std::uint64_t>(threshold)) / unit, ratio);
    }
  }
}

TEST(Thresholds, EqualLawsHaveNoResidualAndAlwaysAccept) {
  const MassRow target = row({2, 0, 6}), draft = row({1, 0, 3});
  EXPECT_TRUE(residual_thresholds(target, draft).empty());
  EXPECT_TRUE(accept_threshold(target, draft, 0) == kAlways);
  EXPECT_THROW(accept_threshold(target, draft, 1), BrokenInvariant);
}

TEST(Thresholds, CumulativeStepsSkipTokensWithoutMass) {
  const std::vector<Threshold> steps = cumulative_thresholds(row({0, 1, 0, 1, 0}));
  const Threshold half = Threshold{1} << 63;
  EXPECT_TRUE(steps == (std::vector<Threshold>{0, half, half, kAlways, kAlways}));
}

}  // namespace
}  // namespace draftproof::oracle
