// Two-sample evidence: fair under every common law, by enumeration over a grid of laws behind many
// pasts, and by simulation; loud where arms differ; a Bayes factor that is no e-value fails the
// same enumeration. Fixed seeds.
#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <vector>

#include "oracle/two_sample.h"
#include "reference/error.h"
#include "tests/oracle/sampled_laws.h"

namespace draftproof::oracle {
namespace {

using Sequence = std::vector<reference::Token>;
using sampled::drawn;
using sampled::Law;
using sampled::unit;

const std::vector<Sequence> kSequences = {{}, {0}, {1}, {0, 0}, {0, 1}, {1, 0}};

/// Laws over `size` outcomes whose probabilities are multiples of 1/steps.
void grid(std::size_t size, int steps, Law& law, std::vector<Law>& laws, int total) {
  if (law.size() + 1 == size) {
    law.push_back(static_cast<double>(steps) / total);
    laws.push_back(law);
    law.pop_back();
    return;
  }
  for (int part = 0; part <= steps; ++part) {
    law.push_back(static_cast<double>(part) / total);
    grid(size, steps - part, law, laws, total);
    law.pop_back();
  }
}

using Pairs = std::vector<std::pair<std::size_t, std::size_t>>;

double e_value(const Pairs& pairs) {
  TwoSampleEvidence evidence(2);
  for (const auto& [one, other] : pairs) evidence.add(kSequences[one], kSequences[other]);
  return std::exp(evidence.log_e_value());
}

/// The Bayes factor of two Dirichlet laws against one: a fair bet against no law but its own prior.
double bayes_factor(const Pairs& pairs) {
  std::vector<double> one(kSequences.size()), other = one;
  for (const auto& [x, y] : pairs) {
    ++one[x];
    ++other[y];
  }
  const auto log_weight = [](const std::vector<double>& counts) {
    double total = 0, sum = std::lgamma(static_cast<double>(counts.size()));
    for (const double count : counts) {
      sum += std::lgamma(1 + count);
      total += count;
    }
    return sum - std::lgamma(static_cast<double>(counts.size()) + total);
  };
  std::vector<double> both = one;
  for (std::size_t i = 0; i < both.size(); ++i) both[i] += other[i];
  return std::exp(log_weight(one) + log_weight(other) - log_weight(both));
}

/// The largest mean, over a grid of common laws, of what one more pair multiplies the value by.
template <class Value>
double largest_mean(const Pairs& past, const Value& value) {
  std::vector<Law> laws;
  Law law;
  grid(kSequences.size(), 5, law, laws, 5);
  const double before = value(past);
  std::vector<double> after;
  for (std::size_t one = 0; one < kSequences.size(); ++one) {
    for (std::size_t other = 0; other < kSequences.size(); ++other) {
      Pairs longer = past;
      longer.emplace_back(one, other);
      after.push_back(value(longer));
    }
  }
  double largest = 0;
  for (const Law& each : laws) {
    double mean = 0;
    for (std::size_t one = 0; one < each.size(); ++one) {
      for (std::size_t other = 0; other < each.size(); ++other)
        mean += each[one] * each[other] * after[one * each.size() + other];
    }
    largest = std::max(largest, mean / before);
  }
  return largest;
}

Pairs some_past(std::mt19937_64& random, std::size_t length, bool is_apart) {
  const Law first = {.1, .3, .1, .3, .1, .1}, second = {.3, .1, .1, .1, .1, .3};
  Pairs past;
  for (std::size_t i = 0; i < length; ++i)
    past.emplace_back(drawn(first, random), drawn(is_apart ? second : first, random));
  return past;
}

TEST(TwoSampleEvidence, PaysAtMostItsStakeUnderEveryCommonLawWhateverCameBefore) {
  std::mt19937_64 random(1);
  for (const std::size_t length : {0U, 1U, 2U, 5U, 20U, 100U}) {
    for (const bool is_apart : {false, true}) {
      for (int trial = 0; trial < 4; ++trial) {
        EXPECT_LE(largest_mean(some_past(random, length, is_apart), e_value), 1 + 1e-12)
            << length << (is_apart ? " pairs of two laws" : " pairs of one law");
      }
    }
  }
}

TEST(TwoSampleEvidence, ABayesFactorFailsTheSameCheck) {
  EXPECT_GT(largest_mean({}, bayes_factor), 1.04);
}

/// Sequences of `length` tokens of a table of laws by last token.
Sequence chain(const std::vector<Law>& laws, std::size_t length, std::mt19937_64& random) {
  Sequence sequence;
  std::size_t last = 0;
  for (std::size_t i = 0; i < length; ++i) {
    last = drawn(laws[last], random);
    sequence.push_back(static_cast<reference::Token>(last));
  }
  return sequence;
}

std::vector<Law> some_chain(std::size_t vocab, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<Law> laws;
  for (std::size_t row = 0; row < vocab; ++row) {
    Law law(vocab);
    double total = 0;
    for (double& each : law) total += each = -std::log(1 - unit(random));
    for (double& each : law) each /= total;
    laws.push_back(law);
  }
  return laws;
}

std::vector<Law> mixed(const std::vector<Law>& one, const std::vector<Law>& other, double share) {
  std::vector<Law> laws = one;
  for (std::size_t row = 0; row < laws.size(); ++row) {
    for (std::size_t token = 0; token < laws[row].size(); ++token)
      laws[row][token] = (1 - share) * one[row][token] + share * other[row][token];
  }
  return laws;
}

/// The largest log e-value after 1, 2, 4, ... pairs.
double largest_of_run(const std::vector<Law>& one, const std::vector<Law>& other,
                      std::size_t length, std::uint64_t pairs, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  TwoSampleEvidence evidence(one.size());
  double largest = 0;
  std::uint64_t look = 1;
  for (std::uint64_t pair = 1; pair <= pairs; ++pair) {
    const Sequence x = chain(one, length, random), y = chain(other, length, random);
    evidence.add(x, y);
    if (pair == look || pair == pairs) {
      largest = std::max(largest, evidence.log_e_value());
      look *= 2;
    }
  }
  return largest;
}

TEST(TwoSampleEvidence, EverReachesTwentyInFewerThanOneRunOfTwenty) {
  const auto laws = some_chain(4, 1);
  int alarms = 0;
  for (std::uint64_t seed = 0; seed < 200; ++seed)
    alarms += largest_of_run(laws, laws, 4, 256, seed) >= std::log(20.0) ? 1 : 0;
  EXPECT_LE(alarms, 10);
}

TEST(TwoSampleEvidence, OfArmsApartBreaksThatBound) {
  const auto one = some_chain(4, 1), other = mixed(one, some_chain(4, 2), .5);
  int alarms = 0;
  for (std::uint64_t seed = 0; seed < 40; ++seed)
    alarms += largest_of_run(one, other, 4, 256, seed) >= std::log(20.0) ? 1 : 0;
  EXPECT_GT(alarms, 20);
}

TEST(TwoSampleEvidence, SeesOneTokenOfSixteenThatDiffersBySixPercent) {
  // Total variation .064 spread over all sixteen: 2 JS = .0041 nats a pair, 82 at 20,000 pairs less
  // what learning costs.
  Law one(16, 1.0 / 16), other = one;
  for (std::size_t token = 0; token < 16; ++token) other[token] *= token % 2 == 0 ? 1.128 : .872;
  const std::vector<Law> first(16, one), second(16, other);
  for (std::uint64_t seed = 1; seed <= 3; ++seed)
    EXPECT_GT(largest_of_run(first, second, 1, 20000, seed), std::log(1e9));
}

TEST(TwoSampleEvidence, SeesADifferenceDeepInsideLongSequences) {
  // Only what follows token 2 differs, in sequences of 24 tokens, of which no two are alike.
  const auto one = some_chain(8, 3);
  auto other = one;
  other[2] = mixed(one, some_chain(8, 4), .6)[2];
  EXPECT_GT(largest_of_run(one, other, 24, 2000, 1), std::log(1e6));
}

TEST(TwoSampleEvidence, SeesThatOneArmEndsEarlier) {
  std::mt19937_64 random(1);
  TwoSampleEvidence evidence(4);
  for (int pair = 0; pair < 2000; ++pair) {
    const Sequence x(1 + (unit(random) < .5 ? 1 : 0), 0), y(1 + (unit(random) < .7 ? 1 : 0), 0);
    evidence.add(x, y);
  }
  EXPECT_GT(evidence.log_e_value(), std::log(1e9));
  EXPECT_EQ(evidence.pair_count(), 2000U);
}

TEST(TwoSampleEvidence, RefusesIdsOutsideItsVocabulary) {
  TwoSampleEvidence evidence(4);
  EXPECT_THROW(evidence.add(Sequence{4}, Sequence{}), BrokenInvariant);
  EXPECT_THROW(evidence.add(Sequence{}, Sequence{-1}), BrokenInvariant);
  EXPECT_EQ(evidence.log_e_value(), 0);
}

TEST(LogCombined, IsTheMeanOfProductAndMean) {
  const std::vector<double> logs = {std::log(2.0), std::log(8.0)};
  EXPECT_NEAR(log_combined(logs), std::log((16.0 + 5.0) / 2), 1e-12);
  EXPECT_EQ(log_combined({}), 0);
}

}  // namespace
}  // namespace draftproof::oracle
