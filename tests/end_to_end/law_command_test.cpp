// draftproof law, end to end. Goal: the numbers a reader can check with a pencil, exactly.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/end_to_end/command.h"

namespace draftproof::tests {
namespace {

using testing::HasSubstr;
using testing::Not;

const std::vector<std::string> kExample = {"law",      "--target", ".1,.3,.6", "--draft",
                                           ".7,.2,.1", "--length", "2"};

std::vector<std::string> with(std::vector<std::string> arguments,
                              const std::vector<std::string>& more) {
  arguments.insert(arguments.end(), more.begin(), more.end());
  return arguments;
}

TEST(LawCommand, ShowsTheAlgebraOfOnePosition) {
  const CommandResult result = draftproof(kExample);
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(result.err, "");
  // Token 0: kept with (1/10)/(7/10) = 1/7; residual (0, 1/10, 1/2) sums to 3/5.
  EXPECT_THAT(result.out, HasSubstr("min(1, 1/7) = 1/7"));
  EXPECT_THAT(result.out, HasSubstr("min(1, 3/2) = 1"));
  EXPECT_THAT(result.out, HasSubstr("kept       2/5 = 0.4"));
  EXPECT_THAT(result.out, HasSubstr("rejected   3/5 = 0.6"));
  EXPECT_THAT(result.out, HasSubstr("|       1/6 |"));
  EXPECT_THAT(result.out, HasSubstr("Bonus      reached with probability 4/25 = 0.16"));
  // 1 + 2/5 + 4/25 tokens; (2/5 + 4/25) / 2 of the draft.
  EXPECT_THAT(result.out, HasSubstr("expected tokens per iteration   39/25 = 1.56"));
  EXPECT_THAT(result.out, HasSubstr("draft acceptance                7/25 = 0.28"));
  EXPECT_THAT(result.out, HasSubstr("exactly 0: lossless"));
}

TEST(LawCommand, SaysThatARuleEmitsMoreThanALosslessOneCan) {
  // Block verification reaches the optimum of one path: 1 + E[pi_1] + E[pi_2] = 1.62 here.
  const CommandResult block = draftproof(with(kExample, {"--rule", "block"}));
  EXPECT_THAT(block.out, HasSubstr("lossless optimum                81/50 = 1.62\n"));
  const CommandResult lossy = draftproof(with(kExample, {"--rule", "always-accept"}));
  EXPECT_THAT(lossy.out, HasSubstr("EXCEEDED: no lossless rule emits so many"));
}

TEST(LawCommand, WritesEveryProbabilityAsARational) {
  const CommandResult result = draftproof(with(kExample, {"-o", "json"}));
  const auto law = nlohmann::json::parse(result.out);
  EXPECT_EQ(law["schema_version"], "draftproof/law/2");
  EXPECT_EQ(law["total_variation"], "0");
  EXPECT_EQ(law["expected_emitted"], "39/25");
  EXPECT_EQ(law["joint_law"], law["target_law"]);
  EXPECT_EQ(law["joint_law"].size(), 27u);
  EXPECT_EQ(law["steps"][0]["kept_by_token"][0], "1/7");
}

TEST(LawCommand, TakesAnotherRowAtEveryPosition) {
  const CommandResult result = draftproof({"law", "--target", "1/2,1/2;1,0", "--draft", "1/4,3/4"});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr("drawn from 1, 0"));
  EXPECT_THAT(result.out, HasSubstr("exactly 0: lossless"));
}

TEST(LawCommand, HasABonusAndNothingElseWithoutADraft) {
  const CommandResult result = draftproof({"law", "--target", ".5,.5", "--length", "0"});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr("expected tokens per iteration   1\n"));
  EXPECT_THAT(result.out, Not(HasSubstr("Position 1")));
}

TEST(LawCommand, HoldsTheGreedyRuleToGreedyDecoding) {
  const CommandResult result = draftproof(with(kExample, {"--rule", "greedy"}));
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr("kept       1/10 = 0.1"));
  EXPECT_THAT(result.out, HasSubstr("exactly 0: lossless"));
}

TEST(LawCommand, ShapesLogitsWhenAsked) {
  const CommandResult result = draftproof(
      {"law", "--target", "0,1,-inf", "--draft", "1,0,0", "--temperature", "1", "--top-k", "1"});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  // With top-k = 1 both rows are points, on different tokens: nothing is ever kept.
  EXPECT_THAT(result.out, HasSubstr("kept       0,"));
}

}  // namespace
}  // namespace draftproof::tests
