// Filters that cut between tokens which arithmetic cannot tell apart: whichever of them an engine
// keeps, no law is broken; and the slack for that hides no token that a filter drops clearly.
#include <gtest/gtest.h>

#include <random>

#include "judged_runs.h"

namespace draftproof::properties::audits {
namespace {

using oracle::VerdictKind;
using reference::Token;

/// Answers of three tokens at top_k: the target's own, but that the least token kept is replaced by
/// the one `step` behind the likeliest.
oracle::Verdict judged_with(const char* audit, int top_k, int step, double tolerance) {
  static const RotatedTarget target;
  SamplingRequest request = sampled_request(3);
  request.sampling.top_k = top_k;
  request.prompt = {0};
  JudgedRun run(request);
  run.settings.target = &target;
  run.settings.tolerance = tolerance;
  std::mt19937 coins(7);
  for (std::uint64_t trial = 0; trial < 1000; ++trial) {
    std::vector<Token> emitted;
    while (emitted.size() < 3) {
      const std::vector<double> law = target.next(request, emitted);
      const int last = emitted.empty() ? 0 : emitted.back();
      int place = std::discrete_distribution<int>(law.begin(), law.end())(coins);
      if (place == (last + top_k - 1) % 4) place = (last + step) % 4;
      emitted.push_back(place);
    }
    run.add(Arm::kSpeculative, with_counters(tokens(std::move(emitted)), 3, 1), trial);
  }
  return run.judged(audit);
}

class NearTies : public ::testing::TestWithParam<const char*> {};

TEST_P(NearTies, OfAFilterConvictNobodyWhicheverWayTheyFall) {
  const oracle::Verdict verdict = judged_with(GetParam(), 3, 3, 1e-6);
  EXPECT_EQ(verdict.kind, VerdictKind::kInconclusive) << verdict.evidence;
  EXPECT_FALSE(verdict.witness);
}

TEST_P(NearTies, AreNoneWhereArithmeticIsExact) {
  EXPECT_EQ(judged_with(GetParam(), 3, 3, 0).kind, VerdictKind::kViolated);
}

/// A quarter against an eighth is no tie.
TEST_P(NearTies, ExcuseNoTokenThatAFilterDropsClearly) {
  EXPECT_EQ(judged_with(GetParam(), 2, 2, 1e-6).kind, VerdictKind::kViolated);
}

INSTANTIATE_TEST_SUITE_P(Laws, NearTies, ::testing::Values("next_token_law", "joint_law"));

TEST(LossyMode, IsUpheldByNoBoundThatMergesContexts) {
  static const RotatedTarget target;
  SamplingRequest request = sampled_request(3);
  request.prompt = {0};
  JudgedRun run(request);
  run.settings.target = &target;
  run.settings.lossy = {"synthetic acceptance", "a test", 0.9};
  for (std::uint64_t trial = 0; trial < 1000; ++trial)
    run.add(Arm::kSpeculative, tokens({1, 2, 3}), trial);
  const oracle::Verdict verdict = run.judged("next_token_law");
  EXPECT_EQ(verdict.label, oracle::Label::kLossyByDesign);
  EXPECT_EQ(verdict.kind, VerdictKind::kInconclusive);
}

}  // namespace
}  // namespace draftproof::properties::audits
