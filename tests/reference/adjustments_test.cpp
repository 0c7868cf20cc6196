// Adjustments: which tokens each step bans behind which history, and what is refused.
#include "reference/adjustments.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "reference/contract.h"
#include "reference/error.h"

namespace draftproof::reference {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr float kNever = -std::numeric_limits<float>::infinity();

std::vector<bool> banned(AdjustmentStep step, const Adjustments& adjustments,
                         const History& history, const AdjustmentRule& rule = {}) {
  return banned_by(step, adjustments, history, rule, 4);
}

TEST(Adjustments, AllowedIdsBanEveryOther) {
  EXPECT_THAT(banned(AdjustmentStep::kAllowedIds, {.allowed_ids = {{3, 1, 1}}}, {}),
              ElementsAre(true, false, true, false));
  EXPECT_THAT(banned(AdjustmentStep::kAllowedIds, {}, {}), testing::Each(false));
}

TEST(Adjustments, BadWordsBanTheLastTokenBehindTheOthers) {
  const Adjustments words = {.bad_words = {{0}, {1, 2}, {1, 1, 3}}};
  const auto behind_output = [&](std::vector<Token> committed, std::vector<Token> drafted) {
    return banned(AdjustmentStep::kBadWords, words, {{1, 1}, committed, drafted});
  };
  EXPECT_THAT(behind_output({}, {}), ElementsAre(true, false, false, false));
  EXPECT_THAT(behind_output({1}, {}), ElementsAre(true, false, true, false));
  EXPECT_THAT(behind_output({1}, {1}), ElementsAre(true, false, true, true));
  EXPECT_THAT(behind_output({1, 1}, {2}), ElementsAre(true, false, false, false));
}

TEST(Adjustments, BadWordsMayBeginInThePromptWhereTheEngineLooksThere) {
  const Adjustments words = {.bad_words = {{1, 2}}};
  const History history = {{1}, {}, {}};
  EXPECT_FALSE(banned(AdjustmentStep::kBadWords, words, history, contract("vllm").adjustments)[2]);
  EXPECT_TRUE(
      banned(AdjustmentStep::kBadWords, words, history, contract("transformers").adjustments)[2]);
}

TEST(Adjustments, MinTokensCountWhatStandsBehindThePrompt) {
  const Adjustments at_least_two = {.min_tokens = 2, .end_tokens = {0, 3}};
  const auto bans = [&](const History& history) -> bool {
    return banned(AdjustmentStep::kMinTokens, at_least_two, history)[3];
  };
  EXPECT_TRUE(bans({{1, 1, 1}, {}, {}}));
  EXPECT_TRUE(bans({{}, {1}, {}}));
  EXPECT_FALSE(bans({{}, {1}, {1}}));
  EXPECT_FALSE(bans({{}, {1, 1}, {}}));
  EXPECT_THAT(banned(AdjustmentStep::kMinTokens, at_least_two, {}),
              ElementsAre(true, false, false, true));
}

TEST(Adjustments, AMaskOverwritesWhateverStoodThere) {
  const Adjustments mask = {.grammar_mask = std::vector<bool>{false, true, false, true}};
  EXPECT_THAT(
      adjusted({std::nanf(""), 1, INFINITY, -0.0F}, AdjustmentStep::kGrammarMask, mask, {}, {}),
      ElementsAre(kNever, 1, kNever, -0.0F));
}

TEST(Adjustments, BiasIsOneRoundedSum) {
  const Adjustments bias = {.logit_bias = {{1, 0.1}, {2, -HUGE_VAL}, {3, 5}}};
  EXPECT_THAT(adjusted({1, 3, 7, kNever}, AdjustmentStep::kLogitBias, bias, {}, {}),
              ElementsAre(1, 3 + 0.1F, kNever, kNever));
}

std::string complaint_of(const Adjustments& adjustments) {
  try {
    validate(adjustments, 4);
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kInput);
    return error.what();
  }
  return "";
}

TEST(Adjustments, RefuseWhatMakesNoSenseByName) {
  EXPECT_EQ(complaint_of({}), "");
  EXPECT_THAT(complaint_of({.logit_bias = {{4, 1.0}}}), HasSubstr("logit_bias: token 4"));
  EXPECT_THAT(complaint_of({.logit_bias = {{1, 1.0}, {1, 2.0}}}), HasSubstr("two biases"));
  for (const double bias : {std::nan(""), HUGE_VAL, 1e39, -1e39})
    EXPECT_THAT(complaint_of({.logit_bias = {{1, bias}}}), HasSubstr("not finite")) << bias;
  EXPECT_EQ(complaint_of({.logit_bias = {{1, -HUGE_VAL}}}), "");
  EXPECT_THAT(complaint_of({.allowed_ids = {{-1}}}), HasSubstr("allowed_ids: token -1"));
  EXPECT_THAT(complaint_of({.bad_words = {{1}, {}}}), HasSubstr("bad_words: a word without"));
  EXPECT_THAT(complaint_of({.bad_words = {{1, 9}}}), HasSubstr("bad_words: token 9"));
  EXPECT_THAT(complaint_of({.min_tokens = 2}), HasSubstr("min_tokens"));
  EXPECT_THAT(complaint_of({.min_tokens = -2, .end_tokens = {1}}), HasSubstr("negative"));
  EXPECT_THAT(complaint_of({.end_tokens = {4}}), HasSubstr("end_tokens"));
  EXPECT_THAT(complaint_of({.grammar_mask = std::vector<bool>(3)}), HasSubstr("3 bits"));
  EXPECT_THAT(complaint_of({.penalties = {.repetition = 0}}), HasSubstr("repetition_penalty"));
}

}  // namespace
}  // namespace draftproof::reference
