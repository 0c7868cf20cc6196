// The exact law of the chain rule is the target's law, and the exact laws of its wrong siblings are
// not: by known distances.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "reference/error.h"
#include "tests/reference/lossy_rules.h"
#include "tests/reference/tiny_families.h"

namespace draftproof::reference::law {
namespace {

template <class Check>
void for_each_case(const Check& check) {
  for (Family family : kFamilies)
    for (int vocab_size : {2, 3, 4})
      for (int draft_count : {0, 1, 2, 3})
        for (std::uint64_t seed : {1, 2, 3})
          check(family_case(family, vocab_size, draft_count, seed));
}

TEST(ChainLaw, IsTheTargetsLawExactly) {
  int cases = 0;
  for_each_case([&](const ModelCase& tiny) {
    ++cases;
    ASSERT_EQ(distance_of(tiny, chain_rule()), 0);
  });
  EXPECT_EQ(cases, 144);
}

TEST(ChainLaw, IsTheTargetsLawForOneHotReports) {
  for_each_case([](ModelCase tiny) {
    tiny.report = DraftReport::kOneHot;
    ASSERT_EQ(distance_of(tiny, chain_rule()), 0);
  });
}

TEST(ChainLaw, IsTheTargetsLawIterationAfterIteration) {
  for (Family family : kFamilies) {
    const ModelCase tiny = family_case(family, 3, 2, 7);
    const SequenceLaw law = sequence_law(decoding_of(tiny, chain_rule()), 5);
    EXPECT_EQ(total_variation(law, target_law(*tiny.target, 5)), 0);
    EXPECT_EQ(kl_divergence(law, target_law(*tiny.target, 5)), 0);
  }
}

TEST(GreedyLaw, IsGreedyDecodingExactly) {
  for_each_case([](const ModelCase& tiny) {
    const auto decoded = model::greedy_model(tiny.target);
    const EmissionLaw law = law_of(tiny, law_rule("greedy").make({}));
    const int length = tiny.draft_count() + 1;
    ASSERT_EQ(total_variation(extended_law(*decoded, law, length), target_law(*decoded, length)),
              0);
  });
}

TEST(GreedyLaw, ChainOnGreedyTargetsWithOneHotReportsIsTheSameLaw) {
  for_each_case([](const ModelCase& tiny) {
    ModelCase decoded = tiny;
    decoded.target = model::greedy_model(tiny.target);
    decoded.report = DraftReport::kOneHot;
    ASSERT_EQ(law_of(decoded, chain_rule()), law_of(tiny, law_rule("greedy").make({})));
  });
}

ModelCase textbook(int draft_count) {
  const model::Toy& toy = model::toy("textbook");
  return chain_case(toy.target, toy.draft, draft_count);
}

// With one drafted token: the part that is kept weighs min(target, draft) = (.1, .2, .1); the other
// .6 are given out again. The distances below follow by hand.
TEST(LossyLaw, HasTheKnownDistanceOnTheTextbookCase) {
  const ModelCase tiny = textbook(1);
  EXPECT_EQ(distance_of(tiny, chain_with(ratio_acceptance, positive_part)), 0);
  // .6 given out as target: (.16, .38, .46).
  EXPECT_EQ(distance_of(tiny, chain_with(ratio_acceptance, whole_target)), Exact(7, 50));
  // .6 given out as |target - draft| = (.6, .1, .5) / 1.2: (.4, .25, .35).
  EXPECT_EQ(distance_of(tiny, chain_with(ratio_acceptance, absolute_difference)), Exact(3, 10));
  // The draft's law as it is.
  EXPECT_EQ(distance_of(tiny, chain_with(always, positive_part)), Exact(3, 5));
  // Token 0 is never kept, its .7 go to (0, 1/6, 5/6): (0, 19/60, 41/60).
  EXPECT_EQ(distance_of(tiny, chain_with(only_if_at_least, positive_part)), Exact(1, 10));
}

TEST(LossyLaw, IsAwayFromTheTargetInEveryFullMemoryCase) {
  for (int vocab_size : {2, 3, 4}) {
    for (int draft_count : {1, 2, 3}) {
      const ModelCase tiny = family_case(Family::kFullMemory, vocab_size, draft_count, 5);
      EXPECT_GT(distance_of(tiny, chain_with(ratio_acceptance, whole_target)), 0);
      EXPECT_GT(distance_of(tiny, chain_with(ratio_acceptance, absolute_difference)), 0);
      EXPECT_GT(distance_of(tiny, chain_with(always, positive_part)), 0);
    }
  }
}

TEST(LossyLaw, OfABonusFromTheWrongRowShowsOnlyInTheJointLaw) {
  const auto bonus_from_first_row = [](const Verification& step, Chooser& chooser) {
    Decision decision = chain_rule()(step, chooser);
    if (decision.node() == step.draft.size() - 1)
      decision.last = chooser.draw(step.behind(-1), {0, Purpose::kBonus, 1});
    return decision;
  };
  const ModelCase tiny = family_case(Family::kFullMemory, 3, 1, 4);
  EXPECT_GT(distance_of(tiny, bonus_from_first_row), 0);
  const auto law = extended_law(*tiny.target, law_of(tiny, bonus_from_first_row), 2);
  EXPECT_EQ(marginal(law, 3, 0), tiny.target->row({})) << "the first token is right";
}

TEST(Figures, OfTheTextbookCaseAreTheKnownOnes) {
  const ModelCase tiny = textbook(2);
  const EmissionLaw law = law_of(tiny, chain_rule());
  // Conditional acceptance is sum min(target, draft) = .4 at both positions.
  EXPECT_EQ(expected_emitted(law), Exact(156, 100));
  EXPECT_EQ(draft_acceptance(law, 2), Exact(28, 100));
  const auto positions = acceptance_by_position(law, 2);
  EXPECT_EQ(positions[0].reached, 1);
  EXPECT_EQ(positions[0].conditional(), Exact(2, 5));
  EXPECT_EQ(positions[1].reached, Exact(2, 5));
  EXPECT_EQ(positions[1].conditional(), Exact(2, 5));
  // Rejected at once with token 2: .6 * 5/6; all kept as (1, 1) and then 0: .2 * .2 * .1.
  EXPECT_EQ(law.at({{2}, 0}), Exact(1, 2));
  EXPECT_EQ(law.at({{1, 1, 0}, 2}), Exact(4, 1000));
  EXPECT_FALSE(law.contains({{0}, 0})) << "the residual excludes token 0";
  Exact sum = 0;
  for (const auto& [emission, probability] : law) sum += probability;
  EXPECT_EQ(sum, 1);
}

TEST(Figures, AreAbsentForAPositionThatIsNeverReached) {
  const ModelCase tiny = family_case(Family::kDisjoint, 2, 2, 1);
  const auto positions = acceptance_by_position(law_of(tiny, chain_rule()), 2);
  EXPECT_EQ(positions[0].conditional(), Exact(0));
  EXPECT_EQ(positions[1].conditional(), std::nullopt);
}

TEST(Figures, ConditionalAcceptanceIsOneMinusTheDistanceOfTheRows) {
  for (std::uint64_t seed : {1, 2, 3, 4}) {
    const ModelCase tiny = family_case(Family::kWithZeros, 4, 1, seed);
    const Exact distance =
        total_variation(Distribution(tiny.target->row({})), Distribution(tiny.draft->row({})));
    const auto positions = acceptance_by_position(law_of(tiny, chain_rule()), 1);
    EXPECT_EQ(positions[0].conditional(), 1 - distance);
  }
}

TEST(Divergence, IsInfiniteOutsideTheSupportAndKnownInside) {
  const SequenceLaw half = {{{0}, Exact(1, 2)}, {{1}, Exact(1, 2)}};
  const SequenceLaw quarter = {{{0}, Exact(1, 4)}, {{1}, Exact(3, 4)}};
  const SequenceLaw one = {{{0}, Exact(1)}};
  EXPECT_NEAR(kl_divergence(half, quarter), std::log(2) / 2 + std::log(2.0 / 3) / 2, 1e-15);
  EXPECT_EQ(kl_divergence(half, one), HUGE_VAL);
  EXPECT_NEAR(kl_divergence(one, half), std::log(2), 1e-15);
  EXPECT_EQ(total_variation(half, one), Exact(1, 2));
  EXPECT_EQ(total_variation(one, half), Exact(1, 2));
}

TEST(Enumeration, RefusesARuleThatChangesItsQuestions) {
  int run = 0;
  const RuleFunction fickle = [&](const Verification&, Chooser& chooser) {
    chooser.accept(++run % 2 == 0 ? Exact(1, 3) : Exact(1, 2), {0, Purpose::kAccept});
    return Decision{{}, 0};
  };
  EXPECT_THROW(law_of(textbook(1), fickle), BrokenInvariant);
}

TEST(LawRules, AreFoundByNameAndOthersRefused) {
  for (const LawRule& rule : law_rules()) EXPECT_EQ(&law_rule(rule.name), &rule);
  try {
    law_rule("blok");
    FAIL();
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), testing::HasSubstr("chain, greedy"));
  }
  EXPECT_THROW(model::position_model({}), Error);
  EXPECT_THROW(model::position_model({point_mass(2, 0), point_mass(3, 0)}), Error);
  EXPECT_THROW(chain_case(model::position_model({point_mass(2, 0)}),
                          model::position_model({point_mass(3, 0)}), 1),
               Error);
}

}  // namespace
}  // namespace draftproof::reference::law
