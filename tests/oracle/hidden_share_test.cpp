// The size of the certificate's assumption, against its closed form and against plain chance.
#include "oracle/hidden_share.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "reference/error.h"

namespace draftproof::oracle {
namespace {

TEST(HiddenShare, IsOneMinusTheRootOfTheMissProbability) {
  for (double miss : {0.05, 1e-3, 1e-9, 3e-11})
    for (std::uint64_t probes : {1u, 2u, 20u, 1306u, 250000u, 4000000000u}) {
      const double expected = -std::expm1(std::log(miss) / static_cast<double>(probes));
      EXPECT_NEAR(hidden_share(probes, miss), expected, 1e-9 * expected) << probes << " " << miss;
    }
}

TEST(HiddenShare, NoProbesSupportNothingAndOneProbeNextToNothing) {
  EXPECT_EQ(hidden_share(0, 1e-9), 1);
  EXPECT_GE(hidden_share(1, 1e-9), 1 - 1e-8);
  EXPECT_THROW(hidden_share(1, 0), BrokenInvariant);
  EXPECT_THROW(hidden_share(1, std::nan("")), BrokenInvariant);
}

/// How often `probes` random coins miss an anomaly that covers share * 2 w, share * 2 (1 - w) of
/// alternate intervals: shares differ, their mean is `share`.
double missed(std::uint64_t probes, double share, double w) {
  std::mt19937_64 random(5);
  std::uniform_real_distribution<double> coin(0, 1);
  constexpr int kRuns = 20000;
  int count = 0;
  for (int run = 0; run < kRuns; ++run) {
    bool is_met = false;
    for (std::uint64_t i = 0; i < probes; ++i)
      is_met = is_met || coin(random) < 2 * share * (i % 2 == 0 ? w : 1 - w);
    count += is_met ? 0 : 1;
  }
  return static_cast<double>(count) / kRuns;
}

TEST(HiddenShare, AnAnomalyOfThatShareIsMissedAsRarelyAsStatedAndASmallerOneMoreOften) {
  for (double w : {0.5, 0.8, 1.0}) EXPECT_LE(missed(60, hidden_share(60, 0.05), w), 0.056) << w;
  EXPECT_GT(missed(60, hidden_share(60, 0.05) / 2, 0.5), 0.1);
}

TEST(HiddenShare, IsToldWithTheAssumptionAndRoundedUp) {
  EXPECT_EQ(threshold_assumption(20, 1e-9),
            "one threshold per decision, supported by 20 random coins inside the intervals: wrong "
            "decisions on a mean share >= 0.65 of them would have been met with probability >= 1 - "
            "1e-09");
  EXPECT_THAT(threshold_assumption(0, 1e-9), ::testing::Not(::testing::HasSubstr("met")));
  EXPECT_THAT(threshold_assumption(1000000, 1e-9), ::testing::HasSubstr(">= 2.1e-05"));
}

}  // namespace
}  // namespace draftproof::oracle
