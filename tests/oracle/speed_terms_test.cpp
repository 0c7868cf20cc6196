// Terms of a step. Goal: each formula against hand-made numbers or enumeration, and the borders
// where one term takes over from another.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>

#include "oracle/speed/placement.h"
#include "oracle/speed/step_speed.h"
#include "oracle/speed/verify_slope.h"
#include "reference/error.h"

namespace draftproof::oracle::speed {
namespace {

TEST(Placement, DecidesWhichDraftTimeAStepSees) {
  const StepTerms terms{3, 10, 0.5, 0.25, 2, 0.25};
  EXPECT_DOUBLE_EQ(step_time(terms, Placement::kSerial), 16);
  EXPECT_DOUBLE_EQ(step_time(terms, Placement::kRemote), 16);
  EXPECT_DOUBLE_EQ(step_time(terms, Placement::kOverlapped), 11);
  EXPECT_DOUBLE_EQ(step_time({9, 10, 0, 0, 2, 0}, Placement::kOverlapped), 11);
  EXPECT_EQ(placement_from("remote"), Placement::kRemote);
  EXPECT_FALSE(placement_from("local"));
}

TEST(AheadOfTime, IsSerialWithoutHitsAndFreeDraftingWithThem) {
  EXPECT_DOUBLE_EQ(ahead_of_time_speed({0, 4, 3, 0.9, 0.2}), 3 / 1.2);
  EXPECT_DOUBLE_EQ(ahead_of_time_speed({1, 4, 3, 0.9, 0.2}), 4);
  EXPECT_DOUBLE_EQ(ahead_of_time_speed({1, 4, 3, 1.6, 0.2}), 4 / 1.6);
  EXPECT_DOUBLE_EQ(ahead_of_time_speed({0.5, 4, 3, 0.9, 0.2}), 3.5 / (0.5 + 0.6));
  EXPECT_THROW(ahead_of_time_speed({1.5, 4, 3, 1, 1}), BrokenInvariant);
}

TEST(StepSpeed, IsTheQuotientOfTheTwoTimesPerToken) {
  EXPECT_DOUBLE_EQ(step_speed(3, 10, {4, 11, 0.5, 0.5, 0, 0}, Placement::kSerial), 30.0 / 16);
  EXPECT_DOUBLE_EQ(flat_speed(3, {0.25}, 4), 1.5);
  EXPECT_DOUBLE_EQ(flat_speed(3, {0.25}, 4, DraftPasses::kOne), 2.4);
  EXPECT_DOUBLE_EQ(flat_speed(3, {0.25}, 0, DraftPasses::kOne), 3);
  EXPECT_THROW(step_speed(3, 10, {}, Placement::kSerial), BrokenInvariant);
}

TEST(Rho, AsTimeAndAsLayersAreTwoNumbersOfOneFormula) {
  const MeasuredRho measured = measured_rho(0.006, 3, 0.020);
  EXPECT_DOUBLE_EQ(measured.value, 0.1);
  // One layer beside 32: three times cheaper on paper than on the clock.
  const LayerRho layers = layer_rho(1, 32);
  EXPECT_DOUBLE_EQ(layers.value, 0.03125);
  EXPECT_LT(flat_speed(2.5, measured, 3), flat_speed_estimate(2.5, layers, 3));
}

/// Mean number of different experts over every choice of k of E by every row.
double enumerated_experts(unsigned experts, unsigned per_token, unsigned rows) {
  std::vector<unsigned> picks;
  for (unsigned set = 0; set < (1u << experts); ++set)
    if (std::popcount(set) == static_cast<int>(per_token)) picks.push_back(set);
  std::vector<unsigned> unions = {0};
  for (unsigned row = 0; row < rows; ++row) {
    std::vector<unsigned> next;
    for (const unsigned seen : unions)
      for (const unsigned pick : picks) next.push_back(seen | pick);
    unions = next;
  }
  double sum = 0;
  for (const unsigned seen : unions) sum += std::popcount(seen);
  return sum / static_cast<double>(unions.size());
}

TEST(ActiveExperts, AreTheMeanOverAllChoices) {
  for (unsigned experts = 1; experts <= 5; ++experts)
    for (unsigned per_token = 0; per_token <= experts; ++per_token)
      for (unsigned rows = 0; rows <= 3; ++rows)
        EXPECT_NEAR(expected_active_experts(experts, per_token, rows),
                    enumerated_experts(experts, per_token, rows), 1e-12)
            << experts << per_token << rows;
  EXPECT_THROW(expected_active_experts(4, 5, 1), BrokenInvariant);
}

TargetShape mixture() {
  TargetShape target;
  target.dense_bytes = 4e9;
  target.expert_bytes = 1e9;
  target.experts = 64;
  target.experts_per_token = 8;
  target.kv_bytes_per_token = 1e5;
  target.operations_per_row = 2e10;
  target.query_group = 8;
  return target;
}

TEST(VerifyTerms, AreBytesOverBandwidthAndOperationsOverRate) {
  const DeviceRates device{1e12, 1e14, 0, 0};
  const VerifyTerms terms = verify_terms(mixture(), device, {2, 0, 1000});
  EXPECT_DOUBLE_EQ(terms.dense_weights, 4e-3);
  // 64 (1 - (7/8)^2) = 15 experts of 1 ms each.
  EXPECT_NEAR(terms.experts, 15e-3, 1e-15);
  EXPECT_DOUBLE_EQ(terms.kv, 2 * 1000 * 1e5 / 1e12);
  EXPECT_DOUBLE_EQ(terms.arithmetic, 2 * 2e10 / 1e14);
  EXPECT_TRUE(terms.is_memory_bound());
  EXPECT_DOUBLE_EQ(terms.total(), terms.memory());
}

TEST(VerifyTerms, ReadTheKvOnceATile) {
  const DeviceRates device{1e12, 1e14, 0, 0};
  const auto kv = [&](std::int64_t length) {
    return verify_terms(mixture(), device, {1, length, 1000}).kv;
  };
  EXPECT_EQ(kv(15), kv(0));
  EXPECT_DOUBLE_EQ(kv(16), 2 * kv(0));
}

TEST(VerifySlope, IsFlatForDenseWeightsSteepForExpertsAndLinearOnceArithmeticBinds) {
  TargetShape dense = mixture();
  dense.experts = dense.experts_per_token = 0;
  const DeviceRates device{1e12, 1e14, 0, 0};
  EXPECT_EQ(verify_slope(dense, device, {1, 4, 1000}).total, 0);
  const VerifySlope sparse = verify_slope(mixture(), device, {1, 0, 1000});
  EXPECT_NEAR(sparse.total, 7e-3, 1e-15);  // 64 (1/8)(7/8) experts more
  EXPECT_EQ(sparse.terms.dense_weights, 0);
  // 4 ms of weights are hidden behind 20 rows of .2 ms; from there every token costs .2 ms.
  EXPECT_NEAR(verify_slope(dense, device, {64, 4, 0}).total, 64 * 2e-4, 1e-12);
  EXPECT_FALSE(verify_terms(dense, device, {64, 4, 0}).is_memory_bound());
}

TEST(VerifyTerms, PayTheLinkOnTop) {
  TargetShape target = mixture();
  target.link_bytes_per_row = 1e6;
  target.exchanges = 10;
  DeviceRates device{1e12, 1e14, 1e11, 1e-5};
  const VerifyTerms terms = verify_terms(target, device, {4, 1, 0});
  EXPECT_DOUBLE_EQ(terms.communication, 8 * 1e6 / 1e11 + 10 * 1e-5);
  EXPECT_DOUBLE_EQ(terms.total(), terms.memory() + terms.communication);
  device.link_bytes_per_second = 0;
  EXPECT_THROW(verify_terms(target, device, {4, 1, 0}), BrokenInvariant);
}

}  // namespace
}  // namespace draftproof::oracle::speed
