// Declared distances over samples written by hand: the same two arms are within one budget, beyond
// another, and undecided between; undeclared, they are violated whatever they are.
#include <cmath>

#include "judged_runs.h"

namespace draftproof::properties::audits {
namespace {

using oracle::Label;
using oracle::VerdictKind;
using ::testing::HasSubstr;

constexpr std::uint64_t kTrials = 4000;

/// Tokens 1 and 2 of the i-th trial, in shares that are as near to the rotated law as they can be,
/// but for a share `moved` of the trials, which have one pair.
Completion output_of(std::uint64_t trial, double moved) {
  if (static_cast<double>(trial) < moved * static_cast<double>(kTrials))
    return tokens({0, 2, 3, 0});
  static constexpr int kEighths[] = {0, 0, 0, 0, 1, 1, 2, 3};
  const std::uint64_t place = trial % 512;
  const int first = kEighths[place % 8];
  const int second = (first + kEighths[place / 8 % 8]) % 4;
  const int third = (second + kEighths[place / 64]) % 4;
  return tokens({first, second, third, 0});
}

oracle::Verdict measured(double moved, std::optional<double> budget, const KnownTarget* target) {
  JudgedRun run(sampled_request());
  run.settings.target = target;
  run.settings.false_alarms = 1e-3;
  run.settings.lossy = LossyMode{"synthetic acceptance", "GET /server_info", budget};
  for (std::uint64_t trial = 0; trial < kTrials; ++trial) {
    run.add(Arm::kBaseline, output_of(trial, 0), trial);
    run.add(Arm::kSpeculative, output_of(trial, moved), trial);
  }
  return run.judged("declared_distance");
}

class DeclaredDistance : public ::testing::TestWithParam<bool> {
 protected:
  const KnownTarget* target() const { return GetParam() ? &target_ : nullptr; }

 private:
  RotatedTarget target_;
};

TEST_P(DeclaredDistance, IsUpheldWithinItsBudget) {
  const auto verdict = measured(0.1, 0.5, target());
  EXPECT_EQ(verdict.kind, VerdictKind::kUpheld);
  EXPECT_EQ(verdict.label, Label::kLossyByDesign);
  ASSERT_TRUE(verdict.effect);
  // Less the bias that samples of this size would have; these have none.
  EXPECT_NEAR(verdict.effect->total_variation, 0.1, 0.05);
  EXPECT_GE(verdict.effect->total_variation_bounds.high, verdict.effect->total_variation);
}

TEST_P(DeclaredDistance, IsViolatedAboveItsBudget) {
  const auto verdict = measured(0.6, 0.1, target());
  EXPECT_EQ(verdict.kind, VerdictKind::kViolated);
  EXPECT_EQ(verdict.label, Label::kLossyByDesign);
  EXPECT_THAT(verdict.witness->because, HasSubstr("above its own budget"));
}

TEST_P(DeclaredDistance, IsInconclusiveWhereTheBudgetLiesWithinTheBounds) {
  const auto verdict = measured(0.1, 0.1, target());
  EXPECT_EQ(verdict.kind, VerdictKind::kInconclusive);
  EXPECT_EQ(verdict.label, Label::kLossyByDesign);
}

TEST_P(DeclaredDistance, IsViolatedWhereNobodyDeclaredIt) {
  const auto verdict = measured(0, std::nullopt, target());
  EXPECT_EQ(verdict.kind, VerdictKind::kViolated);
  EXPECT_THAT(verdict.witness->because, HasSubstr("GET /server_info"));
}

INSTANTIATE_TEST_SUITE_P(KnownLawOrTwoSamples, DeclaredDistance, ::testing::Bool());

TEST(DeclaredDistanceAlone, HasNothingToMeasureWithoutASecondSample) {
  JudgedRun run(sampled_request());
  run.settings.lossy = LossyMode{"threshold_acc 0.9", "draftproof.toml", 0.1};
  run.add(Arm::kSpeculative, tokens({0, 1, 2, 3}));
  EXPECT_EQ(run.judged("declared_distance").kind, VerdictKind::kInconclusive);
}

}  // namespace
}  // namespace draftproof::properties::audits
