// Exact tails against closed forms, against each other, and the figures that asymptotic tests get
// wrong.
#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

#include "oracle/exact_tail.h"
#include "oracle/sequential.h"

namespace draftproof::oracle {
namespace {

double pearson(const SampleCounts& counts) {
  const auto n =
      static_cast<double>(std::accumulate(counts.begin(), counts.end(), std::uint64_t{0}));
  const double expected = n / static_cast<double>(counts.size());
  double sum = 0;
  for (const auto count : counts) {
    const double apart = static_cast<double>(count) - expected;
    sum += apart * apart / expected;
  }
  return sum;
}

double likelihood_ratio(const SampleCounts& counts) {
  const auto n =
      static_cast<double>(std::accumulate(counts.begin(), counts.end(), std::uint64_t{0}));
  const double expected = n / static_cast<double>(counts.size());
  double sum = 0;
  for (const auto count : counts) {
    if (count > 0)
      sum += 2 * static_cast<double>(count) * std::log(static_cast<double>(count) / expected);
  }
  return sum;
}

TEST(VisitCounts, SumsToOneInEveryOrderAndInOne) {
  const std::vector<double> uniform(5, .2), skewed = {.5, .3, .1, .1};
  double means[2] = {};
  for (const bool is_symmetric : {false, true}) {
    double total = 0, &mean_of_largest = means[is_symmetric ? 1 : 0];
    std::size_t visits = 0;
    visit_counts(uniform, 9, is_symmetric, [&](const SampleCounts& counts, double probability) {
      total += probability;
      mean_of_largest +=
          probability * static_cast<double>(*std::max_element(counts.begin(), counts.end()));
      ++visits;
    });
    EXPECT_NEAR(total, 1, 1e-12);
    EXPECT_EQ(visits, is_symmetric ? 23U : 715U);
  }
  EXPECT_NEAR(means[0], means[1], 1e-12);
  EXPECT_GT(means[0], 9.0 / 5);
  double total = 0, mean = 0;
  visit_counts(skewed, 7, false, [&](const SampleCounts& counts, double probability) {
    total += probability;
    mean += probability * static_cast<double>(counts[0]);
  });
  EXPECT_NEAR(total, 1, 1e-12);
  EXPECT_NEAR(mean, 3.5, 1e-12);
}

TEST(ExactDistribution, OfTwoCellsIsTheBinomial) {
  const std::vector<double> law = {.3, .7};
  const auto first = exact_distribution(
      law, 40, [](const SampleCounts& counts) { return static_cast<double>(counts[0]); });
  for (const std::uint64_t level : {0U, 5U, 12U, 20U, 40U}) {
    EXPECT_NEAR(first.at_least(static_cast<double>(level)) / binomial_at_least(level, 40, .3), 1,
                1e-9);
    if (level < 40) {
      EXPECT_NEAR(first.above(static_cast<double>(level)) / binomial_at_least(level + 1, 40, .3), 1,
                  1e-9);
    }
  }
  EXPECT_NEAR(binomial_at_most(11, 40, .3) + binomial_at_least(12, 40, .3), 1, 1e-12);
}

TEST(ExactDistribution, ShowsThatAsymptoticGatesPromiseTooMuch) {
  // Eight cells, ten expected in each: what really happens at the critical value for 1e-9.
  const std::vector<double> law(8, .125);
  const double critical = 55.71;  // chi-squared, 7 degrees
  EXPECT_NEAR(chi_squared_at_least(critical, 7) / 1.08e-9, 1, .05);
  const double of_pearson = exact_distribution(law, 80, pearson).at_least(critical);
  const double of_ratio = exact_distribution(law, 80, likelihood_ratio).at_least(critical);
  EXPECT_GT(of_pearson, 8e-9);
  EXPECT_LT(of_pearson, 2e-8);
  EXPECT_GT(of_ratio, 1.2e-9);
  EXPECT_LT(of_ratio, 3e-9);
}

TEST(ExactDistribution, OfEValuesHasMeanOneAndKeepsMarkovsBound) {
  for (const std::size_t cells : {4U, 8U}) {
    const std::vector<double> law(cells, 1 / static_cast<double>(cells));
    const auto values = exact_distribution(
        law, 60, [&](const SampleCounts& counts) { return log_evidence(counts, law); });
    double mean = 0;
    for (const auto& [log_value, probability] : values.values())
      mean += probability * std::exp(log_value);
    EXPECT_NEAR(mean, 1, 1e-4);
    for (int power = 1; power <= 9; ++power) {
      const double rate = std::pow(10.0, -power);
      EXPECT_LE(values.at_least(-std::log(rate)), rate);
      EXPECT_GT(values.at_least(-std::log(rate)), 0);
    }
  }
}

struct Walk {
  std::uint64_t ones = 0, zeros = 0;
};

TEST(EverAtLeast, OfAFairGameIsTheReflectionPrinciple) {
  // P(a walk of 20 steps ever reaches 4) = P(S >= 4) + P(S > 4), and by hand where it never can.
  const std::vector<double> law = {.5, .5}, levels = {4, 21};
  const auto ever = ever_at_least(
      law, 20, levels, Walk{},
      [](const Walk& walk, std::size_t cell) {
        return Walk{walk.ones + (cell == 0), walk.zeros + (cell == 1)};
      },
      [](const Walk& walk) {
        return static_cast<double>(walk.ones) - static_cast<double>(walk.zeros);
      });
  EXPECT_NEAR(ever[0], binomial_at_least(12, 20, .5) + binomial_at_least(13, 20, .5), 1e-12);
  EXPECT_EQ(ever[1], 0);
}

TEST(EverAtLeast, OfPValuesLookedAtEachTimeBreaksWhatOfEValuesHolds) {
  const std::vector<double> law = {.5, .5}, levels = {std::log(20.0)};
  const auto step = [](const SampleCounts& counts, std::size_t cell) {
    SampleCounts after = counts;
    ++after[cell];
    return after;
  };
  const auto by_evidence =
      ever_at_least(law, 200, levels, SampleCounts{0, 0}, step,
                    [&](const SampleCounts& counts) { return log_evidence(counts, law); });
  EXPECT_LE(by_evidence[0], .05);
  const auto by_p_value =
      ever_at_least(law, 200, levels, SampleCounts{0, 0}, step, [&](const SampleCounts& counts) {
        return -std::log(chi_squared_at_least(pearson(counts), 1));
      });
  EXPECT_GT(by_p_value[0], .2);
}

}  // namespace
}  // namespace draftproof::oracle
