// Presets: that the same parameters name different laws under different engines, by how much.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "reference/distribution.h"
#include "reference/error.h"
#include "reference/shaping.h"

namespace draftproof::reference {
namespace {

/// Logits of the law (.3, .25, .2, .15, .1); in fp32, so that distances hold to about 1e-7.
std::vector<float> five_tokens() {
  std::vector<float> logits;
  for (double probability : {.3, .25, .2, .15, .1})
    logits.push_back(static_cast<float>(std::log(probability)));
  return logits;
}

double distance(const Sampling& sampling, const char* first, const char* second) {
  const auto law = [&](const char* name) {
    return distribution_of(shape(five_tokens(), sampling, preset(name)));
  };
  return static_cast<double>(total_variation(law(first), law(second)));
}

TEST(Presets, JointAndSequentialTopKTopPDifferByFourFifteenths) {
  // Sequential: (6/11, 5/11); joint: (.4, 1/3, 4/15). Speculation on and off differ in SGLang.
  EXPECT_NEAR(distance({1, 3, .7}, "sglang", "sglang-spec"), 4.0 / 15, 1e-6);
  EXPECT_NEAR(distance({1, 3, .7}, "sglang", "default"), 4.0 / 15, 1e-6);
  EXPECT_EQ(distance({1, 3, 1}, "sglang", "sglang-spec"), 0);
  EXPECT_EQ(distance({1, 0, .7}, "sglang", "sglang-spec"), 0);
}

TEST(Presets, ATemperatureAfterTopPKeepsOtherTokens) {
  // Temperature 1/2 squares: (.4, .278, .178, .1, .044). Top-p .85 then keeps three; before, four,
  // of which the last weighs .0225 / .215 = 9/86.
  EXPECT_NEAR(distance({.5, 0, .85}, "llama.cpp", "default"), 9.0 / 86, 1e-6);
  // Min-p .4 keeps three after squaring (.4 * .4 = .16 <= .178); before, four (.12 <= .15).
  EXPECT_NEAR(distance({.5, 0, 1, .4}, "llama.cpp", "default"), 9.0 / 86, 1e-6);
  EXPECT_EQ(distance({1, 0, .85}, "llama.cpp", "default"), 0);
}

TEST(Presets, MinPBeforeTopPLeavesLessToShare) {
  // vLLM: min-p .6 leaves (.3, .25, .2) = (.4, .333, .267), top-p .7 keeps two of them; the other
  // order keeps three of five by top-p and min-p leaves those: distance 4/15 again.
  EXPECT_NEAR(distance({1, 0, .7, .6}, "vllm", "transformers"), 4.0 / 15, 1e-6);
}

TEST(Presets, AStepThatIsNotListedIsNotApplied) {
  const Sampling min_p_only{1, 0, 1, .9};
  EXPECT_EQ(distance(min_p_only, "sglang-spec", "tensorrt-llm"), 0);
  EXPECT_GT(distance(min_p_only, "sglang-spec", "sglang-min-p"), .5);
}

TEST(Presets, BothTieRulesAreReachableForBothFilters) {
  const std::vector<float> tied = {0, 1, 0, 0};
  const auto kept = [&](const char* name, const Sampling& sampling) {
    const MassRow row = shape(tied, sampling, preset(name));
    std::vector<int> tokens;
    for (int token = 0; token < 4; ++token)
      if (row.mass[token] > 0) tokens.push_back(token);
    return tokens;
  };
  using testing::ElementsAre;
  EXPECT_THAT(kept("vllm", {1, 2}), ElementsAre(0, 1, 2, 3));
  EXPECT_THAT(kept("vllm-exactly-k", {1, 2}), ElementsAre(0, 1));
  EXPECT_THAT(kept("default", {1, 0, .6}), ElementsAre(0, 1));
  EXPECT_THAT(kept("default-keep-ties", {1, 0, .6}), ElementsAre(0, 1, 2, 3));
}

TEST(Presets, HaveDistinctNamesAndSayWhichEngineTheyDescribe) {
  for (const Preset& entry : presets()) {
    EXPECT_EQ(&preset(entry.name), &entry);
    EXPECT_FALSE(entry.engine.empty());
    EXPECT_THAT(entry.steps, testing::Contains(ShapingStep::kTemperature));
  }
}

TEST(Presets, AnUnknownNameIsRefusedWithTheKnownOnes) {
  try {
    preset("vlm");
    FAIL();
  } catch (const Error& error) {
    EXPECT_THAT(error.what(),
                testing::AllOf(testing::HasSubstr("'vlm'"), testing::HasSubstr("vllm-exactly-k")));
    EXPECT_EQ(error.kind(), ErrorKind::kInput);
  }
}

}  // namespace
}  // namespace draftproof::reference
