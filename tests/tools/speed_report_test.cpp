// Report of draftproof speed. Goal: the example trace gives the advice that its truth calls for, in
// every rendering, and the published schemas hold what is read and written, and refuse the rest.
#include "tools/draftproof/speed_report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <sstream>

#include "reference/error.h"
#include "tests/tools/schema.h"
#include "tools/draftproof/speed_trace.h"
#include "tools/store/atomic_file.h"

namespace draftproof::tools {
namespace {

using nlohmann::json;
using testing::HasSubstr;

const std::string kExample = DRAFTPROOF_SOURCE_DIR "/fixtures/traces/example.jsonl";

SpeedReport example_report(const SpeedSettings& settings = {}) {
  auto trace = trace_from_json_lines(store::read_file(kExample), kExample, false);
  apply(settings, trace.setup);
  return speed_report(trace, settings);
}

TEST(SpeedReport, GivesEachCohortTheAdviceItsTruthCallsFor) {
  const SpeedReport report = example_report();
  ASSERT_EQ(report.cohorts.size(), 3u);
  // Drawn with conditional rates from .85 and cheap drafts; with rates from .45 and 12 ms of verify
  // a token; with rates that fall to .4 and drafts of 10 beside drafts of 3.
  EXPECT_EQ(report.cohorts[0].decision.advice, oracle::speed::Advice::kUse);
  EXPECT_EQ(report.cohorts[1].decision.advice, oracle::speed::Advice::kSwitchOff);
  EXPECT_EQ(report.cohorts[1].decision.term, "verify slope");
  EXPECT_EQ(report.cohorts[2].decision.advice, oracle::speed::Advice::kShorten);
  EXPECT_EQ(report.cohorts[2].decision.term, "draft");
  EXPECT_FALSE(report.any_broken());
}

TEST(SpeedReport, IsReadableAsTextAndMarkdown) {
  const SpeedReport report = example_report();
  for (const bool is_markdown : {false, true}) {
    const std::string page = speed_page(report, is_markdown);
    EXPECT_THAT(page, HasSubstr("cohort chat, batch 1: use"));
    EXPECT_THAT(page, HasSubstr("cohort code, batch 64: switch off"));
    EXPECT_THAT(page, HasSubstr("not reported"));
    EXPECT_THAT(page, HasSubstr("speed without it"));
    EXPECT_THAT(page, HasSubstr("admit iff survival >="));
  }
  EXPECT_THAT(speed_page(report, true), HasSubstr("## cohort"));
}

TEST(SpeedReport, TakesWhatTheTraceDoesNotSayFromTheSettings) {
  SpeedSettings settings;
  settings.query_group = 4;
  settings.tile = 64;
  settings.experts = 8;
  settings.experts_per_token = 2;
  const SpeedReport report = example_report(settings);
  EXPECT_EQ(report.cohorts[0].tiles[0].filling_length, 15);  // 64 / 4 - 1
  EXPECT_EQ(report.setup.shape->experts, 8);
  settings.experts_per_token = 9;
  EXPECT_THROW(example_report(settings), Error);
  oracle::speed::Setup bare;
  EXPECT_THROW(apply(settings, bare), Error);
}

TEST(SpeedReport, AsCsvHasOneNumberALineAndQuotesWhatHoldsACommas) {
  const std::string csv = speed_csv(example_report());
  std::istringstream lines(csv);
  std::string line;
  std::getline(lines, line);
  EXPECT_EQ(line, "cohort,kind,id,label,value,unit");
  EXPECT_THAT(csv, HasSubstr("\"code, batch 64\",decision,advice,,switch off,\n"));
  EXPECT_THAT(csv, HasSubstr("\"chat, batch 1\",metric,divergence,,not reported,nat\n"));
}

class SpeedSchema : public testing::Test {
 protected:
  void SetUp() override {
    if (!tests::can_validate()) GTEST_SKIP() << "python3-jsonschema is not installed";
  }
};

TEST_F(SpeedSchema, OfTheReportHoldsAndRefusesWhatIsMissingOrUnknown) {
  SpeedReport report = example_report();
  report.damaged.push_back({7, "is no JSON"});
  json written = json::parse(speed_json(report));
  EXPECT_EQ(tests::schema_complaint("speed.schema.json", written.dump()), "");
  json missing = written;
  missing["cohorts"][0].erase("decision");
  EXPECT_THAT(tests::schema_complaint("speed.schema.json", missing.dump()), HasSubstr("decision"));
  written["cohorts"][0]["surprise"] = 1;
  EXPECT_THAT(tests::schema_complaint("speed.schema.json", written.dump()), HasSubstr("surprise"));
}

TEST_F(SpeedSchema, OfTheReportHoldsWhereNothingIsReported) {
  const std::string bare =
      R"({"record":"setup","schema":"draftproof/trace/1"})"
      "\n"
      R"({"record":"iteration","arm":"speculative","request":"a","index":0,"drafted":2,)"
      R"("accepted":5,"emitted":1})";
  const SpeedReport report = speed_report(trace_from_json_lines(bare, "t", false), {});
  EXPECT_TRUE(report.any_broken());
  EXPECT_EQ(tests::schema_complaint("speed.schema.json", speed_json(report)), "");
}

TEST_F(SpeedSchema, OfTracesHoldsForTheExampleAndRefusesDamage) {
  std::istringstream lines(store::read_file(kExample));
  std::string line, last_arm;
  int checked = 0;
  // One line of every record and arm is enough: the rest has the same fields.
  while (std::getline(lines, line)) {
    const json record = json::parse(line);
    const std::string kind = record["record"].get<std::string>() + record.value("arm", "");
    if (kind == last_arm) continue;
    last_arm = kind;
    if (++checked > 5) break;
    EXPECT_EQ(tests::schema_complaint("trace.schema.json", line), "") << line;
  }
  EXPECT_GE(checked, 5);
  for (const char* damaged :
       {R"({"record":"iteration","arm":"speculative","request":"a","index":0,"emitted":1})",
        R"({"record":"iteration","arm":"baseline","request":"a","index":0,"emitted":1,)"
        R"("step_ms":1,"step_s":1})",
        R"({"record":"iteration","arm":"baseline","request":"a","index":0,"emitted":1,"step":1})",
        R"({"record":"setup"})"})
    EXPECT_NE(tests::schema_complaint("trace.schema.json", damaged), "") << damaged;
}

TEST(SpeedExamples, AreWrittenInEveryFormatWithTheirSource) {
  const auto examples = oracle::speed::worked_examples();
  EXPECT_THAT(examples_page(examples, false), testing::Not(HasSubstr("| NO ")));
  EXPECT_THAT(examples_page(examples, true), HasSubstr("arXiv:2211.17192"));
  EXPECT_EQ(json::parse(examples_json(examples))["examples"].size(), examples.size());
  EXPECT_THAT(examples_csv(examples), HasSubstr("best-length-0.8-0.05,8,8,yes"));
  auto wrong = examples;
  wrong[0].published += 1;
  EXPECT_THAT(examples_page(wrong, false), HasSubstr("| NO "));
}

}  // namespace
}  // namespace draftproof::tools
