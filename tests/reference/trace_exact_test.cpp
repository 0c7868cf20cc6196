// Traces: the numbers of a position are the formulas' numbers for the chain, and tell a wrong rule.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "reference/law/trace.h"
#include "tests/reference/lossy_rules.h"
#include "tests/reference/tiny_families.h"

namespace draftproof::reference::law {
namespace {

TEST(Trace, ShowsTheAlgebraOfTheTextbookCase) {
  const Distribution target = distribution_from_text(".1,.3,.6");
  const Distribution draft = distribution_from_text(".7,.2,.1");
  const ModelCase tiny =
      chain_case(model::position_model({target}), model::position_model({draft}), 1);
  const auto steps = trace(tiny, law_of(tiny, chain_rule()));
  ASSERT_EQ(steps.size(), 4U);
  using testing::ElementsAre;
  EXPECT_TRUE(steps[0].accepted.empty());
  EXPECT_EQ(steps[0].reached, 1);
  EXPECT_EQ(steps[0].kept, Exact(2, 5));
  EXPECT_THAT(steps[0].kept_by_token, ElementsAre(Exact(1, 7), Exact(1), Exact(1)));
  EXPECT_THAT(steps[0].last, ElementsAre(Exact(0), Exact(1, 6), Exact(5, 6)));
  EXPECT_THAT(steps[2].accepted, ElementsAre(1));
  EXPECT_EQ(steps[2].reached, Exact(1, 5));
  EXPECT_TRUE(steps[2].draft.empty());
  EXPECT_EQ(steps[2].last, target.probabilities());
}

TEST(Trace, IsTheChainsFormulasInEveryFamily) {
  for (Family family : kFamilies) {
    const ModelCase tiny = family_case(family, 3, 2, 3);
    for (const TraceStep& step : trace(tiny, law_of(tiny, chain_rule()))) {
      EXPECT_GT(step.reached, 0);
      if (step.draft.empty()) {
        EXPECT_EQ(step.last, step.target);
        continue;
      }
      LawRow weights;
      for (std::size_t v = 0; v < step.target.size(); ++v) {
        weights.push_back(positive_part(step.target[v], step.draft[v]));
        if (step.draft[v] == 0)
          EXPECT_EQ(step.kept_by_token[v], std::nullopt);
        else
          EXPECT_EQ(step.kept_by_token[v], ratio_acceptance(step.target[v], step.draft[v]));
      }
      if (step.kept == 1)
        EXPECT_TRUE(step.last.empty());
      else
        EXPECT_EQ(step.last, normalised(weights).probabilities());
    }
  }
}

TEST(Trace, OfAWrongRuleShowsWhatItDoes) {
  const ModelCase tiny = family_case(Family::kFullMemory, 3, 1, 3);
  const auto steps = trace(tiny, law_of(tiny, chain_with(ratio_acceptance, whole_target)));
  EXPECT_EQ(steps[0].last, tiny.target->row({}));
}

}  // namespace
}  // namespace draftproof::reference::law
