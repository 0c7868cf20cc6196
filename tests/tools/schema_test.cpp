// Published schemas. Goal: what is written conforms, and a schema that accepts anything would fail
// here.
#include "tests/tools/schema.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "tests/tools/sample_run.h"
#include "tools/draftproof/law_page.h"
#include "tools/report/json.h"

namespace draftproof::tests {
namespace {

class Schema : public testing::Test {
 protected:
  void SetUp() override {
    if (!can_validate()) GTEST_SKIP() << "python3-jsonschema is not installed";
  }
};

TEST_F(Schema, OfTheReportHoldsForARunWithEveryKindOfCheck) {
  EXPECT_EQ(schema_complaint("report.schema.json", tools::report::json_of(sample_run())), "");
  auto audit = sample_audit();
  EXPECT_EQ(schema_complaint("report.schema.json", tools::report::json_of(audit)), "");
  audit.checks[0].verdict.log_e_value = INFINITY;
  audit.checks[0].accepted = "a reason";
  EXPECT_EQ(schema_complaint("report.schema.json", tools::report::json_of(audit)), "");
}

TEST_F(Schema, OfTheReportRefusesAViolationWithoutAWitness) {
  auto report = nlohmann::json::parse(tools::report::json_of(sample_run()));
  report["checks"][1]["witness"] = nullptr;
  EXPECT_NE(schema_complaint("report.schema.json", report.dump()), "");
}

TEST_F(Schema, OfTheReportRefusesMissingAndUnknownFields) {
  auto report = nlohmann::json::parse(tools::report::json_of(sample_run()));
  auto missing = report;
  missing["checks"][0].erase("smallest_visible_effect");
  EXPECT_THAT(schema_complaint("report.schema.json", missing.dump()),
              testing::HasSubstr("smallest_visible_effect"));
  report["surprise"] = 1;
  EXPECT_THAT(schema_complaint("report.schema.json", report.dump()),
              testing::HasSubstr("surprise"));
}

TEST_F(Schema, OfEventsHoldsForEveryEvent) {
  const auto run = sample_run();
  std::vector<tools::report::Event> events = {
      run.started, run.exempted[0], tools::report::CheckStarted{0, "a/chain"},
      tools::report::Warning{"a cause; a remedy"}, run.finished};
  for (const auto& check : run.checks) events.push_back(tools::report::CheckFinished{0, check});
  const auto audit = sample_audit();
  events.insert(events.end(), {audit.started, audit.sections[0]});
  for (const auto& check : audit.checks) events.push_back(tools::report::CheckFinished{0, check});
  for (const auto& event : events) {
    EXPECT_EQ(schema_complaint("event.schema.json", tools::report::json_line_of(event)), "");
  }
  EXPECT_NE(schema_complaint("event.schema.json", R"({"event":"run-started"})"), "");
}

TEST_F(Schema, OfLawsHoldsWithAndWithoutADraft) {
  tools::LawSettings settings;
  settings.target = ".1,.3,.6";
  settings.draft = ".7,.2,.1";
  for (const int length : {0, 1, 2}) {
    settings.length = length;
    const auto result = tools::law_result(tools::law_plan(settings));
    EXPECT_EQ(schema_complaint("law.schema.json", tools::law_json(result)), "");
  }
  EXPECT_NE(schema_complaint("law.schema.json", R"({"schema_version":"draftproof/law/2"})"), "");
}

}  // namespace
}  // namespace draftproof::tests
