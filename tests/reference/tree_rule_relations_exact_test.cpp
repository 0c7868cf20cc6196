// How the tree rules relate to each other and to the chain, what their options do, and what the
// lossy one among them emits.
#include <gtest/gtest.h>

#include <cmath>

#include "reference/error.h"
#include "reference/law/optimum.h"
#include "reference/law/rules/typical.h"
#include "tests/reference/tree_cases.h"

namespace draftproof::reference::law {
namespace {

LawRow row(const std::string& text) { return distribution_from_text(text).probabilities(); }

RuleFunction rule(const std::string& name, const OptionValues& given = {}) {
  const LawRule& entry = law_rule(name);
  return entry.make(checked(entry, given));
}

TEST(SiblingRules, OnAChainAreTheChainRuleTokenForToken) {
  for (Family family : kFamilies) {
    const ModelCase tiny = family_case(family, 3, 2, 3);
    const EmissionLaw chain = law_of(tiny, chain_rule());
    for (const char* name : {"with-replacement", "without-replacement", "greedy-multi-draft"})
      EXPECT_EQ(law_of(tiny, rule(name)), chain) << name;
    EXPECT_EQ(law_of(tiny, rule("k-seq")), chain) << "rho* of one candidate is 1";
  }
}

TEST(SiblingRules, KeepTheLawOfEitherDrawAsItIsTheReportThatCounts) {
  for (SiblingDraw siblings : kSiblingDraws) {
    const ModelCase tiny = tree_case(Family::kFullMemory, 3, {2, 1}, siblings, 5);
    EXPECT_EQ(measured(tiny, rule("with-replacement")).distance, 0);
  }
}

TEST(TraversalRule, EmitsAtLeastWhatTheTreeWalkEmits) {
  int more = 0;
  for (SiblingDraw siblings : {SiblingDraw::kIndependent, SiblingDraw::kWithoutReplacement}) {
    for (const auto& shape : {std::vector<int>{1, 1}, {2, 1}, {1, 2}, {2, 2}, {3}, {2}}) {
      for (std::uint64_t seed = 1; seed <= 5; ++seed) {
        const ModelCase tiny = tree_case(Family::kFullMemory, 3, shape, siblings, seed);
        const Exact walk = law_rule("without-replacement").expected_emitted(tiny, {});
        const Exact traversal = law_rule("traversal").expected_emitted(tiny, {});
        EXPECT_GE(traversal, walk) << described(tiny);
        EXPECT_TRUE(shape.size() > 1 || traversal == walk) << "one level";
        more += traversal > walk ? 1 : 0;
      }
    }
  }
  EXPECT_GT(more, 20) << "of 40 deeper trees";
}

TEST(KSeqRule, KeepsItsLawAtEveryValidScaleAndAcceptsLessAtLargerOnes) {
  const ModelCase tiny =
      one_position(row(".1,.3,.6"), row(".7,.2,.1"), 2, SiblingDraw::kIndependent);
  // beta(rho) = .1 / rho + min(.2, .3 / rho) + .1 = .3 + .1 / rho up to rho = 3/2, where
  // 1 - (1 - beta)^2 = 2 beta - beta^2 <= rho beta iff rho + beta >= 2: there .3 + 1/15 + 3/2 < 2.
  // Behind it beta = .4 / rho + .1, so rho + beta = 2 at the larger root of rho^2 - 1.9 rho + .4.
  const double least = (1.9 + std::sqrt(1.9 * 1.9 - 1.6)) / 2;
  const Measured at_least = measured(tiny, rule("k-seq"));
  EXPECT_EQ(at_least.distance, 0);
  const Exact beta = Exact(2, 5) / Exact(1699, 1024) + Exact(1, 10);
  EXPECT_EQ(at_least.emitted, 3 - (1 - beta) * (1 - beta) - 1) << "1699/1024 is the next above";
  EXPECT_LT(least, 1699.0 / 1024);
  EXPECT_GT(least, 1698.0 / 1024);
  Exact before = at_least.emitted;
  for (const Exact& rho : {Exact(7, 4), Exact(2), Exact(3), Exact(10)}) {
    const Measured got = measured(tiny, rule("k-seq", {{"rho", rho}}));
    EXPECT_EQ(got.distance, 0) << to_string(rho);
    EXPECT_LT(got.emitted, before);
    before = got.emitted;
  }
}

TEST(KSeqRule, SaysWhichScaleWouldDo) {
  const ModelCase tiny =
      one_position(row(".1,.3,.6"), row(".7,.2,.1"), 2, SiblingDraw::kIndependent);
  try {
    measured(tiny, rule("k-seq", {{"rho", Exact(3, 2)}}));
    FAIL() << "3/2 leaves a negative residual";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("give at least 1699/1024"), std::string::npos)
        << error.what();
  }
  const ModelCase distinct =
      one_position(row(".1,.3,.6"), row(".7,.2,.1"), 2, SiblingDraw::kWithoutReplacement);
  EXPECT_THROW(measured(distinct, rule("k-seq")), Error) << "their rows differ";
}

TEST(GreedyMultiDraftRule, RefusesSeveralDrawnSiblings) {
  EXPECT_THROW(
      measured(one_position(row(".1,.3,.6"), row(".7,.2,.1"), 2, SiblingDraw::kIndependent),
               rule("greedy-multi-draft")),
      Error);
}

TEST(LookaheadRule, FollowsEqualTokensTogetherWhereTargetOnlyLosesThem) {
  // Two n-grams 0 1 and 0 2: after 0, target-only goes on with the first one only.
  ModelCase tiny = tree_case(Family::kFullMemory, 3, {}, SiblingDraw::kIndependent, 8);
  const model::ToyModelPtr target = tiny.target;
  DraftTree grams;
  for (Token second : {1, 2}) add_child(grams, add_child(grams, -1, 0, {}), second, {});
  std::vector<LawRow> rows = {target->row({})};
  for (int node = 0; node < grams.size(); ++node)
    rows.push_back(target->row(grams.tokens_to(node)));
  const auto expected = [&](const RuleFunction& function) {
    Exact sum = 0;
    Emission emission;
    for_each_branch(
        {},
        [](const CoinUse& use) {
          return CoinAddress{0, static_cast<std::uint32_t>(use.offset), use.purpose,
                             static_cast<std::uint32_t>(use.slot), 0};
        },
        [&](Chooser& chooser) {
          emission = emission_of(grams, function({grams, rows}, chooser));
        },
        [&](const Exact& probability, const RevealedCoins&) {
          sum += probability * static_cast<int>(emission.tokens.size());
        });
    return sum;
  };
  const Exact first = target->row({})[0];
  const LawRow& behind = target->row({0});
  EXPECT_EQ(expected(rule("lookahead", {{"bonus", 1}})),
            1 + first + first * (behind[1] + behind[2]));
  EXPECT_EQ(expected(rule("lookahead")), 1 + first) << "whole n-grams have no bonus";
  EXPECT_EQ(expected(rule("target-only")), 1 + first + first * behind[1]);
}

TEST(LookaheadRule, HasItsLawAndLengthWithABonusToo) {
  for (SiblingDraw siblings : kSiblingDraws) {
    const ModelCase tiny = tree_case(Family::kFullMemory, 3, {2, 1}, siblings, 4);
    const Measured got = measured(tiny, rule("lookahead", {{"bonus", 1}}));
    EXPECT_EQ(got.distance, 0);
    EXPECT_EQ(got.emitted, law_rule("lookahead").expected_emitted(tiny, {{"bonus", Exact(1)}}));
  }
}

TEST(TypicalThreshold, DecidesTiesOfAnEvenRowExactly) {
  const LawRow even = row("1/4,1/4,1/4,1/4");  // exp(-H) is 1/4
  EXPECT_FALSE(rules::is_typical(even, 0, 1, 1)) << "strict";
  EXPECT_TRUE(rules::is_typical(even, 0, 1, Exact(999, 1000)));
  EXPECT_TRUE(rules::is_typical(even, 0, Exact(24, 100), 1));
  const LawRow half = row("1/2,1/2,0,0");
  EXPECT_FALSE(rules::is_typical(half, 2, 0, 0)) << "0 > 0";
}

TEST(TypicalThreshold, AgreesWithLogarithmsAwayFromTies) {
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    const LawRow target = model::RowFamily{4, seed, true}.row({2});
    double entropy = 0;
    for (const Exact& share : target)
      if (share > 0) entropy -= static_cast<double>(share) * std::log(static_cast<double>(share));
    for (const auto& [cap, scale] : {std::pair(.09, .3), {.3, .09}, {.9, .8}})
      for (Token x = 0; x < 4; ++x)
        EXPECT_EQ(rules::is_typical(target, x, exact_from_double(cap), exact_from_double(scale)),
                  static_cast<double>(target[x]) > std::min(cap, scale * std::exp(-entropy)));
  }
}

// A point mass on the best typical child: the distance of one level is 1 - target(that child).
TEST(MedusaTypicalRule, PutsAllMassOnTheBestAcceptedPath) {
  const ModelCase one =
      one_position(row(".1,.25,.3,.35"), row(".4,.3,.2,.1"), 3, SiblingDraw::kLargest);
  // Above min(.09, .3 exp(-1.30)) = .082 are all of 0, 1, 2; 2 is the best of them.
  const EmissionLaw law = law_of(one, rule("medusa-typical"));
  ASSERT_EQ(law.size(), 1u);
  EXPECT_EQ(law.begin()->first.tokens, (std::vector<Token>{2, 3}));
  EXPECT_EQ(marginal(extended_law(*one.target, law, 2), 4, 0)[2], 1);
  EXPECT_EQ(measured(one, rule("medusa-typical", {{"sampled", 1}})).distance, Exact(7, 10));
}

TEST(MedusaTypicalRule, EmitsItsFormulasLengthAndIsLossyWithBothDefaultPairs) {
  const OptionValues exchanged = {{"cap", Exact(3, 10)}, {"scale", Exact(9, 100)}};
  for (SiblingDraw siblings : kSiblingDraws) {
    for (const auto& shape : {std::vector<int>{2}, {2, 1}, {1, 2}}) {
      const ModelCase tiny = tree_case(Family::kFullMemory, 3, shape, siblings, 6);
      for (const OptionValues& given : {OptionValues{}, exchanged}) {
        const LawRule& entry = law_rule("medusa-typical");
        const Measured got = measured(tiny, rule("medusa-typical", given));
        EXPECT_GT(got.distance, 0);
        EXPECT_EQ(got.emitted, entry.expected_emitted(tiny, checked(entry, given)));
      }
    }
  }
}

}  // namespace
}  // namespace draftproof::reference::law
