// Penalties: edges, parameters, and which tokens count.
#include "reference/penalties.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "reference/contract.h"
#include "reference/error.h"
#include "tests/reference/rounded_arithmetic.h"

namespace draftproof::reference {
namespace {

using testing::ElementsAre;

constexpr float kInfinity = std::numeric_limits<float>::infinity();
const History kSeenOnce = {{}, {0, 1, 2, 3}, {}};

std::vector<float> with(std::vector<float> logits, const Penalties& penalties,
                        const History& history = kSeenOnce, const PenaltyRule& rule = {}) {
  return penalised(std::move(logits), penalties, history, rule);
}

Penalties repetition(double value) { return {value, 0, 0, std::nullopt}; }
Penalties frequency(double value) { return {1, value, 0, std::nullopt}; }
Penalties presence(double value) { return {1, 0, value, std::nullopt}; }

TEST(Penalties, DivideWhatIsPositiveAndMultiplyTheRest) {
  EXPECT_THAT(with({3, -3, 0, 1}, repetition(2)), ElementsAre(1.5F, -6, 0, 0.5F));
  EXPECT_THAT(with({3, -3, 0, 1}, frequency(0.5)), ElementsAre(2.5F, -3.5F, -0.5F, 0.5F));
  EXPECT_THAT(with({3, -3, 0, 1}, presence(-1)), ElementsAre(4, -2, 1, 2));
}

TEST(Penalties, LeaveUnseenTokensAndRowsWithoutPenaltiesAsTheyAre) {
  const std::vector<float> logits = {1, -0.0F, 2, 3};
  EXPECT_THAT(with(logits, {2, 1, 1, std::nullopt}, {{}, {2}, {}}), ElementsAre(1, -0.0F, -1, 3));
  EXPECT_EQ(bits_of(with(logits, {})[1]), bits_of(-0.0F));
}

TEST(Penalties, KeepMinusInfinityUnderEveryOrder) {
  for (const auto order : {PenaltyOrder::kRepetitionFrequencyPresence,
                           PenaltyOrder::kRepetitionThenSum, PenaltyOrder::kSumThenRepetition}) {
    PenaltyRule rule;
    rule.order = order;
    for (const double sign : {1.0, -1.0})
      EXPECT_EQ(with({-kInfinity}, {1.5, sign, sign, std::nullopt}, {{}, {0, 0}, {}}, rule)[0],
                -kInfinity);
  }
}

TEST(Penalties, KeepTheSignOfZeroUnderRepetition) {
  const std::vector<float> row = with({0.0F, -0.0F}, repetition(3), {{}, {0, 1}, {}});
  EXPECT_EQ(bits_of(row[0]), bits_of(0.0F));
  EXPECT_EQ(bits_of(row[1]), bits_of(-0.0F));
}

TEST(Penalties, KeepSubnormalsAndOverflowToInfinity) {
  const float tiny = std::numeric_limits<float>::min();  // 2^-126: half of it is subnormal
  EXPECT_EQ(with({tiny}, repetition(2), {{}, {0}, {}})[0], 0x1p-127F);
  EXPECT_EQ(with({-0x1p-149F}, repetition(3), {{}, {0}, {}})[0], -0x1.8p-148F);
  // A ban, and a row that has a status.
  EXPECT_EQ(with({-3e38F}, repetition(2), {{}, {0}, {}})[0], -kInfinity);
  EXPECT_EQ(with({3e38F}, repetition(0.1), {{}, {0}, {}})[0], kInfinity);
  const RowRequest request{{}, {.penalties = repetition(0.1)}};
  EXPECT_EQ(row_law(contract("default"), {3e38F, 0}, request, {{}, {0}, {}}).status,
            Status::kPositiveInfinity);
}

TEST(Penalties, LetANanOfTheModelThrough) {
  EXPECT_TRUE(std::isnan(with({std::nanf("")}, {1.5, 1, 1, std::nullopt}, {{}, {0}, {}})[0]));
  const RowRequest request{{}, {.penalties = repetition(1.5)}};
  EXPECT_EQ(row_law(contract("vllm"), {std::nanf(""), 0}, request, {{}, {0}, {}}).status,
            Status::kNan);
}

TEST(Penalties, RoundTheProductBeforeTheDifference) {
  // 3 * fp32(0.1) rounds up to 0x1.333334p-2; contracted into the difference from 0x1.333334p-2
  // something would be left of it.
  const float share = 3 * 0.1F;
  EXPECT_NE(std::fma(-3.0F, 0.1F, share), 0.0F);
  EXPECT_EQ(with({share}, frequency(0.1), {{}, {0, 0, 0}, {}})[0], 0.0F);
}

TEST(Penalties, SumFrequenciesOccurrenceByOccurrenceWhereTheEngineDoes) {
  PenaltyRule summed;
  summed.frequency = FrequencyForm::kSummed;
  const History ten = {{}, std::vector<Token>(10, 0), {}};
  float sum = 0;
  for (int i = 0; i < 10; ++i) sum += 0.1F;
  EXPECT_NE(sum, 10 * 0.1F);
  EXPECT_EQ(with({0}, frequency(0.1), ten, summed)[0], -sum);
  EXPECT_EQ(with({0}, frequency(0.1), ten)[0], -(10 * 0.1F));
}

TEST(Penalties, CountThePromptWhereTheRuleSaysSo) {
  const History history = {{0, 0}, {1}, {2}};
  EXPECT_THAT(with({2, 2, 2, 2}, repetition(2), history), ElementsAre(1, 1, 1, 2));
  EXPECT_THAT(with({2, 2, 2, 2}, frequency(1), history), ElementsAre(2, 1, 1, 2));
  const PenaltyRule& sglang = contract("sglang").adjustments.penalties;
  EXPECT_THAT(with({2, 2, 2, 2}, repetition(2), history, sglang), ElementsAre(2, 1, 1, 2));
  const PenaltyRule& llama = contract("llama.cpp").adjustments.penalties;
  EXPECT_THAT(with({2, 2, 2, 2}, frequency(1), history, llama), ElementsAre(0, 1, 1, 2));
}

TEST(Penalties, CountDraftedTokensUnlessTheyAreFrozen) {
  PenaltyRule frozen;
  frozen.drafts = DraftCount::kFrozen;
  const History history = {{}, {0}, {0, 1}};
  EXPECT_THAT(with({0, 0, 0}, frequency(1), history), ElementsAre(-2, -1, 0));
  EXPECT_THAT(with({0, 0, 0}, frequency(1), history, frozen), ElementsAre(-1, 0, 0));
}

TEST(Penalties, LookAtTheLastTokensOnly) {
  const PenaltyRule& llama = contract("llama.cpp").adjustments.penalties;
  // 64 tokens of 1 push everything older out of the window; the drafted token takes one place.
  History history = {{0, 0}, std::vector<Token>(63, 1), {2}};
  EXPECT_THAT(with({0, 0, 0}, frequency(1), history, llama), ElementsAre(0, -63, -1));
  history.committed.pop_back();
  EXPECT_THAT(with({0, 0, 0}, frequency(1), history, llama), ElementsAre(-1, -62, -1));
  const auto last = [&](std::int64_t n) {
    return with({0, 0, 0}, {1, 1, 0, n}, {{0}, {1, 1}, {2}}, llama);
  };
  EXPECT_THAT(last(0), ElementsAre(0, 0, 0));
  EXPECT_THAT(last(2), ElementsAre(0, -1, -1));
  EXPECT_THAT(last(-1), ElementsAre(-1, -2, -1));
  // An engine without a window does not learn of one.
  EXPECT_THAT(
      with({0, 0, 0}, {1, 1, 0, 1}, {{}, {1, 1}, {2}}, contract("vllm").adjustments.penalties),
      ElementsAre(0, -2, -1));
}

TEST(Penalties, ATokenCountedTwiceShows) {
  // vllm-project/vllm#33251: the last sampled token, which the base counts hold, came again as the
  // first input token of the draft rows.
  const History right = {{}, {0}, {0}};
  const History counted_twice = {{}, {0, 0}, {0}};
  EXPECT_NE(with({0, 0}, frequency(1), right), with({0, 0}, frequency(1), counted_twice));
}

TEST(Penalties, RefuseParametersByName) {
  const auto message = [](const Penalties& penalties) -> std::string {
    try {
      validate(penalties);
    } catch (const Error& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_EQ(message({}), "");
  EXPECT_EQ(message({1e-30, -1e30, 1e30, -5}), "");
  const double nan = std::nan("");
  for (const double r : {0.0, -1.0, nan, HUGE_VAL, 1e-60, 1e39, 1e-40})
    EXPECT_THAT(message(repetition(r)), testing::HasSubstr("repetition_penalty")) << r;
  for (const double x : {nan, HUGE_VAL, -HUGE_VAL, 1e39}) {
    EXPECT_THAT(message(frequency(x)), testing::HasSubstr("frequency_penalty")) << x;
    EXPECT_THAT(message(presence(x)), testing::HasSubstr("presence_penalty")) << x;
  }
}

}  // namespace
}  // namespace draftproof::reference
