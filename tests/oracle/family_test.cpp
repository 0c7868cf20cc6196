// Family: what many checks and many looks cost, and partings of greedy decodings. By hand, and the
// false discovery rate by simulation with fixed seeds.
#include "oracle/family.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

#include "oracle/margin.h"
#include "reference/error.h"

namespace draftproof::oracle {
namespace {

TEST(LogAlarm, OfManyChecksIsThatOfOneAndTheirLogarithm) {
  EXPECT_NEAR(log_alarm(1e-9, 1), 9 * std::log(10.0), 1e-12);
  EXPECT_NEAR(log_alarm(1e-9, 10000), 13 * std::log(10.0), 1e-12);
  EXPECT_THROW(log_alarm(0, 1), BrokenInvariant);
  EXPECT_THROW(log_alarm(.1, 0), BrokenInvariant);
}

TEST(ShareOfLook, OfAllLooksIsLessThanTheWholeAndNearlyAllOfIt) {
  double sum = 0;
  for (std::size_t look = 0; look < 100000; ++look) sum += share_of_look(.05, look);
  EXPECT_LT(sum, .05);
  EXPECT_GT(sum, .0499);
}

TEST(Looks, DoubleAndEndAtTheLast) {
  using Sizes = std::vector<std::uint64_t>;
  EXPECT_EQ(looks(10, 45), (Sizes{10, 20, 40, 45}));
  EXPECT_EQ(looks(10, 40), (Sizes{10, 20, 40}));
  EXPECT_EQ(looks(10, 7), (Sizes{7}));
  EXPECT_EQ(looks(10, 0), Sizes{});
  EXPECT_EQ(looks(std::uint64_t{1} << 63, ~std::uint64_t{0}).size(), 2U);
}

TEST(Triage, NamesByHandWhatTheDefinitionNames) {
  // Four checks at rate .1 need 40, 20, 13.3, 10: the second and third fall short of theirs alone,
  // but four e-values of ten are enough together.
  const std::vector<double> ten(4, std::log(10.0) + 1e-9);
  EXPECT_EQ(triage(ten, .1).size(), 4U);
  EXPECT_EQ(triage(std::vector<double>{std::log(41.0), 0, 0, std::log(21.0)}, .1),
            (std::vector<std::size_t>{0, 3}));
  EXPECT_TRUE(triage(std::vector<double>{std::log(39.0), 0, 0, 0}, .1).empty());
  EXPECT_TRUE(triage({}, .1).empty());
}

TEST(Triage, KeepsItsRateWhereNothingIsWrong) {
  // E-values 1/(2 sqrt u) have mean one; under the null every name is a false discovery, so naming
  // anything at all must happen in fewer than one run of ten.
  std::mt19937_64 random(1);
  int runs = 0, runs_of_cheats = 0;
  for (int run = 0; run < 2000; ++run) {
    std::vector<double> honest, doubled;
    for (int i = 0; i < 20; ++i) {
      const double coin = (static_cast<double>(random() >> 11) + .5) * 0x1p-53;
      honest.push_back(-std::log(2 * std::sqrt(coin)));
      doubled.push_back(honest.back() + std::log(50.0));  // of mean fifty: no e-values
    }
    runs += triage(honest, .1).empty() ? 0 : 1;
    runs_of_cheats += triage(doubled, .1).empty() ? 0 : 1;
  }
  EXPECT_LE(runs, 200);
  EXPECT_GT(runs_of_cheats, 200);
}

TEST(Parting, IsATieANearTieOrAFault) {
  const std::vector<double> logits = {1, 3, 3, 2.99, -1};
  EXPECT_EQ(parting(7, 1, 2, logits, 0).kind, PartingKind::kTie);
  EXPECT_EQ(parting(7, 1, 2, logits, 0).position, 7U);
  EXPECT_EQ(parting(0, 1, 3, logits, .02).kind, PartingKind::kNearTie);
  EXPECT_NEAR(parting(0, 1, 3, logits, .02).margin, .01, 1e-12);
  EXPECT_EQ(parting(0, 3, 1, logits, .005).kind, PartingKind::kFault);
  EXPECT_EQ(parting(0, 0, 1, logits, .5).kind, PartingKind::kFault);
}

TEST(Parting, OfEqualLogitsFarBelowTheTopIsAFaultAllTheSame) {
  const auto found = parting(0, 0, 1, std::vector<double>{1, 1, 5}, .1);
  EXPECT_EQ(found.kind, PartingKind::kFault);
  EXPECT_EQ(found.margin, 0);
  EXPECT_EQ(found.behind_top, 4);
}

TEST(Parting, IsNeverExcusedByNaNOrByAnIdOutsideTheRow) {
  const double none = std::numeric_limits<double>::quiet_NaN();
  const double least = -std::numeric_limits<double>::infinity();
  EXPECT_EQ(parting(0, 0, 1, std::vector<double>{none, 1}, 1e9).kind, PartingKind::kFault);
  EXPECT_EQ(parting(0, 0, 1, std::vector<double>{none, none}, 1e9).kind, PartingKind::kFault);
  EXPECT_EQ(parting(0, 0, 1, std::vector<double>{least, 1}, 1e9).kind, PartingKind::kFault);
  EXPECT_EQ(parting(0, 0, 1, std::vector<double>{least, least}, 1e9).kind, PartingKind::kFault);
  EXPECT_EQ(parting(0, 0, 9, std::vector<double>{1, 1}, 1e9).kind, PartingKind::kFault);
  EXPECT_EQ(parting(0, 0, 1, {}, 1).kind, PartingKind::kUndecided);
  EXPECT_THROW(parting(0, 0, 1, std::vector<double>{1, 1}, none), BrokenInvariant);
}

}  // namespace
}  // namespace draftproof::oracle
