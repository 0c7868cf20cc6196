// Paired scores: intervals that hold. Misses are computed by summing over all outcomes, not drawn;
// the interval that most would take, mean and 1.96 standard errors, fails the same check.
#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "oracle/paired_scores.h"
#include "reference/error.h"

namespace draftproof::oracle {
namespace {

using Scores = std::vector<PairedScore>;

/// So many samples that only the baseline solves, only the other arm, and both.
Scores scores_of(int lost, int won, int same) {
  Scores scores;
  scores.insert(scores.end(), static_cast<std::size_t>(lost), {1, 0});
  scores.insert(scores.end(), static_cast<std::size_t>(won), {0, 1});
  scores.insert(scores.end(), static_cast<std::size_t>(same), {1, 1});
  return scores;
}

/// Probability that an interval of `size` pairs, lost with `loss` and else the same, misses the
/// true drop.
template <class BoundsOf>
double miss_of(int size, double loss, const BoundsOf& bounds_of) {
  double missed = 0;
  for (int lost = 0; lost <= size; ++lost) {
    const double ways =
        std::lgamma(size + 1) - std::lgamma(lost + 1) - std::lgamma(size - lost + 1);
    const double chance =
        std::exp(ways + lost * std::log(loss) + (size - lost) * std::log1p(-loss));
    const Interval bounds = bounds_of(scores_of(lost, 0, size - lost));
    if (loss < bounds.low || loss > bounds.high) missed += chance;
  }
  return missed;
}

Interval usual(const Scores& scores) {
  const double size = static_cast<double>(scores.size());
  double mean = 0, squares = 0;
  for (const auto& each : scores) mean += (each.baseline - each.speculative) / size;
  for (const auto& each : scores) {
    const double off = each.baseline - each.speculative - mean;
    squares += off * off;
  }
  const double half = 1.96 * std::sqrt(squares / (size - 1) / size);
  return {mean - half, mean + half};
}

TEST(PairedScores, MissTheDropNoOftenerThanTheySay) {
  for (const int size : {1, 2, 5, 20, 100})
    for (const double loss : {0.001, 0.02, 0.3, 0.5, 0.98})
      EXPECT_LE(miss_of(size, loss,
                        [](const Scores& scores) { return score_drop(scores, true, 0.05).bounds; }),
                0.05)
          << size << " pairs, loss " << loss;
}

TEST(PairedScores, AreMissedByTheUsualIntervalOfRareLosses) {
  EXPECT_GT(miss_of(20, 0.02, usual), 0.5);
}

TEST(PairedScores, HoldForSamplesOfDifferentLaws) {
  // Half of the prompts never change, half are lost with probability 0.4: a drop of 0.2.
  double missed = 0;
  const int size = 30;
  for (int lost = 0; lost <= size; ++lost) {
    const double ways =
        std::lgamma(size + 1) - std::lgamma(lost + 1) - std::lgamma(size - lost + 1);
    const double chance = std::exp(ways + lost * std::log(.4) + (size - lost) * std::log(.6));
    const Interval bounds = score_drop(scores_of(lost, 0, 2 * size - lost), true, 0.05).bounds;
    if (bounds.low > .2 || bounds.high < .2) missed += chance;
  }
  EXPECT_LE(missed, 0.05);
}

TEST(PairedScores, NarrowAsSamplesGrowAndAreTightWhereArmsAgree) {
  const auto width = [](const Scores& scores) {
    const Interval bounds = score_drop(scores, true, 1e-6).bounds;
    return bounds.high - bounds.low;
  };
  EXPECT_LT(width(scores_of(10, 10, 980)), 0.12);
  EXPECT_LT(width(scores_of(100, 100, 9800)), 0.03);
  EXPECT_GT(width(scores_of(500, 500, 0)), width(scores_of(10, 10, 980)));
  const ScoreDrop drop = score_drop(scores_of(120, 40, 640), true, 0.05);
  EXPECT_NEAR(drop.drop, 0.1, 1e-12);
  EXPECT_GT(drop.bounds.low, 0);
  EXPECT_LT(drop.bounds.high, 0.2);
  EXPECT_TRUE(drop.holds_exactly);
}

TEST(PairedScores, SayNothingWithoutSamples) {
  const ScoreDrop drop = score_drop({}, true, 0.05);
  EXPECT_EQ(drop.bounds.low, -1);
  EXPECT_EQ(drop.bounds.high, 1);
  EXPECT_TRUE(std::isinf(score_drop({}, false, 0.05).bounds.high));
}

TEST(PairedScores, OfNoRangeHaveStudentsInterval) {
  // Differences 1, 2, 3: mean 2, standard error 1/sqrt 3, and t of two degrees is 4.302653.
  const Scores scores = {{11, 10}, {12, 10}, {13, 10}};
  const ScoreDrop drop = score_drop(scores, false, 0.05);
  EXPECT_FALSE(drop.holds_exactly);
  EXPECT_NEAR(drop.bounds.high, 2 + 4.30265273 / std::sqrt(3.0), 1e-6);
  EXPECT_NEAR(drop.bounds.low, 2 - 4.30265273 / std::sqrt(3.0), 1e-6);
  // Without a spread nobody knows one.
  EXPECT_TRUE(std::isinf(score_drop(Scores{{5, 4}, {5, 4}}, false, 0.05).bounds.high));
  EXPECT_THROW(score_drop(scores, true, 0.05), BrokenInvariant);
}

TEST(PairedScores, BoundSharesAsClopperAndPearsonDo) {
  // No failure in 10: 1 - 0.025^(1/10).
  const Interval all = share_bounds(10, 10, 0.05);
  EXPECT_NEAR(all.low, std::pow(0.025, 0.1), 1e-12);
  EXPECT_EQ(all.high, 1);
  EXPECT_NEAR(share_bounds(0, 10, 0.05).high, 1 - std::pow(0.025, 0.1), 1e-12);
  const Interval half = share_bounds(5, 10, 0.05);  // their table
  EXPECT_NEAR(half.low, 0.1871, 1e-4);
  EXPECT_NEAR(half.high, 0.8129, 1e-4);
  EXPECT_EQ(share_bounds(0, 0, 0.05).low, 0);
  EXPECT_EQ(share_bounds(0, 0, 0.05).high, 1);
}

}  // namespace
}  // namespace draftproof::oracle
