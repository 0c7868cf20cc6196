// Greedy limits: every contract's answers written down, with one maximum and with ties.
#include "reference/greedy_limits.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

namespace draftproof::reference {
namespace {

using enum GreedyAnswer;
using Answers = std::vector<GreedyAnswer>;

Answers answers_of(std::string_view name, const std::vector<float>& row) {
  Answers answers;
  for (const GreedyLimit limit : all_greedy_limits())
    answers.push_back(greedy_answer(contract(name), limit, row));
  return answers;
}

// In the order: temperature 0, below, at the cut-off, top-k 1, top-p 0, top-p 1e-40, min-p 1,
// one-hot row. A one-hot row is greedy everywhere; temperature 0 is, too.
const std::map<std::string, Answers>& stated_on_ties() {
  constexpr GreedyAnswer kLow = kLowestId;
  constexpr GreedyAnswer kAll = kEveryMaximum;
  static const std::map<std::string, Answers> list = {
      {"default", {kLow, kLow, kAll, kAll, kLow, kLow, kAll, kLow}},
      {"default-keep-ties", {kLow, kLow, kAll, kAll, kAll, kAll, kAll, kLow}},
      {"vllm", {kLow, kLow, kAll, kAll, kLow, kLow, kAll, kLow}},
      {"vllm-exactly-k", {kLow, kLow, kAll, kLow, kLow, kLow, kAll, kLow}},
      {"vllm-spec", {kLow, kLow, kAll, kAll, kLow, kLow, kRefused, kLow}},
      {"vllm-v2", {kLow, kLow, kAll, kAll, kLow, kLow, kAll, kLow}},
      {"vllm-v2-spec", {kLow, kLow, kAll, kAll, kLow, kLow, kAll, kLow}},
      {"sglang", {kLow, kLow, kAll, kAll, kAll, kAll, kAll, kLow}},
      {"sglang-min-p", {kLow, kLow, kAll, kAll, kAll, kAll, kAll, kLow}},
      {"sglang-spec", {kLow, kLow, kAll, kAll, kAll, kAll, kSampled, kLow}},
      {"transformers", {kLow, kLow, kAll, kAll, kLow, kLow, kAll, kLow}},
      {"llama.cpp", {kLow, kLow, kAll, kLow, kLow, kLow, kAll, kLow}},
      {"tensorrt-llm", {kLow, kLow, kAll, kAll, kLow, kLow, kSampled, kLow}},
  };
  return list;
}

TEST(GreedyLimits, AnswerTiesAsStated) {
  EXPECT_EQ(stated_on_ties().size(), contracts().size());
  for (const auto& [name, answers] : stated_on_ties()) {
    EXPECT_EQ(answers_of(name, {0, 0.5F, 0.5F, -1}), answers) << name;
    EXPECT_EQ(answers_of(name, {0.25F, 0.25F, 0.25F, 0.25F, -0.5F}), answers) << name;
  }
}

TEST(GreedyLimits, CoincideWhereTheMaximumIsAlone) {
  for (const auto& [name, on_ties] : stated_on_ties()) {
    const Answers alone = answers_of(name, {0, 0.5F, 0.25F, -1});
    for (std::size_t i = 0; i < alone.size(); ++i) {
      const bool is_limit = on_ties[i] == kLowestId || on_ties[i] == kEveryMaximum;
      EXPECT_EQ(alone[i], is_limit ? kLowestId : on_ties[i])
          << name << ", " << to_string(all_greedy_limits()[i]);
    }
  }
}

TEST(GreedyLimits, SeeARowThatIsNoLimit) {
  // The sibling that must say no: at a temperature of 1/8 a difference of .01 hardly weighs.
  Contract warm = contract("default");
  warm.preset.greedy_below = 0.125;
  const std::vector<float> close = {0.5F, 0.49F, -1};
  EXPECT_EQ(greedy_answer(warm, GreedyLimit::kAtCutOff, close), kSampled);
  EXPECT_EQ(greedy_answer(warm, GreedyLimit::kBelowCutOff, close), kLowestId);
}

TEST(GreedyLimits, AreToldInALine) {
  EXPECT_EQ(greedy_ties_of(contract("sglang-spec")),
            "lowest id: temperature 0, below the cut-off, one-hot row; every maximum: at the "
            "cut-off, top-k 1, top-p 0, top-p 1e-40; sampled: min-p 1");
}

}  // namespace
}  // namespace draftproof::reference
