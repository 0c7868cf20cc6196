// Plans. Goal: requests are those that the collector sends, more samples see less, the budget is
// split over the checks that can raise an alarm, and nothing is promised where nothing is asked.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "reference/error.h"
#include "tests/tools/schema.h"
#include "tools/audit/collector.h"
#include "tools/audit/plan.h"

namespace draftproof::tests {
namespace {

namespace audit = tools::audit;
using properties::Arm;
using properties::SamplingRequest;
using testing::Contains;
using testing::HasSubstr;

audit::AuditConfig config_of(std::map<std::string, std::string> flags) {
  flags.insert({"run.battery", "\"smoke\""});
  flags.insert({"target.toy", "\"markov\""});
  return audit::load_config({}, flags).config;
}

audit::AuditPlan plan_of(const audit::AuditConfig& config) {
  return audit::plan_of(config, audit::assumed_ground(config));
}

/// What the collector sends to arms that answer nonsense, which settles nothing.
std::uint64_t requests_sent(const audit::AuditConfig& config) {
  properties::audits::JudgeSettings judge;
  judge.audits = {"well_formed"};
  audit::CollectPlan plan{config.matrix, judge, {}, {}, {}};
  for (std::size_t i = 0; i < config.matrix.settings.size(); ++i) plan.settings.push_back(i);
  std::uint64_t count = 0;
  audit::CollectHooks hooks;
  hooks.ask = [&](Arm, const std::vector<SamplingRequest>& requests, int) {
    count += requests.size();
    properties::Completion completion;
    completion.token_ids = {0};
    return std::vector<properties::Completion>(requests.size(), completion);
  };
  hooks.keep = [](const auto&) {};
  hooks.now = [] { return 0.0; };
  properties::audits::Evidence evidence;
  audit::collect(plan, hooks, evidence);
  return count;
}

TEST(AuditPlan, CountsTheRequestsThatTheCollectorSends) {
  const auto config = config_of({{"run.trials", "40"}});
  const std::uint64_t sent = requests_sent(config);
  const std::uint64_t planned = plan_of(config).most.requests;
  // Warming up sends one more to each arm.
  EXPECT_GE(sent, planned);
  EXPECT_LE(sent, planned + 2);
}

TEST(AuditPlan, SeesLessWithMoreTrialsAndCostsMore) {
  const auto few = plan_of(config_of({{"run.trials", "100"}}));
  const auto many = plan_of(config_of({{"run.trials", "10000"}}));
  ASSERT_EQ(few.checks.size(), many.checks.size());
  ASSERT_FALSE(few.checks.empty());
  int laws = 0;
  for (std::size_t i = 0; i < few.checks.size(); ++i) {
    if (few.checks[i].claim.find("-lossless") == std::string::npos) continue;
    ++laws;
    EXPECT_LT(many.checks[i].visible, few.checks[i].visible) << few.checks[i].audit;
    EXPECT_TRUE(few.checks[i].to_certify);
    EXPECT_EQ(many.checks[i].to_certify, few.checks[i].to_certify);
  }
  EXPECT_GT(laws, 0);
  EXPECT_GT(many.most.requests, 50 * few.most.requests / 2);
  EXPECT_EQ(many.first_look.requests, few.first_look.requests);
}

TEST(AuditPlan, SplitsTheBudgetOverTheChecksThatCanRaiseAnAlarm) {
  const auto plan = plan_of(config_of({{"run.false_alarms", "1e-4"}}));
  const auto shares = static_cast<std::size_t>(
      std::count_if(plan.checks.begin(), plan.checks.end(),
                    [](const audit::PlannedCheck& check) { return check.takes_budget; }));
  EXPECT_EQ(plan.budget_shares, shares);
  ASSERT_TRUE(plan.log_alarm);
  EXPECT_NEAR(*plan.log_alarm, std::log(static_cast<double>(shares) / 1e-4), 1e-9);
}

/// Both arms' answers make pairs, read against each other behind each prompt; a known law takes
/// tokens. Scores of a declared mode have the other half of the budget.
TEST(AuditPlan, CountsInTheUnitsOfItsAudits) {
  const auto config = config_of({{"run.trials", "40"}});
  const auto check = [](const audit::AuditPlan& plan, const std::string& id) {
    for (const auto& each : plan.checks)
      if (each.audit == id) return each;
    ADD_FAILURE() << "no " << id;
    return audit::PlannedCheck{};
  };
  const auto plan = plan_of(config);
  EXPECT_EQ(check(plan, "two_sample_law").unit, "pairs of answers");
  EXPECT_EQ(check(plan, "next_token_law").unit, "tokens");
  EXPECT_GT(check(plan, "next_token_law").samples, check(plan, "two_sample_law").samples);
  EXPECT_GT(check(plan, "two_sample_law").visible, check(plan, "next_token_law").visible);
  const auto scored = plan_of(config_of({{"run.trials", "40"},
                                         {"speculation.declared_lossy", "\"synthetic\""},
                                         {"gate.approximate.schema_valid", "0.9"}}));
  EXPECT_DOUBLE_EQ(scored.false_alarms, config.false_alarms / 2);
  EXPECT_DOUBLE_EQ(check(scored, "schema_valid").false_alarms, config.false_alarms / 2);
}

TEST(AuditPlan, TakesTheRateAndThePricesThatAreGiven) {
  const auto plan = plan_of(config_of({{"speed.rate", "100.0"},
                                       {"speed.price_per_million_input", "2.0"},
                                       {"speed.price_per_million_output", "8.0"}}));
  EXPECT_NEAR(plan.most.seconds, static_cast<double>(plan.most.output_tokens) / 100, 1e-6);
  ASSERT_TRUE(plan.most.price);
  EXPECT_NEAR(*plan.most.price,
              2e-6 * static_cast<double>(plan.most.prompt_tokens) +
                  8e-6 * static_cast<double>(plan.most.output_tokens),
              1e-9);
  EXPECT_THAT(plan.assumptions, Contains(HasSubstr("--rate")));
  const auto assumed = plan_of(config_of({}));
  EXPECT_FALSE(assumed.most.price);
  EXPECT_THAT(assumed.assumptions, Contains(HasSubstr("assumed; measure it")));
}

TEST(AuditPlan, SaysWhatLimitsLeave) {
  EXPECT_EQ(plan_of(config_of({})).reached_share, 1);
  const auto plan = plan_of(config_of({{"run.max_requests", "100"}}));
  EXPECT_NEAR(plan.reached_share, 100.0 / static_cast<double>(plan.most.requests), 1e-9);
  EXPECT_THAT(audit::page_of(plan, audit::PlanForm::kText), HasSubstr("limits       leave"));
}

TEST(AuditPlan, NamesTheAuditsThatSpeakOfNothingAndWhy) {
  const auto known = plan_of(config_of({}));
  const auto unknown = plan_of(config_of({{"target.toy", "\"\""}, {"target.vocab", "8"}}));
  EXPECT_THAT(unknown.not_exercised, Contains(HasSubstr("law is not known")));
  EXPECT_THAT(known.not_exercised, testing::Not(Contains(HasSubstr("law is not known"))));
  EXPECT_THAT(known.not_exercised, Contains(HasSubstr("grammar")));
  EXPECT_THAT(known.not_exercised, Contains(HasSubstr("asks for no logprobs")));
  EXPECT_THAT(unknown.not_exercised,
              Contains(testing::AllOf(HasSubstr("support_of_filters"), HasSubstr("candidates"))));
}

TEST(AuditPlan, WritesJsonThatConformsToItsSchema) {
  if (!can_validate()) GTEST_SKIP() << "python3-jsonschema is not installed";
  const std::string page = audit::page_of(plan_of(config_of({})), audit::PlanForm::kJson);
  EXPECT_EQ(schema_complaint("plan.schema.json", page), "");
  auto wrong = nlohmann::json::parse(page);
  wrong["checks"][0]["smallest_visible_effect"] = 2;
  EXPECT_NE(schema_complaint("plan.schema.json", wrong.dump()), "");
}

}  // namespace
}  // namespace draftproof::tests
