// Drafts of a block at once: two truths each, and their rows by hand.
#include "reference/draft/block_rows.h"
#include "reference/draft/diffusion.h"
#include "tests/reference/method_truths.h"

namespace draftproof::reference::draft {
namespace {

TEST(BlockMethods, KeepTheLawAndTheirExpectedLength) { expect_both_truths(block_methods()); }

TEST(BlockMethods, AreExactAtTheEnds) { expect_exact_at_the_ends(block_methods()); }

TEST(BlockMethods, SayWhereTheyAreFrom) { expect_told(block_methods()); }

const Context kContext = {0, 1};
const law::Memory kMemory = {0};

TEST(BlockRows, OfABaseKnowNothingOfTheBlock) {
  const PointLaw base = base_law(model::toy("full-memory"));
  EXPECT_EQ(base({kContext, {1}, kMemory}), base({kContext, {2}, kMemory}));
  EXPECT_NE(base({kContext, {1}, kMemory}), base({kContext, {}, kMemory}));
}

TEST(BlockRows, AreCorrectedByTheTokenBefore) {
  const PointLaw markov = markov_law(model::toy("full-memory"));
  EXPECT_NE(markov({kContext, {1}, kMemory}), markov({kContext, {2}, kMemory}));
  // .7 1.7, .2 1.2, .1 1.1 over 1.54.
  EXPECT_EQ(markov_law(model::toy("textbook"))({kContext, {}, kMemory}),
            (LawRow{Exact(119, 154), Exact(24, 154), Exact(11, 154)}));
  EXPECT_EQ(largest_only(markov_law(model::toy("textbook")), 2)({kContext, {}, kMemory}),
            (LawRow{Exact(119, 143), Exact(24, 143), 0}));
}

TEST(Confidence, NeverSeesTheTokenAtItsOwnOffset) {
  const model::Toy& toy = model::toy("full-memory");
  const std::vector<Token> drafted = {1};
  // At offset 1 it is a function of token 0's offset, at offset 0 of the pending token.
  EXPECT_EQ(confidence(toy, {kContext, drafted, kMemory}),
            confidence(toy, {{0, 2, 1}, {}, kMemory}));
  const auto stops = stops_unconfident(model::toy("textbook"), Exact(7, 10));
  EXPECT_FALSE(stops({kContext, {}, kMemory})) << ".7 is not below .7";
  EXPECT_TRUE(stops_unconfident(model::toy("textbook"), Exact(8, 10))({kContext, {}, kMemory}));
}

TEST(DiffusionBlock, ConditionalsMultiplyToTheJointLaw) {
  const DiffusionBlock block(model::toy("full-memory"), {kContext, {}, kMemory});
  for (Token first = 0; first < 3; ++first)
    for (Token second = 0; second < 3; ++second)
      EXPECT_EQ(block.first()[first] * block.second_given(first)[second],
                block.second()[second] * block.first_given(second)[first]);
  EXPECT_NE(block.second_given(0), block.second()) << "they are not independent";
}

TEST(Dflash, ProductsReportedAsDrawnAreExactAndDraftNoiseMayBeKeyed) {
  for (const char* scheme : {"fresh", "position-keyed", "accept-keyed", "draft-keyed"})
    EXPECT_EQ(distance_with(method("dflash-drawn"), model::toy("full-memory"), scheme), 0);
}

}  // namespace
}  // namespace draftproof::reference::draft
