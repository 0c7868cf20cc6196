// Shaped targets: rows behind their own histories are the plain decoder's, so that verification is
// lossless at distance 0; a contract that freezes its counts over the draft has a distance, derived
// by hand.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/reference/shaped_requests.h"

namespace draftproof::reference::law {
namespace {

TEST(FrozenCounts, LoseOneSixthOnTheSmallestToy) {
  // Two tokens, frequency penalty of one binary order, one drafted token x, always accepted.
  // Serial: x again weighs 1/2 against 1, so 1/3. Frozen: 1/2. The distance of two tokens is sum_x
  // 1/2 |1/2 - 1/3| = 1/6.
  const ShapedTarget target = flat(2, "sglang-spec", with_frequency(1));
  const Decoding frozen = decoding(target, kEven, 1, shaped_scorer(target));
  EXPECT_EQ(sequence_distance(frozen, 1), 0);
  EXPECT_EQ(sequence_distance(frozen, 2), Exact(1, 6));
}

TEST(FrozenCounts, LoseNothingWhereNoDraftedTokenCanRepeat) {
  // The model never repeats a token within three: its penalised logit is -inf already.
  ShapedTarget target = flat(3, "sglang-spec", with_frequency(1));
  target.logits = [](const Context& context) {
    std::vector<float> row = {0, -1, -2};
    const std::size_t seen = std::min<std::size_t>(context.size(), 2);
    for (std::size_t i = context.size() - seen; i < context.size(); ++i)
      row[static_cast<std::size_t>(context[i])] = -INFINITY;
    return row;
  };
  const LawRow draft = {Exact(1, 4), Exact(1, 4), Exact(1, 2)};
  EXPECT_EQ(sequence_distance(decoding(target, draft, 2, shaped_scorer(target)), 4), 0);
  // The sibling that must say no: a model that may repeat.
  target.logits = [](const Context&) { return std::vector<float>{0, -1, -2}; };
  EXPECT_GT(sequence_distance(decoding(target, draft, 2, shaped_scorer(target)), 4), 0);
}

TEST(FrozenCounts, LoseNothingWhereDraftedTokensCountAlready) {
  const Context prompt = {0, 1};
  const auto distance = [&](const RowRequest& request, bool has_output) {
    ShapedTarget target = flat(2, "sglang-spec", request);
    // SGLang counts output only: tokens in front count iff they are no prompt.
    target.prompt_length = has_output ? 0 : prompt.size();
    return sequence_distance(decoding(target, kEven, 2, shaped_scorer(target), prompt), 3);
  };
  EXPECT_EQ(distance(with_presence(1), true), 0);
  EXPECT_GT(distance(with_presence(1), false), 0);
  EXPECT_GT(distance(with_frequency(1), true), 0);
}

TEST(ShapedTarget, IsLosslessUnderEveryContractThatCountsPerRow) {
  RowRequest request;
  request.adjustments.penalties.repetition = 2;
  request.adjustments.min_tokens = 2;
  request.adjustments.end_tokens = {2};
  for (const std::string_view name :
       {"default", "vllm", "vllm-spec", "vllm-v2-spec", "transformers", "llama.cpp", "sglang"}) {
    ShapedTarget target = flat(3, name, request);
    target.logits = [](const Context& context) {
      return std::vector<float>{1, static_cast<float>(context.size() % 2), 2};
    };
    target.prompt_length = 1;
    const LawRow draft = {Exact(1, 4), Exact(1, 4), Exact(1, 2)};
    EXPECT_EQ(sequence_distance(decoding(target, draft, 2, shaped_scorer(target), {1}), 3), 0)
        << name;
  }
}

TEST(GrammarMask, PerRowIsLossless) {
  for (const std::string_view name : {"default", "vllm-spec", "sglang-spec", "llama.cpp"}) {
    const ShapedTarget target = with_grammar(name);
    for (const LawRow& draft : {kEven, LawRow{1, 0}, LawRow{Exact(1, 4), Exact(3, 4)}})
      EXPECT_EQ(sequence_distance(decoding(target, draft, 2, shaped_scorer(target)), 4), 0) << name;
  }
}

}  // namespace
}  // namespace draftproof::reference::law
