// Shaped targets: rows behind their own histories are the plain decoder's, so that verification is
// lossless at distance 0; every fault of the history has a distance, derived by hand where the toy
// allows. Logits are whole and the scale is 1, so that laws are the rationals that they look like.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "reference/law/decoding.h"
#include "reference/law/shaped_target.h"
#include "reference/law/shaping_faults.h"

namespace draftproof::reference::law {
namespace {

constexpr double kUnit = 0x1.71547652b82fep+0;

/// Equal logits for everything, under `contract`.
ShapedTarget flat(int vocab_size, std::string_view name, RowRequest request) {
  request.sampling.temperature = kUnit;
  ShapedTarget target;
  target.vocab_size = vocab_size;
  target.logits = [vocab_size](const Context&) {
    return std::vector<float>(static_cast<std::size_t>(vocab_size), 0.0F);
  };
  target.contract = contract(name);
  target.request = std::move(request);
  return target;
}

RowRequest with_frequency(double value) {
  RowRequest request;
  request.adjustments.penalties.frequency = value;
  return request;
}
RowRequest with_presence(double value) {
  RowRequest request;
  request.adjustments.penalties.presence = value;
  return request;
}

/// The chain rule on drafts from `row`, scored by `scorer`.
Decoding decoding(const ShapedTarget& target, const LawRow& row, int draft_count,
                  std::shared_ptr<const Scorer> scorer, const Context& prompt = {}) {
  const auto draft =
      model::function_model(target.vocab_size, [row](const Context&) { return row; });
  Decoding made =
      decoding_of(chain_case(serial_model(target), draft, draft_count), law_rule("chain").make({}));
  made.scorer = std::move(scorer);
  made.prompt = prompt;
  return made;
}

const LawRow kEven = {Exact(1, 2), Exact(1, 2)};

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

/// Token 0 may come once: state 0 allows everything, state 1 all but 0.
model::Grammar once_zero() { return model::Grammar({{1, 0}, {model::Grammar::kRefused, 1}}); }

ShapedTarget with_grammar(std::string_view name = "default") {
  ShapedTarget target = flat(2, name, {});
  target.grammar = once_zero();
  return target;
}

TEST(GrammarMask, PerRowIsLossless) {
  for (const std::string_view name : {"default", "vllm-spec", "sglang-spec", "llama.cpp"}) {
    const ShapedTarget target = with_grammar(name);
    for (const LawRow& draft : {kEven, LawRow{1, 0}, LawRow{Exact(1, 4), Exact(3, 4)}})
      EXPECT_EQ(sequence_distance(decoding(target, draft, 2, shaped_scorer(target)), 4), 0) << name;
  }
}

Exact distance_of(ShapingFault fault, const LawRow& draft, int horizon) {
  const ShapedTarget target = with_grammar();
  return sequence_distance(decoding(target, draft, 1, faulty_scorer(target, fault)), horizon);
}

TEST(GrammarMask, OfTheFirstRowForAllLosesOneQuarter) {
  // Behind 0 (probability 1/2) only 1 is allowed; with the first row's mask 0 comes again with 1/2.
  EXPECT_EQ(distance_of(ShapingFault::kFirstMask, kEven, 1), 0);
  EXPECT_EQ(distance_of(ShapingFault::kFirstMask, kEven, 2), Exact(1, 4));
}

TEST(GrammarMask, MissingOnTheBonusRowLosesOneQuarter) {
  EXPECT_EQ(distance_of(ShapingFault::kUnmaskedBonus, kEven, 2), Exact(1, 4));
  // A draft that is never accepted never reaches that row: 1 is allowed, 0 behind 0 is not.
  const ShapedTarget target = with_grammar();
  const Decoding behind_zero =
      decoding(target, {1, 0}, 1, faulty_scorer(target, ShapingFault::kUnmaskedBonus), {0});
  EXPECT_EQ(sequence_distance(behind_zero, 2), 0);
}

TEST(GrammarMask, NotRolledBackLosesOneQuarterInTheSecondIteration) {
  // 0 is drafted; with 1/2 it is rejected and 1 is recovered. The matcher has seen 0, so that the
  // next token must be 1, where it is even: 1/2 * 1/2.
  EXPECT_EQ(distance_of(ShapingFault::kNoRollback, {1, 0}, 1), 0);
  EXPECT_EQ(distance_of(ShapingFault::kNoRollback, {1, 0}, 2), Exact(1, 4));
  // Nothing is rejected where the draft is the target's law.
  EXPECT_EQ(distance_of(ShapingFault::kNoRollback, kEven, 2), 0);
}

TEST(GrammarMask, AlongTheArgmaxLosesWhereTheDraftIsAnotherToken) {
  // The first maximum is 0, so that behind a drafted 1 (probability 1/2) the matcher stands behind
  // 0 and forces 1, where the row is even; behind a drafted 0 it is right.
  EXPECT_EQ(distance_of(ShapingFault::kArgmaxMask, kEven, 2), Exact(1, 4));
  EXPECT_EQ(distance_of(ShapingFault::kArgmaxMask, {1, 0}, 2), 0);
}

TEST(PenaltyFaults, HaveTheirDistancesByHand) {
  const auto distance = [](ShapingFault fault, const Context& prompt, int horizon) {
    const ShapedTarget target = flat(2, "default", with_frequency(1));
    return sequence_distance(decoding(target, kEven, 1, faulty_scorer(target, fault), prompt),
                             horizon);
  };
  EXPECT_EQ(distance(ShapingFault::kFrozenCounts, {}, 2), Exact(1, 6));
  // Nothing is committed in the first iteration, so nothing is counted twice there.
  EXPECT_EQ(distance(ShapingFault::kCountedTwice, {}, 2), 0);
  // Behind an emitted 0 the row is (1/3, 2/3). The draft is even: 0 is kept with 2/3, 1 always, so
  // kept are (1/3, 1/2) and 1 is recovered with 1/6. A recovered token ends the iteration, and its
  // next row has nothing drafted before it and is right. Bonus row behind a kept 0: counts (2, 0)
  // give (1/5, 4/5), with 0 once more (3, 0): (1/9, 8/9), apart by 4/45. Behind a kept 1: (1, 1)
  // gives 1/2, (2, 1): (1/3, 2/3), apart by 1/6. One iteration emits 2 tokens: 1/3 4/45 + 1/2 1/6.
  const Exact one_iteration = Exact(1, 3) * Exact(4, 45) + Exact(1, 2) * Exact(1, 6);
  const ShapedTarget target = flat(2, "default", with_frequency(1));
  const Decoding twice =
      decoding(target, kEven, 1, faulty_scorer(target, ShapingFault::kCountedTwice), {0});
  const auto emitted = extended_law(*twice.target, emission_law(twice), 2, {0});
  EXPECT_EQ(total_variation(emitted, target_law(*twice.target, 2, {0})), one_iteration);
  // Not penalised in rows of the draft: behind an emitted 0 the first row is (1/2, 1/2) instead of
  // (1/3, 2/3).
  EXPECT_EQ(distance(ShapingFault::kPenaltiesOnBonusOnly, {0}, 1), Exact(1, 6));
  EXPECT_EQ(distance(ShapingFault::kPenaltiesOnBonusOnly, {}, 1), 0);
  // The first iteration is right; then proposed tokens were counted once more.
  EXPECT_EQ(distance(ShapingFault::kRejectedCounted, {}, 2), 0);
  EXPECT_GT(distance(ShapingFault::kRejectedCounted, {}, 3), 0);
}

TEST(ShapingFaults, AllShowOnAToyAndAreAbsentWithoutTheFault) {
  for (const ShapingFaultNote& note : shaping_faults()) {
    EXPECT_FALSE(note.statement.empty() || note.report.empty() || note.least_setting.empty());
    const model::Toy& toy = model::toy("textbook");
    EXPECT_EQ(sequence_distance(shaped_decoding(toy, note.fault, false), 3), 0) << note.name;
    EXPECT_GT(sequence_distance(shaped_decoding(toy, note.fault, true), 3), 0) << note.name;
  }
}

}  // namespace
}  // namespace draftproof::reference::law
