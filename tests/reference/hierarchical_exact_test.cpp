// Hierarchical drafts: lossless when everything the inner iteration emits is passed up, of the
// expected length its formula says, and lossy in its two classical ways.
#include <gtest/gtest.h>

#include "reference/draft/compose/hierarchical.h"
#include "tests/reference/tiny_families.h"

namespace draftproof::reference::draft {
namespace {

using law::Decoding;
using law::law_rule;
using model::Toy;

law::RuleFunction rule(const char* name) { return law_rule(name).make({}); }

Decoding decoding(const Toy& toy, const char* inner_rule, int rounds,
                  PassedUp passed = PassedUp::kAllWithMiddleRows) {
  return hierarchical_decoding(
      toy, hierarchical_drafter(hierarchical_inner(toy), rule(inner_rule), rounds, passed));
}

TEST(Hierarchical, IsTheTargetsLawForEveryLosslessInnerRule) {
  for (const std::string& name : hierarchical_method().toys)
    for (const char* inner : {"chain", "block", "match"})
      EXPECT_EQ(sequence_distance(decoding(model::toy(name), inner, 1), 3), 0) << name << inner;
  EXPECT_EQ(sequence_distance(decoding(model::toy("two-tokens"), "chain", 2), 3), 0);
}

TEST(Hierarchical, IsTheTargetsLawUnderABlockRuleToo) {
  Decoding blocks = decoding(model::toy("full-memory"), "block", 1);
  blocks.rule = rule("block");
  EXPECT_EQ(sequence_distance(blocks, 3), 0);
}

TEST(Hierarchical, HasItsFormulaAsExpectedLength) {
  const Method method = hierarchical_method();
  for (const std::string& name : method.toys) {
    const Toy& toy = model::toy(name);
    EXPECT_EQ(method.expected_emitted(toy), law::expected_emitted(emission_law(method.make(toy))))
        << name;
  }
}

TEST(Hierarchical, EmitsLongerDraftsInMoreRounds) {
  const Toy& toy = model::toy("two-tokens");
  EXPECT_GT(law::expected_emitted(emission_law(decoding(toy, "chain", 2))),
            law::expected_emitted(emission_law(decoding(toy, "chain", 1))));
}

// Keyed by position, an inner chain's noise may be read again, an inner block's may not.
TEST(Hierarchical, NeedsFreshNoiseForAnInnerBlock) {
  Decoding chain = decoding(model::toy("two-tokens"), "chain", 1);
  Decoding block = decoding(model::toy("two-tokens"), "block", 1);
  chain.draft_count = block.draft_count = 2;
  chain.coins = block.coins = law::coin_scheme("draft-keyed");
  EXPECT_EQ(sequence_distance(chain, 3), 0);
  EXPECT_GT(sequence_distance(block, 3), 0);
}

LawRow first_token(const Decoding& decoding) {
  LawRow row(static_cast<std::size_t>(decoding.target->vocab_size()));
  for (const auto& [emission, probability] : emission_law(decoding))
    row[emission.tokens.front()] += probability;
  return row;
}

/// kept + (passed - its sum) x max(0, target - reported), normalised, + (1 - passed) x target.
LawRow completed(LawRow kept, const Exact& passed, const LawRow& target, const LawRow& reported) {
  Exact rejected = passed;
  Exact excess = 0;
  for (std::size_t v = 0; v < kept.size(); ++v) {
    rejected -= kept[v];
    excess += std::max(Exact(0), Exact(target[v] - reported[v]));
  }
  for (std::size_t v = 0; v < kept.size(); ++v)
    kept[v] += rejected * std::max(Exact(0), Exact(target[v] - reported[v])) / excess +
               (1 - passed) * target[v];
  return kept;
}

TEST(Hierarchical, IsLossyByTheFormulaWhenItsTwoFaultsAreMade) {
  for (const char* name : {"textbook", "full-memory", "markov", "two-tokens"}) {
    const Toy& toy = model::toy(name);
    const LawRow& target = toy.target->row({});
    const LawRow& small = toy.draft->row({});
    const LawRow middle = hierarchical_inner(toy).target->row({});
    LawRow dropped(target.size());
    LawRow misreported(target.size());
    Exact passed = 0;
    for (std::size_t v = 0; v < target.size(); ++v) {
      const Exact both = std::min(small[v], middle[v]);
      passed += both;
      dropped[v] = both * std::min(Exact(1), Exact(target[v] / middle[v]));
      misreported[v] = middle[v] * std::min(Exact(1), Exact(target[v] / small[v]));
    }
    dropped = completed(dropped, passed, target, middle);
    misreported = completed(misreported, 1, target, small);
    EXPECT_EQ(first_token(decoding(toy, "chain", 1, PassedUp::kAcceptedWithMiddleRows)), dropped);
    EXPECT_EQ(first_token(decoding(toy, "chain", 1, PassedUp::kAllWithSmallRows)), misreported);
    EXPECT_NE(dropped, target);
    EXPECT_NE(misreported, target);
  }
}

}  // namespace
}  // namespace draftproof::reference::draft
