// Distance: bounds that hold. Certified distances against the table they were designed to, coverage
// by simulation, false certificates at the least favourable law; a bound without its deviation term
// fails the same checks. Fixed seeds.
#include <gtest/gtest.h>

#include <cmath>
#include <numeric>
#include <random>
#include <vector>

#include "oracle/debiased.h"
#include "oracle/distance.h"
#include "reference/error.h"
#include "tests/oracle/sampled_laws.h"

namespace draftproof::oracle {
namespace {

using sampled::hardest;
using sampled::Law;
using CountsOf = std::vector<std::uint64_t>;

double total_variation(const Law& one, const Law& other) {
  double sum = 0;
  for (std::size_t i = 0; i < one.size(); ++i) sum += std::fabs(one[i] - other[i]);
  return sum / 2;
}

double divergence(const Law& one, const Law& other) {
  double sum = 0;
  for (std::size_t i = 0; i < one.size(); ++i)
    sum += one[i] > 0 ? one[i] * std::log(one[i] / other[i]) : 0;
  return sum;
}

CountsOf sample(const Law& law, int count, std::mt19937_64& random) {
  CountsOf counts(law.size());
  for (int i = 0; i < count; ++i) ++counts[sampled::drawn(law, random)];
  return counts;
}

TEST(MeanDeviation, IsTheSumOverAllCounts) {
  for (const std::uint64_t n : {1U, 2U, 7U, 40U}) {
    for (const double rate : {0.0, .01, .3, .5, .97, 1.0}) {
      for (const double centre : {0.0, .1, .25, .5, .6, 1.0}) {
        double sum = 0;
        for (std::uint64_t count = 0; count <= n; ++count) {
          const auto k = static_cast<double>(count), size = static_cast<double>(n);
          const double ways =
              std::exp(std::lgamma(size + 1) - std::lgamma(k + 1) - std::lgamma(size - k + 1));
          sum += ways * std::pow(rate, k) * std::pow(1 - rate, size - k) *
                 std::fabs(k / size - centre);
        }
        EXPECT_NEAR(mean_deviation(n, rate, centre).value, sum, 1e-12) << n << rate << centre;
        if (rate > 0 && rate < 1) {
          const double slope = (mean_deviation(n, rate + 1e-6, centre).value -
                                mean_deviation(n, rate - 1e-6, centre).value) /
                               2e-6;
          EXPECT_NEAR(mean_deviation(n, rate, centre).slope, slope, 1e-6) << n << rate << centre;
        }
      }
    }
  }
}

TEST(DebiasedBound, CertifiesWhatTheDesignTabulates) {
  struct Row {
    std::uint64_t samples, cells;
    double certified, plug_in;
  };
  for (const Row& row :
       {Row{10000, 64, .0618, .0639}, Row{10000, 4096, .1694, .2916}, Row{1000000, 8, .0043, .0043},
        Row{1000000, 64, .0062, .0064}, Row{1000000, 4096, .0162, .0287},
        Row{100000000, 4096, .00162, .00287}, Row{100000000, 1000000, .00636, .0402}}) {
    const CellGroup cells{1 / static_cast<double>(row.cells), row.cells};
    const double usual = mean_deviation(row.samples, cells.probability, cells.probability).value *
                         static_cast<double>(row.cells) / 2;
    const double bound = debiased_bound(usual, row.samples, std::span(&cells, 1), 1e-9);
    EXPECT_NEAR(bound / row.certified, 1, .05) << row.samples << " of " << row.cells;
    const double plug_in = usual + std::sqrt(std::log(1e9) / 2 / static_cast<double>(row.samples));
    EXPECT_NEAR(plug_in / row.plug_in, 1, .01);
    EXPECT_LE(bound, plug_in);
  }
}

/// Least mean of TV(counts, law) over laws of four cells at a distance or beyond, by enumeration.
double least_mean(const Law& law, double distance, std::uint64_t samples) {
  double least = 1;
  const int steps = 40;
  for (int a = 0; a <= steps; ++a) {
    for (int b = 0; a + b <= steps; ++b) {
      for (int c = 0; a + b + c <= steps; ++c) {
        const Law other = {a / 40.0, b / 40.0, c / 40.0, (steps - a - b - c) / 40.0};
        if (total_variation(other, law) < distance - 1e-12) continue;
        double mean = 0;
        for (std::size_t i = 0; i < 4; ++i)
          mean += mean_deviation(samples, other[i], law[i]).value / 2;
        least = std::min(least, mean);
      }
    }
  }
  return least;
}

TEST(DebiasedBound, IsNeverBelowTheDistanceWhoseLeastMeanIsReached) {
  // The dual may be loose, never wrong: counts at the mean of the nearest law at `distance`, plus
  // the deviation, must not be certified closer than that law is.
  const Law law = {.4, .3, .2, .1};
  std::vector<CellGroup> cells;
  for (const double each : law) cells.push_back({each, 1});
  for (const std::uint64_t samples : {20U, 200U, 2000U}) {
    for (const double distance : {.1, .2, .4}) {
      const double deviation = std::sqrt(std::log(1e3) / 2 / static_cast<double>(samples));
      const double seen = least_mean(law, distance, samples) - deviation;
      if (seen < 0) continue;
      EXPECT_GE(debiased_bound(seen + 1e-9, samples, cells, 1e-3), distance - 1e-6)
          << samples << " " << distance;
    }
  }
}

TEST(CertifiedDistance, IsFalseLessOftenThanItSaysAtTheLeastFavourableLaw) {
  // 64 cells, 300 samples, miss .05: how often does a law exactly at the certified distance of a
  // usual sample get certified closer than it is?
  const Law law(64, 1.0 / 64);
  const double distance = .35;
  const Law other = hardest(64, distance);
  std::mt19937_64 random(1);
  int lies = 0, lies_without_deviation = 0;
  for (int run = 0; run < 400; ++run) {
    const CountsOf counts = sample(other, 300, random);
    lies += certified_distance(counts, law, .05) < distance ? 1 : 0;
    lies_without_deviation += certified_distance(counts, law, .999) < distance ? 1 : 0;
  }
  EXPECT_LE(lies, 20);
  EXPECT_GT(lies_without_deviation, 20);
}

TEST(EffectOf, BoundsHoldTogether) {
  std::mt19937_64 random(2);
  const Law law = {.35, .25, .2, .1, .06, .04};
  const Law truths[] = {law, {.3, .3, .15, .15, .05, .05}, {.05, .05, .1, .2, .3, .3}};
  int outside = 0, runs = 0;
  for (const Law& truth : truths) {
    for (const int samples : {10, 100, 1000}) {
      for (int run = 0; run < 40; ++run, ++runs) {
        const Effect effect = effect_of(sample(truth, samples, random), law, .1);
        const double apart = total_variation(truth, law), diverged = divergence(truth, law);
        ASSERT_TRUE(effect.divergence_bounds.has_value());
        outside += apart < effect.total_variation_bounds.low ||
                           apart > effect.total_variation_bounds.high ||
                           diverged < effect.divergence_bounds->low ||
                           diverged > effect.divergence_bounds->high
                       ? 1
                       : 0;
        EXPECT_LE(effect.total_variation_bounds.low, effect.total_variation_bounds.high);
      }
    }
  }
  EXPECT_LE(outside, runs / 10);
}

TEST(EffectOf, BoundsNarrowWithSamples) {
  const Law law(16, 1.0 / 16);
  const Law apart = hardest(16, .05);
  CountsOf counts;
  for (const double each : apart)
    counts.push_back(static_cast<std::uint64_t>(std::llround(each * 1.6e6)));
  const Effect effect = effect_of(counts, law, 1e-6);
  EXPECT_NEAR(effect.total_variation, .05, .002);
  EXPECT_GT(effect.total_variation_bounds.low, .045);
  EXPECT_LT(effect.total_variation_bounds.high, .055);
  EXPECT_NEAR(*effect.divergence, divergence(apart, law), 1e-5);
  EXPECT_GE(effect.divergence_bounds->low, 2 * .045 * .045);
  EXPECT_LT(effect.divergence_bounds->high, .05);
}

TEST(EffectOf, IsInfiniteOutsideTheSupportAndNeverANumber) {
  const Law law = {.5, .5, 0};
  const Effect hit = effect_of(CountsOf{50, 49, 1}, law, .01);
  EXPECT_TRUE(std::isinf(*hit.divergence));
  EXPECT_TRUE(std::isinf(hit.divergence_bounds->low));
  const Effect spared = effect_of(CountsOf{50, 50, 0}, law, .01);
  EXPECT_EQ(*spared.divergence, 0);
  EXPECT_EQ(spared.divergence_bounds->low, 0);
  EXPECT_TRUE(std::isinf(spared.divergence_bounds->high));
}

TEST(EffectOf, NothingSaysNothing) {
  const Effect effect = effect_of(CountsOf{0, 0}, Law{.5, .5}, .01);
  EXPECT_EQ(effect.total_variation_bounds.low, 0);
  EXPECT_EQ(effect.total_variation_bounds.high, 1);
  EXPECT_FALSE(effect.divergence.has_value());
  EXPECT_EQ(certified_distance(CountsOf{0, 0}, Law{.5, .5}, .01), 1);
  EXPECT_THROW(effect_of(CountsOf{1}, Law{.5, .5}, .01), BrokenInvariant);
  EXPECT_THROW(effect_of(CountsOf{1, 1}, Law{.5, .6}, .01), BrokenInvariant);
}

TEST(EffectBetween, BoundsHold) {
  std::mt19937_64 random(3);
  const Law one = {.4, .3, .2, .1}, other = {.3, .3, .2, .2};
  int outside = 0;
  for (int run = 0; run < 200; ++run) {
    const Effect effect = effect_between(sample(one, 500, random), sample(other, 800, random), .1);
    outside += effect.total_variation_bounds.low > .1 || effect.total_variation_bounds.high < .1;
    EXPECT_GE(*effect.divergence, 0);
  }
  EXPECT_LE(outside, 20);
}

TEST(EffectBetween, LeavesADivergenceOutThatNothingSpeaksOf) {
  const Effect effect = effect_between(CountsOf{5, 5, 1}, CountsOf{5, 5, 0}, .1);
  EXPECT_FALSE(effect.divergence.has_value());
  EXPECT_GT(effect.total_variation_bounds.high, 0);
  EXPECT_EQ(effect_between(CountsOf{0, 0}, CountsOf{1, 1}, .1).total_variation_bounds.high, 1);
}

}  // namespace
}  // namespace draftproof::oracle
