// Rules that emit the target's own draw: sample and match, and the draft's noise shared with the
// target; and the exponential race behind the latter.
#include <gtest/gtest.h>

#include "reference/law/race.h"
#include "reference/law/rules/residual.h"
#include "tests/reference/single_path_cases.h"

namespace draftproof::reference::law {
namespace {

RuleFunction rule(const char* name) { return law_rule(name).make({}); }

TEST(MatchRule, IsTheTargetsLawExactly) { expect_lossless("match"); }

TEST(MatchRule, IsTheTargetsLawIterationAfterIteration) {
  expect_lossless_for_iterations("match", "fresh");
  expect_lossless_for_iterations("match", "position-keyed");
}

TEST(MatchRule, HasItsClosedFormAsExpectedLength) { expect_closed_form("match"); }

TEST(MatchRule, DoesNotReadWhatIsReported) {
  for_each_single_path_case(2, [](ModelCase tiny) {
    const EmissionLaw law = law_of(tiny, rule("match"));
    tiny.report = DraftReport::kOneHot;
    ASSERT_EQ(law_of(tiny, rule("match")), law);
  });
}

// The draw that differed is thrown away and made anew: with one drafted token x of draft mass q(x),
// out(y) = sum_x q(x) (p(x) [y = x] + (1 - p(x)) p(y)).
TEST(MatchRule, IsLossyWhenTheMismatchIsDrawnAgain) {
  const auto redraw = [](const Verification& step, Chooser& chooser) {
    Decision decision = rule("match")(step, chooser);
    const int node = decision.node();
    if (node < step.draft.size() - 1)
      decision.last = chooser.draw(step.behind(node), {node + 1, Purpose::kBonus, 1});
    return decision;
  };
  const ModelCase tiny = constant_case(".1,.3,.6", ".7,.2,.1", 1);
  // The excess at y is q(y) p(y) - p(y) sum_x q(x) p(x), with sum .19: (.051, .003, -.054).
  EXPECT_EQ(distance_of(tiny, redraw), Exact(54, 1000));
}

TEST(SharedNoiseRule, IsTheTargetsLawExactly) { expect_lossless("shared-noise"); }

TEST(SharedNoiseRule, IsTheTargetsLawIterationAfterIteration) {
  expect_lossless_for_iterations("shared-noise", "fresh");
  expect_lossless_for_iterations("shared-noise", "position-keyed");
}

TEST(SharedNoiseRule, HasItsClosedFormAsExpectedLength) { expect_closed_form("shared-noise"); }

TEST(SharedNoiseRule, KeepsEverythingOfAnEqualDraft) {
  const ModelCase tiny = family_case(Family::kEqualRows, 3, 3, 3);
  EXPECT_EQ(expected_emitted(law_of(tiny, rule("shared-noise"))), 4);
  EXPECT_LT(expected_emitted(law_of(tiny, rule("match"))), 4);
}

TEST(SharedNoiseRule, AgreesAsOftenAsTheInverseTransformsDo) {
  for (std::uint64_t seed : {1, 2, 3, 4}) {
    const ModelCase tiny = family_case(Family::kWithZeros, 4, 1, seed);
    EXPECT_EQ(acceptance_by_position(law_of(tiny, rule("shared-noise")), 1)[0].accepted,
              inverse_cdf_agreement(tiny.target->row({}), tiny.draft->row({})));
  }
}

// The same noise under the ratio rule: the recovered token is a function of what was drafted.
TEST(SharedNoise, IsLossyUnderTheRatioRule) {
  const auto shared = [](const Verification& step, Chooser& chooser) {
    const Token x = step.draft.nodes[0].token;
    const LawRow draft = step.draft.reported_row(0, step.vocab_size());
    const Exact ratio = step.behind(-1)[x] / draft[x];
    if (chooser.accept(std::min(ratio, Exact(1)), {0, Purpose::kAccept}))
      return Decision{{0}, chooser.draw(step.behind(0), {1, Purpose::kBonus})};
    return Decision{{},
                    chooser.draw(rules::residual(step.behind(-1), draft), {0, Purpose::kDraft})};
  };
  // Only token 0 is rejected, with 6/7, its coin in [0, .7), where the residual's cells [0, 1/6)
  // and [1/6, 1) weigh 5/21 and 16/21: 1 gets .2 + .6 5/21, instead of .2 + .6 1/6.
  EXPECT_EQ(distance_of(constant_case(".1,.3,.6", ".7,.2,.1", 1), shared),
            Exact(6, 10) * (Exact(5, 21) - Exact(1, 6)));
}

const LawRow kTarget = distribution_from_text(".1,.3,.6").probabilities();
const LawRow kDraft = distribution_from_text(".7,.2,.1").probabilities();

// By hand, for r = e_j / e_i: (0, 2) has r in [1/7, 6] with a bend at 4/7, (3/7) / (10/7 13/7) +
// (38/7) / (13/7 10); (0, 1) r in [2/7, 3]: (19/7) / (13/7 10); (1, 2) r in [1/2, 2]: 1.5 / (5
// 6.5); nothing goes from a token to one of smaller ratio.
TEST(Race, HasThePairLawComputedByHand) {
  const std::vector<LawRow> expected = {{Exact(1, 10), Exact(19, 130), Exact(59, 130)},
                                        {0, Exact(2, 13), Exact(3, 65)},
                                        {0, 0, Exact(1, 10)}};
  EXPECT_EQ(race_pair_law(kTarget, kDraft), expected);
  EXPECT_EQ(race_agreement(kTarget, kDraft), Exact(23, 65));
}

TEST(Race, GivesBothTheirOwnLaws) {
  for (bool has_zeros : {false, true}) {
    for (std::int64_t key = 0; key < 30; ++key) {
      const int vocab_size = 2 + static_cast<int>(key % 5);
      const LawRow target = model::RowFamily{vocab_size, 31, has_zeros}.row({key});
      const LawRow draft = model::RowFamily{vocab_size, 32, has_zeros}.row({key});
      const std::vector<LawRow> law = race_pair_law(target, draft);
      LawRow columns(target.size());
      Exact agreement = 0;
      for (std::size_t i = 0; i < law.size(); ++i) {
        Exact row = 0;
        for (std::size_t j = 0; j < law.size(); ++j) {
          ASSERT_GE(law[i][j], 0);
          row += law[i][j];
          columns[j] += law[i][j];
        }
        agreement += law[i][i];
        ASSERT_EQ(row, draft[i]);
      }
      ASSERT_EQ(columns, target);
      ASSERT_EQ(agreement, race_agreement(target, draft));
    }
  }
}

// Daliri, Musco, Suresh 2024: at least (1 - TV) / (1 + TV); no coupling reaches more than 1 - TV.
TEST(Race, AgreesAtLeastAsOftenAsTheBoundAndAtMostAsTheMaximalCoupling) {
  int strictly_between = 0;
  for (std::int64_t key = 0; key < 30; ++key) {
    const LawRow target = model::RowFamily{4, 41, key % 2 == 1}.row({key});
    const LawRow draft = model::RowFamily{4, 42, key % 2 == 1}.row({key});
    const Exact distance = total_variation(Distribution(target), Distribution(draft));
    const Exact agreement = race_agreement(target, draft);
    ASSERT_GE(agreement, (1 - distance) / (1 + distance));
    ASSERT_LE(agreement, 1 - distance);
    strictly_between += agreement > (1 - distance) / (1 + distance) && agreement < 1 - distance;
  }
  EXPECT_GE(strictly_between, 20);
  EXPECT_EQ(race_agreement(kTarget, kTarget), 1);
}

// No such bound holds for one coin read by inverse CDF: cells that do not overlap never agree.
TEST(Race, IsNotTheInverseTransform) {
  const LawRow target = distribution_from_text(".5,.5,0").probabilities();
  const LawRow draft = distribution_from_text("0,.5,.5").probabilities();
  EXPECT_EQ(inverse_cdf_agreement(target, draft), 0);
  EXPECT_EQ(race_agreement(target, draft), Exact(1, 3)) << "(1 - TV) / (1 + TV) with TV = 1/2";
}

}  // namespace
}  // namespace draftproof::reference::law
