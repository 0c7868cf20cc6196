// Bounds on the mean from samples, with fixed seeds: they hold the mean as often as they say, at
// every time at once, and close in on it.
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "oracle/expected_length.h"
#include "reference/error.h"

namespace draftproof::oracle {
namespace {

/// Counts of 1, 2, 3 tokens with these chances.
struct Source {
  std::vector<double> chances;
  double mean() const { return chances[0] + 2 * chances[1] + 3 * chances[2]; }
  void add(LengthCounts& counts, int samples, std::mt19937_64& random) const {
    counts.resize(4);
    for (int i = 0; i < samples; ++i) {
      const double point = static_cast<double>(random() >> 11) * 0x1p-53;
      ++counts[point < chances[0] ? 1 : point < chances[0] + chances[1] ? 2 : 3];
    }
  }
};
const Source kSource = {{.5, .3, .2}};  // mean 1.7

LengthExpectation expectation(const char* optimum, const char* length) {
  return {reference::exact_from_text(optimum), "an optimum", "a rule",
          reference::exact_from_text(length), 3};
}

TEST(MeanBounds, HoldTheMeanAtEveryLookInAllButTheStatedShareOfRuns) {
  // With 200 runs and 1/10 at most 20 expected; a bettor's wealth rarely spends all of it.
  int misses = 0;
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    std::mt19937_64 random(seed);
    LengthCounts counts;
    bool is_missed = false;
    for (int look = 0; look < 8; ++look) {
      kSource.add(counts, 25 << look, random);
      const MeanBounds bounds = mean_bounds(counts, 3, 0.1);
      is_missed |= bounds.low > kSource.mean() || bounds.high < kSource.mean();
    }
    misses += is_missed ? 1 : 0;
  }
  EXPECT_LE(misses, 20);
}

TEST(MeanBounds, CloseInOnTheMean) {
  std::mt19937_64 random(7);
  LengthCounts counts;
  kSource.add(counts, 1'000'000, random);
  const MeanBounds bounds = mean_bounds(counts, 3, 1e-9);
  EXPECT_LT(bounds.low, kSource.mean());
  EXPECT_GT(bounds.high, kSource.mean());
  // Hoeffding's interval at the same level is 2 x 2 sqrt(ln(2e9) / 2e6) = .0131 wide; the sample's
  // deviation is .78, so betting may gain on it, and must not lose much.
  EXPECT_LT(bounds.high - bounds.low, .0131);
}

TEST(MeanBounds, AreTheWholeRangeWithoutSamplesAndAPointWhereThereIsOneLength) {
  EXPECT_EQ(mean_bounds({}, 3, 0.1).low, 1);
  EXPECT_EQ(mean_bounds({}, 3, 0.1).high, 3);
  EXPECT_EQ(mean_bounds({0, 100}, 1, 0.1).high, 1);
  EXPECT_THROW(mean_bounds({0, 1, 0, 0, 1}, 3, 0.1), BrokenInvariant) << "4 tokens of 3";
  EXPECT_THROW(mean_bounds({1}, 3, 0.1), BrokenInvariant) << "an iteration without a token";
}

TEST(EmitsNoMoreThanLossless, FromSamplesSaysYesNoAndNotYet) {
  std::mt19937_64 random(11);
  LengthCounts counts;
  kSource.add(counts, 100'000, random);
  const auto on = [&](const char* optimum, double visible) {
    return emits_no_more_than_lossless(counts, expectation(optimum, "1.7"), 1e-9, visible);
  };
  const Verdict lossy = on("1.65", 0.01);
  EXPECT_EQ(lossy.kind, VerdictKind::kViolated);
  EXPECT_EQ(lossy.notes, std::vector<std::string>{"lossy"});
  EXPECT_EQ(lossy.trials, 100'000u);
  EXPECT_EQ(on("1.75", 0).kind, VerdictKind::kUpheld);
  EXPECT_EQ(on("1.7", 0).kind, VerdictKind::kInconclusive) << "at the optimum itself";
  EXPECT_EQ(on("1.7", 0.05).kind, VerdictKind::kUpheld);
  EXPECT_EQ(on("3", 0.05).kind, VerdictKind::kInconclusive) << "not exercised";
}

TEST(EmitsAsItsRule, FromSamplesHoldsBothSides) {
  std::mt19937_64 random(12);
  LengthCounts counts;
  kSource.add(counts, 100'000, random);
  const auto on = [&](const char* length, double visible) {
    return emits_as_its_rule(counts, expectation("2", length), true, 1e-9, visible);
  };
  EXPECT_EQ(on("1.7", 0.05).kind, VerdictKind::kUpheld);
  EXPECT_EQ(on("1.7", 0.001).kind, VerdictKind::kInconclusive) << "too few samples for that";
  EXPECT_EQ(on("1.65", 0.05).kind, VerdictKind::kViolated);
  EXPECT_EQ(on("1.75", 0.05).notes, std::vector<std::string>{"lossless but inefficient"});
}

TEST(EmitsNoMoreThanLossless, RaisesNoFalseAlarmAtTheOptimum) {
  for (std::uint64_t seed = 1; seed <= 100; ++seed) {
    std::mt19937_64 random(seed + 1000);
    LengthCounts counts;
    kSource.add(counts, 2000, random);
    EXPECT_NE(emits_no_more_than_lossless(counts, expectation("1.7", "1.7"), 1e-6, 0).kind,
              VerdictKind::kViolated);
  }
}

}  // namespace
}  // namespace draftproof::oracle
