// The exact law of the chain rule is the target's law, and the exact laws of its wrong siblings are
// not: by known distances.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "reference/error.h"
#include "reference/law/greedy.h"
#include "reference/law/output_law.h"
#include "tests/reference/lossy_rules.h"
#include "tests/reference/tiny_families.h"

namespace draftproof::reference::law {
namespace {

const RuleFunction<Exact>& chain_rule() { return law_rule("chain").exact; }

/// Distance of one iteration, extended by plain draws, from the target.
Exact distance_of(const TinyCase<Exact>& tiny_case, const RuleFunction<Exact>& rule) {
  return total_variation(extended_law(tiny_case, emission_law(tiny_case, rule)),
                         target_law(tiny_case, tiny_case.draft_count + 1));
}

template <class Check>
void for_each_case(const Check& check) {
  for (Family family : kFamilies)
    for (int vocab_size : {2, 3, 4})
      for (int draft_count : {0, 1, 2, 3})
        for (std::uint64_t seed : {1, 2, 3})
          check(family_case(family, vocab_size, draft_count, draft_count, seed));
}

TEST(ChainLaw, IsTheTargetsLawExactly) {
  int cases = 0;
  for_each_case([&](const TinyCase<Exact>& tiny_case) {
    ++cases;
    ASSERT_EQ(distance_of(tiny_case, chain_rule()), 0);
  });
  EXPECT_EQ(cases, 144);
}

TEST(ChainLaw, IsTheTargetsLawForOneHotReports) {
  for_each_case([](TinyCase<Exact> tiny_case) {
    tiny_case.report = DraftReport::kOneHot;
    ASSERT_EQ(distance_of(tiny_case, chain_rule()), 0);
  });
}

TEST(ChainLaw, IsTheTargetsLawIterationAfterIteration) {
  for (Family family : kFamilies) {
    const TinyCase<Exact> tiny_case = family_case(family, 3, 2, 4, 7);
    const SequenceLaw<Exact> law = sequence_law(tiny_case, chain_rule(), 5);
    EXPECT_EQ(total_variation(law, target_law(tiny_case, 5)), 0);
    EXPECT_EQ(kl_divergence(law, target_law(tiny_case, 5)), 0);
  }
}

TEST(GreedyLaw, IsGreedyDecodingExactly) {
  for_each_case([](const TinyCase<Exact>& tiny_case) {
    const TinyCase<Exact> decoded = decoding_greedily(tiny_case);
    const EmissionLaw<Exact> law = emission_law(tiny_case, law_rule("greedy").exact);
    ASSERT_EQ(
        total_variation(extended_law(decoded, law), target_law(decoded, tiny_case.draft_count + 1)),
        0);
  });
}

TEST(GreedyLaw, ChainOnGreedyTargetsWithOneHotReportsIsTheSameLaw) {
  for_each_case([](const TinyCase<Exact>& tiny_case) {
    TinyCase<Exact> decoded = decoding_greedily(tiny_case);
    decoded.report = DraftReport::kOneHot;
    ASSERT_EQ(emission_law(decoded, chain_rule()),
              emission_law(tiny_case, law_rule("greedy").exact));
  });
}

TinyCase<Exact> textbook(int draft_count) {
  const Distribution target = distribution_from_text(".1,.3,.6");
  const Distribution draft = distribution_from_text(".7,.2,.1");
  return position_case(std::vector<Distribution>(draft_count + 1, target),
                       std::vector<Distribution>(draft_count, draft));
}

// With one drafted token: the part that is kept weighs min(target, draft) = (.1, .2, .1); the other
// .6 are given out again. The distances below follow by hand.
TEST(LossyLaw, HasTheKnownDistanceOnTheTextbookCase) {
  const TinyCase<Exact> tiny_case = textbook(1);
  EXPECT_EQ(distance_of(tiny_case, chain_with(ratio_acceptance, positive_part)), 0);
  // .6 given out as target: (.16, .38, .46).
  EXPECT_EQ(distance_of(tiny_case, chain_with(ratio_acceptance, whole_target)), Exact(7, 50));
  // .6 given out as |target - draft| = (.6, .1, .5) / 1.2: (.4, .25, .35).
  EXPECT_EQ(distance_of(tiny_case, chain_with(ratio_acceptance, absolute_difference)),
            Exact(3, 10));
  // The draft's law as it is.
  EXPECT_EQ(distance_of(tiny_case, chain_with(always, positive_part)), Exact(3, 5));
  // Token 0 is never kept, its .7 go to (0, 1/6, 5/6): (0, 19/60, 41/60).
  EXPECT_EQ(distance_of(tiny_case, chain_with(only_if_at_least, positive_part)), Exact(1, 10));
}

TEST(LossyLaw, IsAwayFromTheTargetInEveryFullMemoryCase) {
  for (int vocab_size : {2, 3, 4}) {
    for (int draft_count : {1, 2, 3}) {
      const TinyCase<Exact> tiny_case =
          family_case(Family::kFullMemory, vocab_size, draft_count, draft_count, 5);
      EXPECT_GT(distance_of(tiny_case, chain_with(ratio_acceptance, whole_target)), 0);
      EXPECT_GT(distance_of(tiny_case, chain_with(ratio_acceptance, absolute_difference)), 0);
      EXPECT_GT(distance_of(tiny_case, chain_with(always, positive_part)), 0);
    }
  }
}

TEST(LossyLaw, OfABonusFromTheWrongRowShowsOnlyInTheJointLaw) {
  const auto bonus_from_first_row = [](const Iteration<Exact>& iteration, Chooser<Exact>& chooser) {
    Emission emission = chain<Exact>(iteration, chooser);
    if (emission.accepted_count == iteration.draft_count())
      emission.tokens.back() = chooser.draw(iteration.target({}, 0));
    return emission;
  };
  const TinyCase<Exact> tiny_case = family_case(Family::kFullMemory, 3, 1, 1, 4);
  EXPECT_GT(distance_of(tiny_case, bonus_from_first_row), 0);
  const auto law = extended_law(tiny_case, emission_law<Exact>(tiny_case, bonus_from_first_row));
  EXPECT_EQ(marginal(law, 3, 0), tiny_case.target[0][0]) << "the first token is right";
}

TEST(Figures, OfTheTextbookCaseAreTheKnownOnes) {
  const TinyCase<Exact> tiny_case = textbook(2);
  const EmissionLaw<Exact> law = emission_law(tiny_case, chain_rule());
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
  const TinyCase<Exact> tiny_case = family_case(Family::kDisjoint, 2, 2, 2, 1);
  const auto positions = acceptance_by_position(emission_law(tiny_case, chain_rule()), 2);
  EXPECT_EQ(positions[0].conditional(), Exact(0));
  EXPECT_EQ(positions[1].conditional(), std::nullopt);
}

TEST(Figures, ConditionalAcceptanceIsOneMinusTheDistanceOfTheRows) {
  for (std::uint64_t seed : {1, 2, 3, 4}) {
    const TinyCase<Exact> tiny_case = family_case(Family::kWithZeros, 4, 1, 1, seed);
    const Exact distance =
        total_variation(Distribution(tiny_case.target[0][0]), Distribution(tiny_case.draft[0][0]));
    const auto positions = acceptance_by_position(emission_law(tiny_case, chain_rule()), 1);
    EXPECT_EQ(positions[0].conditional(), 1 - distance);
  }
}

TEST(DoubleLaw, AgreesWithTheExactOneToRounding) {
  for_each_case([](const TinyCase<Exact>& tiny_case) {
    const auto exact = emission_law(tiny_case, chain_rule());
    const auto approximate = emission_law(in_double(tiny_case), law_rule("chain").approximate);
    for (const auto& [emission, probability] : exact)
      // A dozen operations a branch and at most some thousand branches: far below 1e-12.
      ASSERT_NEAR(approximate.at(emission), static_cast<double>(probability), 1e-12);
  });
}

TEST(Divergence, IsInfiniteOutsideTheSupportAndKnownInside) {
  const SequenceLaw<Exact> half = {{{0}, Exact(1, 2)}, {{1}, Exact(1, 2)}};
  const SequenceLaw<Exact> quarter = {{{0}, Exact(1, 4)}, {{1}, Exact(3, 4)}};
  const SequenceLaw<Exact> one = {{{0}, Exact(1)}};
  EXPECT_NEAR(kl_divergence(half, quarter), std::log(2) / 2 + std::log(2.0 / 3) / 2, 1e-15);
  EXPECT_EQ(kl_divergence(half, one), HUGE_VAL);
  EXPECT_NEAR(kl_divergence(one, half), std::log(2), 1e-15);
  EXPECT_EQ(total_variation(half, one), Exact(1, 2));
  EXPECT_EQ(total_variation(one, half), Exact(1, 2));
}

TEST(Enumeration, RefusesARuleThatChangesItsQuestions) {
  int run = 0;
  const RuleFunction<Exact> fickle = [&](const Iteration<Exact>&, Chooser<Exact>& chooser) {
    chooser.accept(++run % 2 == 0 ? Exact(1, 3) : Exact(1, 2));
    return Emission{{0}, 0};
  };
  EXPECT_THROW(emission_law(textbook(1), fickle), BrokenInvariant);
}

TEST(LawRules, AreFoundByNameAndOthersRefused) {
  for (const LawRule& rule : law_rules()) EXPECT_EQ(&law_rule(rule.name), &rule);
  try {
    law_rule("blok");
    FAIL();
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), testing::HasSubstr("chain, greedy"));
  }
  EXPECT_THROW(position_case({point_mass(2, 0)}, {point_mass(2, 0)}), Error);
  EXPECT_THROW(position_case({point_mass(2, 0), point_mass(3, 0)}, {point_mass(2, 0)}), Error);
}

}  // namespace
}  // namespace draftproof::reference::law
