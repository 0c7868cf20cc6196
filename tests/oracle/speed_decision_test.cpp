// Decision. Goal: the advice follows the truth a trace was made from, names the term that was made
// dear, and says inconclusive wherever the evidence does not reach.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "oracle/speed/decision.h"
#include "oracle/speed/gain_map.h"
#include "reference/error.h"
#include "tests/oracle/speed_traces.h"

namespace draftproof::oracle::speed {
namespace {

using tests::made_trace;
using tests::TraceRecipe;

Decision decision_of(const Trace& trace) {
  const auto cohorts = cohorts_of(trace);
  return decide(cohorts.front(), identities_of(cohorts.front()), {});
}

TEST(Decision, IsToUseWhereDraftingPays) {
  const Decision decision = decision_of(made_trace({}));
  EXPECT_EQ(decision.advice, Advice::kUse);
  EXPECT_EQ(decision.term, "draft");  // 4 ms of it, beside 2 of slope and .3 of the rest
  // E[N] of .8 over 4 is 3.36, T_step 26.3 ms: 2.56; 160 calls make it wander by a few percent.
  EXPECT_NEAR(decision.evidence->speed.value, 2.56, 0.3);
  EXPECT_GT(decision.evidence->speed.interval->low, 1);
  EXPECT_NEAR(*decision.break_even, 26.3 / 20, 1e-9);
}

struct Loss {
  std::string name;
  TraceRecipe recipe;
  std::string term;
};

std::vector<Loss> losses() {
  TraceRecipe draft, slope, rollback, accept, other, acceptance;
  for (TraceRecipe* each : {&draft, &slope, &rollback, &accept, &other}) each->rates.assign(4, 0.5);
  draft.draft_token = 0.025;
  slope.verify_token = 0.025;
  rollback.rollback = 0.1;
  accept.accept = 0.1;
  other.other = 0.1;
  acceptance.rates.assign(4, 0.02);
  return {{"Draft", draft, "draft"},          {"VerifySlope", slope, "verify slope"},
          {"Rollback", rollback, "rollback"}, {"Accept", accept, "accept"},
          {"Other", other, "other"},          {"Acceptance", acceptance, "acceptance"}};
}

class Losses : public testing::TestWithParam<Loss> {};

TEST_P(Losses, AreSwitchedOffForTheTermThatMadeThem) {
  const Decision decision = decision_of(made_trace(GetParam().recipe));
  EXPECT_EQ(decision.advice, Advice::kSwitchOff) << decision.reason;
  EXPECT_EQ(decision.term, GetParam().term) << decision.reason;
}

INSTANTIATE_TEST_SUITE_P(Terms, Losses, testing::ValuesIn(losses()),
                         [](const auto& info) { return info.param.name; });

TraceRecipe too_long() {
  TraceRecipe recipe;
  recipe.lengths = {2, 10};
  recipe.rates = {0.8, 0.7, 0.3, 0.2, 0.2, 0.2, 0.2, 0.2, 0.2, 0.2};
  recipe.requests = 16;
  recipe.draft_token = 0.005;
  return recipe;
}

TEST(Decision, IsToShortenWhereTheTailDoesNotPay) {
  Decision decision = decision_of(made_trace(too_long()));
  EXPECT_EQ(decision.advice, Advice::kShorten) << decision.reason;
  EXPECT_EQ(decision.term, "draft");
  EXPECT_EQ(decision.evidence->best->draft_length, 2);
  EXPECT_EQ(decision.evidence->best->kind, CostKind::kMeasured);
  TraceRecipe slope = too_long();
  slope.draft_token = 0.0005;
  slope.verify_token = 0.005;
  decision = decision_of(made_trace(slope));
  EXPECT_EQ(decision.advice, Advice::kShorten) << decision.reason;
  EXPECT_EQ(decision.term, "verify slope");
}

TEST(Decision, IsInconclusiveWhenTheIntervalStraddlesOne) {
  TraceRecipe recipe;
  recipe.spread = 0.25;
  recipe.requests = 5;
  recipe.decode = 0.0079;  // E[N] of about 3.3 against a step of 26.3 ms
  const Decision decision = decision_of(made_trace(recipe));
  EXPECT_LT(decision.evidence->speed.interval->low, 1);
  EXPECT_GT(decision.evidence->speed.interval->high, 1);
  EXPECT_EQ(decision.advice, Advice::kInconclusive);
  EXPECT_EQ(decision.term, "uncertainty");
  EXPECT_THAT(decision.reason, testing::HasSubstr("trace more requests"));
}

TEST(Decision, IsInconclusiveForOneRequestHoweverLargeTheGain) {
  TraceRecipe recipe;
  recipe.requests = 1;
  recipe.calls = 500;
  const Decision decision = decision_of(made_trace(recipe));
  EXPECT_EQ(decision.advice, Advice::kInconclusive);
  EXPECT_EQ(decision.term, "number of requests");
}

TEST(Decision, IsInconclusiveWithoutABaselineOrATime) {
  Trace trace = made_trace({});
  Trace without = trace;
  std::erase_if(without.iterations, [](const Iteration& i) { return i.arm == Arm::kBaseline; });
  EXPECT_EQ(decision_of(without).advice, Advice::kInconclusive);
  EXPECT_THAT(decision_of(without).reason, testing::HasSubstr("no baseline"));
  trace.iterations[0].step = trace.iterations[0].verify = std::nullopt;
  EXPECT_EQ(decision_of(trace).term, "not reported");
  EXPECT_THAT(decision_of(trace).reason, testing::HasSubstr("line 2"));
  for (Iteration& each : without.iterations) each.drafted = each.accepted = 0;
  EXPECT_EQ(decision_of(without).advice, Advice::kInconclusive);
}

TEST(Decision, IsInconclusiveWhenACounterLies) {
  Trace trace = made_trace({});
  trace.iterations[0].emitted += 1;
  const Decision decision = decision_of(trace);
  EXPECT_EQ(decision.advice, Advice::kInconclusive);
  EXPECT_EQ(decision.term, "emitted-per-iteration");
}

JackknifeInterval estimate(double low, double high) {
  return {(low + high) / 2, Interval{low, high}, 8};
}

TEST(Advice, FollowsFromTheIntervalsAlone) {
  Prediction best;
  best.draft_length = 2;
  const auto advice = [&](JackknifeInterval speed, JackknifeInterval best_speed,
                          JackknifeInterval gain, double present) {
    return advice_of({speed, present, best, best_speed, gain});
  };
  const auto win = estimate(1.1, 1.3), loss = estimate(0.7, 0.9), open = estimate(0.9, 1.2);
  EXPECT_EQ(advice(win, win, open, 4), Advice::kUse);
  EXPECT_EQ(advice(win, win, win, 4), Advice::kShorten);
  EXPECT_EQ(advice(win, win, win, 2), Advice::kUse);  // no shorter length
  EXPECT_EQ(advice(loss, win, win, 4), Advice::kShorten);
  EXPECT_EQ(advice(loss, loss, win, 4), Advice::kSwitchOff);
  EXPECT_EQ(advice(loss, open, win, 4), Advice::kInconclusive);
  EXPECT_EQ(advice(open, open, open, 4), Advice::kInconclusive);
  EXPECT_EQ(advice(open, win, win, 4), Advice::kShorten);
  EXPECT_EQ(advice_of({loss, 4, std::nullopt, std::nullopt, std::nullopt}), Advice::kSwitchOff);
  EXPECT_EQ(advice_of({{1.5, std::nullopt, 1}, 4, best, win, win}), Advice::kShorten);
}

TEST(CohortModel, PredictsTheLengthThatRanAsItRan) {
  const Trace trace = made_trace({});
  const auto cohort = cohorts_of(trace).front();
  const auto model = model_of(cohort, {}, numbered_requests(cohort));
  const auto prediction = model->predict(4);
  // One length, no cut tokens: the prediction is the measurement, up to the rounding of 160 sums.
  EXPECT_NEAR(prediction->speed, model->drafting_speed, 1e-9);
  EXPECT_EQ(prediction->kind, CostKind::kMeasured);
  EXPECT_EQ(model->predict(2)->kind, CostKind::kInterpolated);
  EXPECT_EQ(model->predict(5)->kind, CostKind::kExtrapolated);
  EXPECT_EQ(model->predict(0)->speed, 1);
  // The verify line runs from the baseline's 20 ms to 22 at 4, so 21 at 2.
  EXPECT_NEAR(model->predict(2)->terms.verify, 0.021, 1e-12);
}

TEST(CostLine, JoinsPointsAndNeverFallsBehindTheLast) {
  CostLine line;
  line.add(2, 10);
  line.add(4, 20);
  line.add(4, 22);
  EXPECT_DOUBLE_EQ(line.cost(4), 21);
  EXPECT_DOUBLE_EQ(line.cost(3), 15.5);
  EXPECT_DOUBLE_EQ(line.cost(6), 32);
  EXPECT_DOUBLE_EQ(line.cost(1), 10);
  line.add(8, 5);
  EXPECT_DOUBLE_EQ(line.cost(100), 5);
  EXPECT_THROW(CostLine().cost(1), BrokenInvariant);
}

TEST(Decision, OfTreesRestsOnWhatRanAlone) {
  Trace trace = made_trace({});
  for (Iteration& each : trace.iterations) {
    if (each.arm == Arm::kBaseline) continue;
    each.depth = each.drafted;
    each.drafted = 12;
  }
  const Decision decision = decision_of(trace);
  EXPECT_EQ(decision.advice, Advice::kUse);
  EXPECT_TRUE(decision.predictions.empty());
}

TEST(GainMap, IsTheSpeedEquationAtEveryPoint) {
  const Trace trace = made_trace({});
  const GainMap map = gain_map(trace, {4, {}, {0, 0.8}});
  ASSERT_EQ(map.points.size(), 8u);
  const GainPoint& last = map.points.back();
  EXPECT_EQ(last.draft_length, 4);
  // Rows 5 at 22 ms, measured; four tokens of 1 ms; .3 ms of the rest.
  EXPECT_NEAR(last.speed, 3.3616 * 20 / 26.3, 1e-9);
  EXPECT_EQ(last.kind, CostKind::kMeasured);
  EXPECT_LT(map.points[6].speed, 1) << "nothing accepted cannot gain";
  EXPECT_EQ(gain_map(trace, {1, {7}, {0.5}}).points.front().kind, CostKind::kExtrapolated);
}

TEST(GainMap, SaysWhatItLacks) {
  Trace trace = made_trace({});
  trace.iterations[4].batch = std::nullopt;
  EXPECT_THAT(gain_map(trace, {4, {}, {0.5}}).why_not, testing::HasSubstr("line 6"));
  trace = made_trace({});
  std::erase_if(trace.iterations, [](const Iteration& i) { return i.arm == Arm::kBaseline; });
  EXPECT_THAT(gain_map(trace, {4, {}, {0.5}}).why_not, testing::HasSubstr("no baseline"));
}

}  // namespace
}  // namespace draftproof::oracle::speed
