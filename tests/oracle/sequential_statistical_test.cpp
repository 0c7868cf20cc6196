// E-values with fixed seeds: quiet under the law, loud under another one.
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "oracle/sequential.h"
#include "reference/error.h"

namespace draftproof::oracle {
namespace {

std::vector<std::uint64_t> sample(const std::vector<double>& law, int count, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<std::uint64_t> counts(law.size());
  for (int i = 0; i < count; ++i) {
    double point = static_cast<double>(random() >> 11) * 0x1p-53;
    std::size_t cell = 0;
    while (cell + 1 < law.size() && point >= law[cell]) point -= law[cell++];
    ++counts[cell];
  }
  return counts;
}

const std::vector<double> kLaw = {0.1, 0.3, 0.6};

TEST(LogEvidence, UnderTheLawStaysBelowTheAlarm) {
  // P(e-value >= 1/alpha) <= alpha: with 300 seeds and alpha = 1/30 at most 10 expected; the bound
  // of 30 is exceeded with probability below 1e-6 (binomial tail), and the seeds are fixed anyway.
  int alarms = 0;
  for (std::uint64_t seed = 0; seed < 300; ++seed)
    if (log_evidence(sample(kLaw, 2000, seed), kLaw) >= std::log(30.0)) ++alarms;
  EXPECT_LE(alarms, 30);
}

TEST(LogEvidence, UnderAnotherLawRaisesTheAlarmAtOneInABillion) {
  // Total variation 0.05 at 20,000 draws: noncentrality 4 n TV^2 = 200, far above the 71 needed.
  EXPECT_GT(log_evidence(sample({0.15, 0.3, 0.55}, 20000, 1), kLaw), std::log(1e9));
}

TEST(LogEvidence, IsInfiniteForATokenOfProbabilityZeroAndZeroForNothing) {
  EXPECT_TRUE(std::isinf(log_evidence({1, 1}, {1.0, 0.0})));
  EXPECT_NEAR(log_evidence({0, 0}, {0.5, 0.5}), 0, 1e-9);
  EXPECT_THROW(log_evidence({1}, {0.5, 0.5}), BrokenInvariant);
}

TEST(LogEvidence, AgreesWithTheClosedFormForOneDraw) {
  // The mean of a centred Dirichlet is the law, so one draw is no evidence at all.
  EXPECT_NEAR(log_evidence({0, 1, 0}, kLaw), 0, 1e-5);
}

TEST(LogMean, IsTheLogarithmOfTheMean) {
  EXPECT_NEAR(log_mean({std::log(1.0), std::log(3.0)}), std::log(2.0), 1e-12);
  EXPECT_NEAR(log_mean({1000, 1000}), 1000, 1e-9);
  EXPECT_EQ(log_mean({}), 0);
}

}  // namespace
}  // namespace draftproof::oracle
