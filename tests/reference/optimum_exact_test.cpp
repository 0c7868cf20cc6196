// Optima held against each other: subsets, sorted prefixes, maximum flows, closed forms; and
// against the rules, none of which exceeds them and some of which reach them.
#include <gtest/gtest.h>

#include "reference/error.h"
#include "reference/law/optimum.h"
#include "tests/reference/tree_cases.h"

namespace draftproof::reference::law {
namespace {

LawRow row(const std::string& text) { return distribution_from_text(text).probabilities(); }

/// Two laws over five tokens: one far from its draft, one whose draft is nearly even.
struct Laws {
  LawRow target;
  LawRow draft;
};
const std::vector<Laws> kFiveTokens = {{row(".35,.3,.2,.1,.05"), row(".1,.15,.3,.25,.2")},
                                       {row(".5,.05,.1,.05,.3"), row(".2,.3,.15,.25,.1")}};

std::vector<Laws> many_laws(int vocab_size) {
  std::vector<Laws> laws;
  for (std::uint64_t seed = 1; seed <= 12; ++seed)
    for (bool has_zeros : {false, true})
      laws.push_back({model::RowFamily{vocab_size, seed, has_zeros}.row({1}),
                      model::RowFamily{vocab_size, seed + 50, has_zeros}.row({1})});
  return laws;
}

SequenceLaw one_token_law(const LawRow& target) {
  SequenceLaw law;
  for (std::size_t v = 0; v < target.size(); ++v)
    if (target[v] > 0) law[{static_cast<Token>(v)}] = target[v];
  return law;
}

Exact accepted(const std::string& rule, const Laws& laws, int count, SiblingDraw siblings) {
  const LawRule& entry = law_rule(rule);
  const ModelCase tiny = one_position(laws.target, laws.draft, count, siblings);
  return entry.expected_emitted(tiny, checked(entry, {})) - 1;
}

Exact matched(const Laws& laws, int count, SiblingDraw siblings) {
  return matched_by_sets(offers(one_position(laws.target, laws.draft, count, siblings), 1),
                         one_token_law(laws.target));
}

TEST(Optimum, OfTwoIndependentCandidatesIsTheValueWorkedOutByHand) {
  // .1/.3/.6 from .7/.2/.1: H = {0}: .1 + 1 - .49, H = {0, 1}: .4 + 1 - .81, else 1.
  const Laws laws = {row(".1,.3,.6"), row(".7,.2,.1")};
  EXPECT_EQ(optimum_of_independent(laws.target, laws.draft, 2), Exact(59, 100));
  EXPECT_EQ(optimum_of_independent(laws.target, laws.draft, 1), Exact(2, 5));
  EXPECT_EQ(optimum_of_independent(laws.target, laws.draft, 0), 0);
  // One candidate is accepted with .4 and leaves (0, 1/6, 5/6), of which .2 and .1 take 4/15.
  EXPECT_EQ(accepted("with-replacement", laws, 2, SiblingDraw::kIndependent), Exact(14, 25));
  // Without replacement: .7 rejected with 6/7; then (0, 1/6, 5/6) from (0, 2/3, 1/3) takes 1/2.
  EXPECT_EQ(accepted("without-replacement", laws, 2, SiblingDraw::kWithoutReplacement),
            Exact(7, 10));
}

TEST(Optimum, BySortedPrefixesBySubsetsAndByFlowIsTheSame) {
  for (int vocab_size : {2, 3, 4}) {
    for (const Laws& laws : many_laws(vocab_size)) {
      for (int count : {1, 2, 3}) {
        const OfferLaw offered =
            offers(one_position(laws.target, laws.draft, count, SiblingDraw::kIndependent), 1);
        const Exact optimum = optimum_of_independent(laws.target, laws.draft, count);
        EXPECT_EQ(optimum, matched_by_sets(offered, one_token_law(laws.target)));
        EXPECT_EQ(optimum, matched_by_flow(offered, one_token_law(laws.target)));
      }
    }
  }
}

TEST(Optimum, BySubsetsAndByFlowIsTheSameForEveryLawOfSiblings) {
  for (const Laws& laws : many_laws(4)) {
    for (SiblingDraw siblings : kSiblingDraws) {
      const OfferLaw offered = offers(one_position(laws.target, laws.draft, 2, siblings), 1);
      EXPECT_EQ(matched_by_flow(offered, one_token_law(laws.target)),
                matched_by_sets(offered, one_token_law(laws.target)));
    }
  }
}

TEST(Optimum, OfLargestThenDrawnIsItsClosedFormAndItsRulesAcceptance) {
  for (const Laws& laws : many_laws(4)) {
    for (int count : {1, 2, 3}) {
      const Exact closed = optimum_of_largest_then_drawn(laws.target, laws.draft, count);
      EXPECT_EQ(closed, matched(laws, count, SiblingDraw::kLargestThenDrawn));
      EXPECT_EQ(closed,
                accepted("greedy-multi-draft", laws, count, SiblingDraw::kLargestThenDrawn));
    }
  }
}

// The relations of a table of published figures whose toys were not published (order of rows:
// with replacement, k-seq, independent optimum, without, its optimum, largest fixed).
TEST(Optimum, OrdersTheRulesOfOnePosition) {
  bool largest_fixed_can_lose = false;
  std::vector<Laws> all = many_laws(5);
  all.insert(all.end(), kFiveTokens.begin(), kFiveTokens.end());
  for (const Laws& laws : all) {
    for (int count : {2, 3}) {
      const Exact with = accepted("with-replacement", laws, count, SiblingDraw::kIndependent);
      const Exact k_seq = accepted("k-seq", laws, count, SiblingDraw::kIndependent);
      const Exact without =
          accepted("without-replacement", laws, count, SiblingDraw::kWithoutReplacement);
      const Exact independent = optimum_of_independent(laws.target, laws.draft, count);
      const Exact distinct = matched(laws, count, SiblingDraw::kWithoutReplacement);
      EXPECT_LE(with, independent);
      EXPECT_LE(k_seq, independent);
      // 632/1000 < 1 - 1/e: what k-seq keeps of the optimum, whatever the laws.
      EXPECT_GE(k_seq, independent * Exact(632, 1000));
      EXPECT_LE(without, distinct);
      EXPECT_LE(independent, distinct);
      EXPECT_LE(accepted("target-only", laws, count, SiblingDraw::kLargest), distinct);
      if (count == 2)
        largest_fixed_can_lose |=
            optimum_of_largest_then_drawn(laws.target, laws.draft, count) < without;
    }
  }
  EXPECT_TRUE(largest_fixed_can_lose) << "it is the optimum of its own law of siblings only";
}

TEST(Optimum, OfOnePathLiesBetweenTheChainAndFullInformation) {
  bool is_strict = false;
  for (Family family : kFamilies) {
    for (std::uint64_t seed = 1; seed <= 6; ++seed) {
      const ModelCase tiny = family_case(family, 3, 3, seed);
      const Exact chain = law_rule("chain").expected_emitted(tiny, {});
      const Exact block = block_optimum(tiny);
      const Exact informed = full_information_bound(tiny);
      EXPECT_LE(chain, block);
      EXPECT_LE(block, informed);
      is_strict |= chain < block && block < informed;
    }
  }
  EXPECT_TRUE(is_strict);
}

TEST(Optimum, OfOnePathIsReachedByTraversal) {
  for (Family family : kFamilies) {
    for (std::uint64_t seed = 1; seed <= 4; ++seed) {
      const ModelCase tiny = family_case(family, 3, 2, seed);
      EXPECT_EQ(measured(tiny, law_rule("traversal").make({})).emitted, block_optimum(tiny));
    }
  }
}

TEST(Optimum, WithFullInformationIsTheFlowOfEveryDepth) {
  for (Family family : kFamilies) {
    const ModelCase tiny = family_case(family, 3, 2, 2);
    Exact sum = 1;
    for (int depth : {1, 2})
      sum += matched_by_flow(offers(tiny, depth), target_law(*tiny.target, depth));
    EXPECT_EQ(sum, full_information_bound(tiny));
  }
}

TEST(Optimum, IsExceededByNoLosslessRule) {
  int reached = 0;
  for (const LawRule& rule : law_rules()) {
    if (rule.kind != RuleKind::kLossless || rule.decoded != DecodedLaw::kSampling ||
        rule.shape != TakenShape::kTree || !rule.expected_emitted)
      continue;
    for (const ModelCase& tiny : cases_for(rule)) {
      SCOPED_TRACE(rule.name + ": " + described(tiny));
      const LosslessOptimum optimum = lossless_optimum(tiny);
      const Exact emitted = rule.expected_emitted(tiny, checked(rule, {}));
      EXPECT_LE(emitted, optimum.emitted);
      reached += emitted == optimum.emitted ? 1 : 0;
    }
  }
  EXPECT_GT(reached, 0);
}

TEST(Optimum, OfATreeKnownBeforehandIsReachedByTargetOnly) {
  for (const auto& shape : {std::vector<int>{2}, {2, 1}, {2, 2}, {1, 2}}) {
    const ModelCase tiny = tree_case(Family::kFullMemory, 3, shape, SiblingDraw::kLargest, 3);
    const LosslessOptimum optimum = lossless_optimum(tiny);
    EXPECT_TRUE(optimum.is_reached);
    EXPECT_EQ(law_rule("target-only").expected_emitted(tiny, {}), optimum.emitted);
  }
}

TEST(Optimum, RefusesToEnumerateTooManySubsets) {
  const LawRow even(21, Exact(1, 21));
  EXPECT_THROW(matched_by_sets({}, one_token_law(even)), Error);
}

}  // namespace
}  // namespace draftproof::reference::law
