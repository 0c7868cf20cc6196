// The engine part of the demonstration, over loopback: the right engine is upheld, a fault that
// shows in answers is convicted by the audits that can see it, one that only costs is not, and the
// text says which of these it was. The audits are not told what is wrong.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>
#include <string>
#include <vector>

#include "oracle/explain.h"
#include "reference/error.h"
#include "tools/draftproof/engine_demo.h"
#include "tools/draftproof/engine_trial.h"

namespace draftproof::tests {
namespace {

using oracle::VerdictKind;
using ::testing::HasSubstr;
using ::testing::Not;

/// Half of what the demonstration draws.
constexpr std::size_t kSamples = 512;

oracle::VerdictKind kind_of(const tools::EngineTrial& trial, const std::string& property) {
  for (const oracle::Verdict& verdict : trial.verdicts)
    if (verdict.property == property) return verdict.kind;
  ADD_FAILURE() << "no verdict of " << property;
  return VerdictKind::kInconclusive;
}

std::string told(const tools::EngineTrial& trial) {
  std::string text;
  for (const oracle::Verdict& verdict : trial.verdicts) text += oracle::explain(verdict);
  return text;
}

/// A fault and the audits that see it.
struct Seen {
  const char* fault;
  std::vector<std::string> audits;
};

class EngineFault : public ::testing::TestWithParam<Seen> {};

TEST_P(EngineFault, IsSeenFromOutsideAndTheRightEngineIsUpheld) {
  const fixtures::StateFault& fault = fixtures::state_fault(GetParam().fault);
  const tools::EngineTrial right = tools::try_engine(fault, nullptr, "again", kSamples);
  EXPECT_EQ(merged(right.verdicts), VerdictKind::kUpheld) << told(right);
  EXPECT_GT(right.accepted, 0) << "an engine whose drafts are never accepted shows nothing";
  EXPECT_LT(right.accepted, right.drafted);

  const tools::EngineTrial wrong = tools::try_engine(fault, &fault, "again", kSamples);
  for (const std::string& audit : GetParam().audits)
    EXPECT_EQ(kind_of(wrong, audit), VerdictKind::kViolated) << audit << "\n" << told(wrong);
  for (const oracle::Verdict& verdict : wrong.verdicts) {
    if (verdict.kind != VerdictKind::kViolated) continue;
    ASSERT_TRUE(verdict.witness) << verdict.property;
    EXPECT_EQ(verdict.witness->replay, "again");
    EXPECT_THAT(oracle::explain(verdict), Not(HasSubstr(fault.name)));
  }
}

const char* const kWellFormed = "well_formed";
const char* const kParity = "greedy_margin_parity";
const char* const kSupport = "support_of_filters";
const char* const kNextToken = "next_token_law";
const char* const kJoint = "joint_law";
const char* const kLogprobs = "logprob_truth";
const char* const kCounters = "counter_identities";

INSTANTIATE_TEST_SUITE_P(
    Faults, EngineFault,
    ::testing::Values(Seen{"rollback_does_nothing", {kParity, kSupport, kNextToken}},
                      Seen{"history_masked_out", {kParity, kSupport, kNextToken, kJoint}},
                      Seen{"rows_padded_by_requests", {kParity, kSupport, kNextToken, kJoint}},
                      Seen{"processors_see_one_token_too_few", {kSupport}},
                      Seen{"accepted_nodes_as_a_prefix", {kParity, kSupport, kNextToken}},
                      Seen{"state_copied_back_at_a_page_edge", {kParity, kSupport, kNextToken}},
                      Seen{"padded_tail_advances_the_state", {kSupport, kNextToken, kJoint}},
                      Seen{"partial_page_dropped", {kWellFormed}},
                      Seen{"logprobs_by_request", {kLogprobs}},
                      Seen{"zeros_of_a_skipped_drafter", {kCounters}}),
    [](const auto& tested) { return tested.param.fault; });

class CostlyFault : public ::testing::TestWithParam<const char*> {};

TEST_P(CostlyFault, ViolatesNothingAndLowersWhatIsAccepted) {
  const fixtures::StateFault& fault = fixtures::state_fault(GetParam());
  const tools::EngineTrial right = tools::try_engine(fault, nullptr, "", kSamples);
  const tools::EngineTrial wrong = tools::try_engine(fault, &fault, "", kSamples);
  EXPECT_EQ(merged(wrong.verdicts), VerdictKind::kUpheld) << told(wrong);
  // Two shares of n tokens part by 0.5 sqrt(2 / n) or less, one standard deviation, if tokens are
  // independent: a hundredth for 5,000, of which 0.05 is five.
  ASSERT_GE(right.drafted, 5000);
  ASSERT_GE(wrong.drafted, 5000);
  const auto share = [](const tools::EngineTrial& trial) {
    return static_cast<double>(trial.accepted) / static_cast<double>(trial.drafted);
  };
  EXPECT_LT(share(wrong), share(right) - 0.05);
  EXPECT_THAT(tools::trial_meaning(fault, right, wrong), HasSubstr("costs time, not truth"));
}

INSTANTIATE_TEST_SUITE_P(Faults, CostlyFault,
                         ::testing::Values("bonus_not_fed_to_the_draft", "draft_sees_full_pages"),
                         [](const auto& tested) { return tested.param; });

TEST(EngineDemo, ExplainsWhatIsUpheldAndWhatIsViolated) {
  std::ostringstream out, err;
  EXPECT_EQ(tools::show_engine(4, fixtures::state_fault("rollback_does_nothing"), {out, err}),
            tools::ExitCode::kUpheld);
  const std::string text = out.str();
  for (const char* part :
       {"4. A whole engine, audited over HTTP", "would have seen",
        "   VIOLATED     greedy_margin_parity", "   Expected   ",
        "Replay     draftproof demo --bug rollback_does_nothing", "NOT support-safe"})
    EXPECT_THAT(text, HasSubstr(part));
  EXPECT_LT(text.find("upheld"), text.find("VIOLATED")) << "the right engine comes first";
}

TEST(EngineDemo, SaysTheSameEveryTime) {
  std::ostringstream first, second, err;
  tools::show_engine(1, fixtures::state_fault("history_masked_out"), {first, err});
  tools::show_engine(1, fixtures::state_fault("history_masked_out"), {second, err});
  EXPECT_EQ(first.str(), second.str());
}

TEST(EngineDemo, IsInconclusiveWhereALossyFaultDoesNotShow) {
  std::ostringstream out, err;
  EXPECT_EQ(tools::show_engine(1, fixtures::state_fault("late_output_kept"), {out, err}),
            tools::ExitCode::kInconclusive);
  EXPECT_THAT(out.str(), HasSubstr("never that nothing is wrong"));
}

TEST(EngineDemo, UpholdsWhatOnlyLooksWrong) {
  std::ostringstream out, err;
  EXPECT_EQ(
      tools::show_engine(1, fixtures::state_fault("nothing_kept_for_its_contents"), {out, err}),
      tools::ExitCode::kUpheld);
  EXPECT_THAT(out.str(), HasSubstr("this one only looks wrong"));
}

}  // namespace
}  // namespace draftproof::tests
