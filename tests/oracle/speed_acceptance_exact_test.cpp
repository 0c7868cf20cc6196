// Acceptance. Goal: the expected length three ways (closed form, exact sum, trace) is one number,
// held against brute force over all outcomes of a draft, and the two rates are never the same
// thing.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/math/distributions/binomial.hpp>
#include <random>

#include "oracle/speed/acceptance.h"
#include "reference/error.h"

namespace draftproof::oracle::speed {
namespace {

using reference::Exact;

/// By enumeration: every subset of positions that would be accepted, committed = 1 + the length of
/// its prefix. Shares nothing with the sum of products.
Exact enumerated_committed(const std::vector<Exact>& rates) {
  Exact expected = 0;
  for (unsigned outcome = 0; outcome < (1u << rates.size()); ++outcome) {
    Exact probability = 1;
    int committed = 1;
    bool is_prefix = true;
    for (std::size_t i = 0; i < rates.size(); ++i) {
      const bool is_accepted = (outcome >> i & 1) != 0;
      probability *= is_accepted ? rates[i] : Exact(1 - rates[i]);
      is_prefix = is_prefix && is_accepted;
      committed += is_prefix ? 1 : 0;
    }
    expected += probability * committed;
  }
  return expected;
}

TEST(ExpectedCommitted, IsTheMeanOverAllOutcomesExactly) {
  const std::vector<std::vector<Exact>> families = {
      {},
      {Exact(4, 5)},
      {Exact(1, 2), Exact(1, 3), Exact(1, 7)},
      {Exact(9, 10), Exact(0), Exact(1)},
      {Exact(1), Exact(1), Exact(1), Exact(1)},
      {Exact(2, 3), Exact(3, 4), Exact(4, 5), Exact(5, 6), Exact(6, 7), Exact(1, 100)}};
  for (const auto& rates : families) {
    EXPECT_EQ(expected_committed(rates), enumerated_committed(rates)) << rates.size();
  }
}

TEST(ExpectedCommitted, ClosedFormIsTheSumOfProductsForAConstantRate) {
  for (const Exact& rate : {Exact(0), Exact(1, 10), Exact(3, 5), Exact(9, 10), Exact(999, 1000),
                            Exact(999999999, 1000000000), Exact(1)}) {
    for (const int length : {0, 1, 2, 5, 13, 40}) {
      const Exact exact = expected_committed(std::vector<Exact>(length, rate));
      const auto closed = expected_committed(rate.convert_to<double>(), length);
      // log, expm1, one division: a few ulp, except that 1 - a is exact only to one ulp of a, which
      // is 2^-53 / (1 - a) relative; the numerator moves with it, so 1e-15 D is left.
      EXPECT_NEAR(closed, exact.convert_to<double>(), 1e-13 * (length + 1)) << rate << length;
    }
  }
}

TEST(ExpectedCommitted, RefusesWhatIsNoRate) {
  EXPECT_THROW(expected_committed(1.1, 3), BrokenInvariant);
  EXPECT_THROW(expected_committed(std::nan(""), 3), BrokenInvariant);
  EXPECT_THROW(expected_committed(0.5, -1), BrokenInvariant);
  EXPECT_THROW(expected_committed(std::vector<double>{0.5, -0.1}), BrokenInvariant);
}

TEST(TwoRates, DifferForEveryDraftOfMoreThanOneToken) {
  for (const double rate : {0.1, 0.5, 0.8, 0.99}) {
    EXPECT_NEAR(draft_acceptance_of(rate, 1), rate, 1e-14);
    for (const int length : {2, 5, 16}) EXPECT_LT(draft_acceptance_of(rate, length), rate - 1e-3);
  }
  // By hand: .8 + .64 + .512 + .4096 + .32768 = 2.68928, over 5.
  EXPECT_NEAR(draft_acceptance_of(0.8, 5), 0.537856, 1e-12);
}

TEST(TwoRates, ConvertBackAndForth) {
  for (const double rate : {0.0, 0.01, 0.3, 0.8, 0.999, 1.0})
    for (const int length : {1, 2, 5, 33})
      EXPECT_NEAR(conditional_acceptance_of(draft_acceptance_of(rate, length), length), rate, 1e-9)
          << rate << " " << length;
}

TEST(PositionRates, AreCountedByHand) {
  // Two drafts of 3 and one of 1: accepted 3, 1, 0.
  const auto rates = position_rates({{3, 3}, {3, 1}, {1, 0}, {0, 0}});
  ASSERT_EQ(rates.size(), 3u);
  EXPECT_EQ(rates[0].reached, 3);
  EXPECT_EQ(rates[0].accepted, 2);
  EXPECT_EQ(rates[1].reached, 2);
  EXPECT_EQ(rates[1].accepted, 1);
  EXPECT_EQ(rates[2].reached, 1);
  EXPECT_EQ(rates[2].accepted, 1);
  EXPECT_DOUBLE_EQ(*draft_acceptance({{3, 3}, {3, 1}, {1, 0}, {0, 0}}), 4.0 / 7);
  // 1 + 2/3 + 2/3 1/2 + 2/3 1/2 1.
  EXPECT_DOUBLE_EQ(*expected_committed(rates, 3), 1 + 2.0 / 3 + 1.0 / 3 + 1.0 / 3);
  EXPECT_FALSE(draft_acceptance({{0, 0}}));
  EXPECT_TRUE(position_rates({}).empty());
  EXPECT_THROW(position_rates({{2, 3}}), BrokenInvariant);
}

TEST(PositionRates, GiveTheMeanOfTheTraceExactlyWhenLengthsAreEqual) {
  std::mt19937_64 random(7);
  std::vector<VerifiedDraft> drafts;
  double committed = 0;
  for (int n = 0; n < 500; ++n) {
    const auto accepted = static_cast<std::int64_t>(random() % 6);
    drafts.push_back({5, accepted});
    committed += 1 + static_cast<double>(accepted);
  }
  // Telescoping: each product of rates is (accepted at i) / 500; 5 products of 5 roundings each.
  EXPECT_NEAR(*expected_committed(position_rates(drafts), 5), committed / 500, 1e-13);
}

TEST(PositionRates, RecoverTheRatesThatMadeTheTrace) {
  const std::vector<double> rates = {0.9, 0.7, 0.8, 0.4};
  std::mt19937_64 random(11);
  std::uniform_real_distribution<double> coin(0, 1);
  std::vector<VerifiedDraft> drafts;
  for (int n = 0; n < 20000; ++n) {
    const std::size_t length = 1 + random() % rates.size();
    std::int64_t accepted = 0;
    while (accepted < static_cast<std::int64_t>(length) && coin(random) < rates[accepted])
      ++accepted;
    drafts.push_back({static_cast<std::int64_t>(length), accepted});
  }
  const auto measured = position_rates(drafts);
  bool sees_a_wrong_rate = false;
  for (std::size_t i = 0; i < rates.size(); ++i) {
    // 1e-6 a side and position: the seed is fixed, so this either always or never holds.
    const Interval interval = measured[i].interval(2e-6);
    EXPECT_LT(interval.low, rates[i]);
    EXPECT_GT(interval.high, rates[i]);
    sees_a_wrong_rate = sees_a_wrong_rate || interval.high < rates[i] + 0.1;
  }
  EXPECT_TRUE(sees_a_wrong_rate) << "the intervals are too wide to say anything";
}

TEST(PositionRate, HasTheIntervalWhoseEndsJustExplainTheCount) {
  const PositionRate position{40, 9};
  const Interval interval = position.interval(0.05);
  const boost::math::binomial_distribution<double> at_low(40, interval.low);
  const boost::math::binomial_distribution<double> at_high(40, interval.high);
  EXPECT_NEAR(cdf(complement(at_low, 8)), 0.025, 1e-9);  // 9 or more
  EXPECT_NEAR(cdf(at_high, 9), 0.025, 1e-9);             // 9 or fewer
  EXPECT_EQ((PositionRate{5, 0}.interval(0.05).low), 0);
  EXPECT_EQ((PositionRate{5, 5}.interval(0.05).high), 1);
  EXPECT_EQ((PositionRate{}.interval(0.05).high), 1);
}

TEST(PositionRates, SayNothingWhereNothingWasReached) {
  EXPECT_FALSE(expected_committed(position_rates({}), 2));
  EXPECT_EQ(*expected_committed(position_rates({}), 0), 1);
  // Behind the measured positions the pooled rate goes on: 1 + 1/2 + 1/4.
  EXPECT_DOUBLE_EQ(*expected_committed(position_rates({{1, 1}, {1, 0}}), 2), 1.75);
}

}  // namespace
}  // namespace draftproof::oracle::speed
