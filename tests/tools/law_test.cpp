// The law page. Goal: numbers a reader can check with a pencil, and every malformed case named.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "reference/error.h"
#include "tools/draftproof/law_case.h"
#include "tools/draftproof/law_page.h"

namespace draftproof::tools {
namespace {

using reference::Exact;

LawSettings settings_of(const std::string& target, const std::string& draft, int length) {
  LawSettings settings;
  settings.target = target;
  settings.draft = draft;
  settings.length = length;
  return settings;
}

std::string complaint_of(const LawSettings& settings) {
  try {
    law_case(settings);
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kInput);
    return error.what();
  }
  return "";
}

TEST(LawCase, RepeatsOneRowAtEveryPosition) {
  const auto tiny_case = law_case(settings_of(".1,.9", ".5,.5", 3));
  EXPECT_EQ(tiny_case.draft_count(), 3);
  EXPECT_EQ(tiny_case.target->row({1, 0, 1}), (reference::LawRow{Exact(1, 10), Exact(9, 10)}));
}

TEST(LawCase, ShapesLogitsToMassesOverTheirSum) {
  LawSettings settings = settings_of("0,0,1", "0,0,0", 1);
  settings.top_k = 1;
  const auto tiny_case = law_case(settings);
  EXPECT_EQ(tiny_case.target->row({}), (reference::LawRow{0, 0, 1}));
}

TEST(LawCase, NamesTheRowAtFault) {
  EXPECT_THAT(complaint_of(settings_of(".5,.5;.5,.6", ".5,.5", 1)),
              testing::HasSubstr("--target row 2: probabilities sum to 11/10"));
  EXPECT_THAT(complaint_of(settings_of(".5,.5", ".5,.5;", 2)),
              testing::HasSubstr("--draft row 2: no token"));
  EXPECT_THAT(complaint_of(settings_of(".5,.5", "", 1)), testing::HasSubstr("--draft: missing"));
}

TEST(LawCase, RefusesAPresetWithoutLogits) {
  LawSettings settings = settings_of(".5,.5", ".5,.5", 1);
  settings.preset = "vllm";
  EXPECT_THAT(complaint_of(settings), testing::HasSubstr("--preset: needs logits"));
}

TEST(LawResult, OfARuleThatIgnoresTheDraftIsAtADistance) {
  // Accepting everything emits the draft's law: the distance must show, or "exactly 0" means
  // nothing.
  LawResult result = law_result(law_plan(settings_of(".1,.3,.6", ".7,.2,.1", 1)));
  EXPECT_EQ(result.distance, 0);
  result.emission.clear();
  const std::vector<Exact> draft = {Exact(7, 10), Exact(2, 10), Exact(1, 10)};
  for (int x = 0; x < 3; ++x) result.emission[{{x}, 0}] = draft[x];
  result.joint = reference::law::extended_law(*result.plan.decoding.target, result.emission, 2);
  EXPECT_EQ(reference::law::total_variation(result.joint, result.target), Exact(3, 5));
}

TEST(LawPage, ShowsNoAlgebraOfTheDraftWhereOneHotsAreReported) {
  // Kept with target(x), not with min(1, target / draft): 1/10, never "min(1, 1/7) = 1/10".
  LawSettings settings = settings_of(".1,.3,.6", ".7,.2,.1", 1);
  EXPECT_THAT(law_page(law_result(law_plan(settings))), testing::HasSubstr("min(1, 1/7) = 1/7"));
  settings.reports_one_hot = true;
  EXPECT_THAT(law_page(law_result(law_plan(settings))),
              testing::Not(testing::HasSubstr("min(1, 1")));
}

TEST(LawPage, SaysThatARuleEmitsNoBonus) {
  // One drafted token of two that are even: kept and alone with 1/2, or else the other one.
  LawSettings settings = settings_of(".5,.5", ".5,.5", 1);
  settings.rule = "lookahead";
  const LawResult result = law_result(law_plan(settings));
  EXPECT_EQ(result.expected.front(), Exact(1));
  EXPECT_THAT(law_page(result), testing::HasSubstr("1/2 = 0.5, none is emitted"));
}

TEST(LawPlan, EndsARequestAtAnyOfSeveralEndTokens) {
  LawSettings settings = settings_of(".1,.3,.6", ".7,.2,.1", 1);
  settings.contracts.end_tokens = "0,1";
  settings.tokens = 2;
  const LawResult result = law_result(law_plan(settings));
  EXPECT_EQ(result.sequence->law.at({0}), Exact(1, 10));
  EXPECT_EQ(result.sequence->law.at({1}), Exact(3, 10));
  EXPECT_EQ(result.sequence->distance, 0);
}

TEST(LawPlan, HoldsAGreedyRuleOfAMethodAgainstGreedyDecoding) {
  LawSettings settings;
  settings.method = "eagle-chain";
  settings.rule = "greedy";
  EXPECT_EQ(law_result(law_plan(settings)).distance, 0);
}

TEST(LawResult, HasNoClosedFormForDraftsThatShrinkToTheEnd) {
  LawSettings settings = settings_of(".1,.3,.6", ".7,.2,.1", 1);
  settings.tokens = 2;
  settings.token_count_max = 2;
  EXPECT_EQ(law_result(law_plan(settings)).formula, Exact(7, 5));
  settings.token_count_max = 1;
  EXPECT_EQ(law_result(law_plan(settings)).formula, std::nullopt);
}

TEST(Readable, KeepsShortFractionsAndRoundsLongOnesVisibly) {
  EXPECT_EQ(readable(Exact(3, 10)), "3/10");
  EXPECT_EQ(readable(Exact(1) / Exact("123456789012345678901234567890")), "~8.1e-30");
}

}  // namespace
}  // namespace draftproof::tools
