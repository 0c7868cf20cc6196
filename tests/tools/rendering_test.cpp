// Renderings of one run made by hand. Goal: every format says the same four things about it, and a
// violation can be overlooked in none.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <pugixml.hpp>

#include "tests/tools/sample_run.h"
#include "tools/report/github.h"
#include "tools/report/json.h"
#include "tools/report/junit.h"
#include "tools/report/markdown.h"
#include "tools/report/summary.h"
#include "tools/report/text.h"

namespace draftproof::tools::report {
namespace {

using testing::HasSubstr;
using testing::Not;
using tests::sample_audit;
using tests::sample_run;

TEST(TextReport, ShowsTableRefutationWitnessAndWhatItRestsOn) {
  const std::string text = text_of(sample_run(), {});
  EXPECT_THAT(text, HasSubstr("| nothing_outside_the_support | support-safe        | 18 432 |"));
  EXPECT_THAT(text, HasSubstr("NOT support-safe (also not: "));
  EXPECT_THAT(text, HasSubstr("sequence-lossless"));
  EXPECT_THAT(text, HasSubstr("accounting-truthful: no violation seen."));
  EXPECT_THAT(text, HasSubstr("\nLet        target 0, 1"));
  EXPECT_THAT(text, HasSubstr("\nReplay     draftproof replay 0123456789ab"));
  EXPECT_THAT(text, HasSubstr("\nSeen       race in verify_chain at PTX line 120"));
  EXPECT_THAT(text, HasSubstr("assumption: one threshold per decision\n"));
  EXPECT_THAT(text, HasSubstr("not applicable: greedy_limits/chain: takes no coins\n"));
  EXPECT_THAT(text, HasSubstr("warning: a cause; a remedy\n"));
  EXPECT_THAT(text, HasSubstr("4 checks: 1 violated, 1 with an internal error, 1 inconclusive, "
                              "1 upheld. 2.5 s, exit 1.\n"));
}

TEST(TextReport, ShowsTheSizeOfAnUpheldAnswer) {
  EXPECT_THAT(text_of(sample_run(), {}), HasSubstr("TV <= 3/18446744073709551616"));
}

TEST(TextReport, ShowsCellCountsOnlyWhenAsked) {
  EXPECT_THAT(text_of(sample_run(), {false, 1}), HasSubstr("| draft length 1"));
  EXPECT_THAT(text_of(sample_run(), {false, 0}), Not(HasSubstr("draft length 1")));
}

TEST(TextReport, IsShortButNeverSilentAboutAViolationWhenQuiet) {
  const std::string text = text_of(sample_run(), {false, -1});
  EXPECT_THAT(text, Not(HasSubstr("| property")));
  EXPECT_THAT(text, HasSubstr("NOT support-safe"));
  EXPECT_THAT(text, HasSubstr("Replay"));
}

TEST(TextReport, BreaksNoReplayCommand) {
  CheckResult check = tests::violated_check();
  const std::string command =
      "draftproof check --kernel " + std::string(200, 'k') + ".toml --seed 1";
  check.verdict.witness->replay = command;
  const std::string text = text_of(sample_run({check, check}), {});
  EXPECT_THAT(text, HasSubstr("\nReplay     " + command + "\n"));
  EXPECT_THAT(text, HasSubstr("\nAlso       " + check.id + ": " + command + "\n"));
}

TEST(TextReport, ColorsOnlyWhenAsked) {
  EXPECT_THAT(text_of(sample_run(), {true, 0}), HasSubstr("\x1b[1;31mVIOLATED"));
  EXPECT_THAT(text_of(sample_run(), {false, 0}), Not(HasSubstr("\x1b")));
}

TEST(TextReport, SaysThatNothingWasShownByNoCheck) {
  EXPECT_THAT(text_of(sample_run({}), {}), HasSubstr("0 checks: nothing was shown."));
}

TEST(TextReport, CountsChecksThatDidNotRun) {
  auto run = sample_run({tests::upheld_check()});
  run.started.check_count = 3;
  run.finished.is_interrupted = true;
  EXPECT_THAT(text_of(run, {}), HasSubstr("1 check: 1 upheld, interrupted, 2 not run."));
}

TEST(MarkdownReport, CarriesTheSameAnswers) {
  const std::string text = markdown_of(sample_run());
  EXPECT_THAT(text, HasSubstr("| support-safe | 18 432 | VIOLATED |"));
  EXPECT_THAT(text, HasSubstr("**NOT support-safe"));
  EXPECT_THAT(text, HasSubstr("- **Replay** `draftproof replay 0123456789ab"));
}

TEST(JsonReport, HoldsClaimsWithWhatFallsAndEveryCheck) {
  const auto report = nlohmann::json::parse(json_of(sample_run()));
  EXPECT_EQ(report["schema_version"], "draftproof/report/1");
  EXPECT_EQ(report["verdict"], "violated");
  EXPECT_EQ(report["exit_code"], 1);
  EXPECT_EQ(report["checks"].size(), 4u);
  const auto claim = [&](const std::string& name) {
    for (const auto& entry : report["claims"]) {
      if (entry["claim"] == name) return entry;
    }
    return nlohmann::json();
  };
  EXPECT_EQ(claim("support-safe")["verdict"], "violated");
  EXPECT_EQ(claim("sequence-lossless")["verdict"], "violated");
  EXPECT_EQ(claim("sequence-lossless")["refuted_through"][0], "support-safe");
  EXPECT_EQ(claim("well-formed")["verdict"], "not-checked");
  EXPECT_EQ(claim("batch-invariant")["verdict"], "inconclusive");
  EXPECT_EQ(report["checks"][1]["witness"]["case"]["schema"], "draftproof/case/1");
  EXPECT_EQ(report["checks"][0]["witness"], nullptr);
  EXPECT_EQ(report["checks"][1]["observations"][0]["place"]["ptx_line"], 120);
}

TEST(JsonReport, SurvivesBytesThatAreNotUtf8) {
  auto run = sample_run();
  run.checks[0].verdict.evidence = "\xff\xfe";
  EXPECT_TRUE(nlohmann::json::accept(json_of(run)));
}

TEST(JsonLines, WritesOneObjectPerEventAndLeavesProgressOut) {
  std::string log;
  JsonLinesReporter reporter([&](const std::string& line) { log += line; });
  const auto run = sample_run();
  reporter.on(run.started);
  reporter.on(CheckStarted{0, "one/chain"});
  reporter.on(CheckProgress{0, 1, 2});
  reporter.on(CheckFinished{0, run.checks[0]});
  reporter.on(Warning{"a cause; a remedy"});
  reporter.on(run.finished);
  std::vector<std::string> events;
  std::istringstream lines(log);
  for (std::string line; std::getline(lines, line);) {
    events.push_back(nlohmann::json::parse(line)["event"]);
  }
  EXPECT_THAT(events, testing::ElementsAre("run-started", "check-started", "check-finished",
                                           "warning", "run-finished"));
}

pugi::xml_document junit(const Run& run) {
  pugi::xml_document document;
  EXPECT_TRUE(document.load_string(junit_of(run).c_str()));
  return document;
}

std::size_t count_of(const pugi::xml_node& node, const char* name) {
  const auto children = node.children(name);
  return static_cast<std::size_t>(std::distance(children.begin(), children.end()));
}

TEST(JunitReport, HasExactlyOneFailurePerViolatedCheck) {
  const auto document = junit(sample_run());
  const auto suite = document.child("testsuites").child("testsuite");
  EXPECT_EQ(suite.attribute("tests").as_int(), 4);
  EXPECT_EQ(suite.attribute("failures").as_int(), 2);
  EXPECT_EQ(suite.attribute("errors").as_int(), 1);
  EXPECT_EQ(suite.attribute("skipped").as_int(), 0);
  const auto violated =
      suite.find_child_by_attribute("testcase", "name", "nothing_outside_the_support/chain");
  EXPECT_EQ(count_of(violated, "failure"), 1u);
  EXPECT_THAT(violated.child("failure").text().get(), HasSubstr("Replay"));
  EXPECT_THAT(violated.child("failure").text().get(),
              HasSubstr("token 0 < \"accepted\" & counted"));
  const auto crashed = suite.find_child_by_attribute("testcase", "name", "inputs_unchanged/chain");
  EXPECT_EQ(count_of(crashed, "error"), 1u);
  EXPECT_EQ(count_of(crashed, "failure"), 0u);
}

TEST(JunitReport, SkipsWhatIsInconclusiveOnlyWhenTheGateAllowsIt) {
  auto run = sample_run({tests::inconclusive_check()});
  EXPECT_EQ(
      count_of(junit(run).child("testsuites").child("testsuite").child("testcase"), "failure"), 1u);
  run.finished.inconclusive_is_allowed = true;
  const auto document = junit(run);
  const auto node = document.child("testsuites").child("testsuite").child("testcase");
  EXPECT_EQ(count_of(node, "skipped"), 1u);
  EXPECT_EQ(count_of(node, "failure"), 0u);
}

TEST(JunitReport, ReplacesCharactersThatXmlCannotCarry) {
  auto run = sample_run();
  run.checks[0].verdict.evidence = std::string("a\x01z");
  EXPECT_THAT(junit_of(run), HasSubstr("a?z"));
}

TEST(GithubAnnotations, MarkEveryCheckThatIsNotUpheldOnOneLine) {
  const std::string text = github_annotations_of(sample_run());
  EXPECT_THAT(text, HasSubstr("::error title=draftproof nothing_outside_the_support::VIOLATED"));
  EXPECT_THAT(text, HasSubstr("::warning title=draftproof batch_order_does_not_matter::"));
  EXPECT_THAT(text, HasSubstr("%0Adraftproof replay 0123456789ab"));
  EXPECT_THAT(text, Not(HasSubstr("identity_draft_accepts_all")));
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 3);
}

TEST(AuditReport, ShowsSettingLabelEvidenceAndInterval) {
  const std::string text = text_of(sample_audit(), {});
  EXPECT_THAT(text, HasSubstr("draftproof 0.1.0  audit 20260117-141203-7f3a   seed 7"));
  EXPECT_THAT(text, HasSubstr("target       the baseline arm\n"));
  EXPECT_THAT(text, HasSubstr("| next_token_law | t0.7-k8 | marginal-lossless | 18 432 | "
                              "VIOLATED: LOSSY | e-value 3.2e+09 (alarm at 4.9e+06);"));
  EXPECT_THAT(text, HasSubstr("TV 0.031 (0.025 to 0.0371), KL"));
  EXPECT_THAT(text, HasSubstr("TV <= 0.0371; seen from TV"));
  EXPECT_THAT(text, HasSubstr("NOT marginal-lossless"));
  EXPECT_THAT(text, HasSubstr("What speculation gains here\n\n2.1 tokens a call\n"));
  EXPECT_THAT(markdown_of(sample_audit()), HasSubstr("### What speculation gains here"));
}

TEST(AuditReport, TellsServersOfContinuousIntegrationEvidenceAndSetting) {
  const std::string message = "e-value 3.2e+09 (alarm at 4.9e+06); evidence of next_token_law";
  EXPECT_THAT(junit_of(sample_audit()), HasSubstr("violated: " + message));
  EXPECT_THAT(github_annotations_of(sample_audit()),
              HasSubstr("::VIOLATED marginal-lossless in t0.7-k8 by mutant:sample: " + message));
}

TEST(AuditReport, CountsTheSettingsOfAWideMatrixAndHidesNoneThatFell) {
  auto run = sample_audit();
  for (int i = 0; i < 40; ++i)
    run.checks.push_back(tests::audit_check(oracle::VerdictKind::kUpheld, "t" + std::to_string(i)));
  const std::string text = text_of(run, {});
  EXPECT_THAT(text, HasSubstr("| 42 settings |"));
  EXPECT_THAT(text, HasSubstr("1 violated, 41 upheld"));
  EXPECT_THAT(text, HasSubstr("| t0.7-k8 "));
  EXPECT_THAT(text, Not(HasSubstr("| t39 ")));
  EXPECT_THAT(text_of(run, {false, 1}), HasSubstr("| t39 "));
  EXPECT_THAT(markdown_of(run), HasSubstr("| t39 "));
}

TEST(AuditReport, BreaksNoCurlLineAndSaysWhichSettingANoteIsOf) {
  auto run = sample_audit();
  const std::string curl = "curl -sS 'http://h' -d '{" + std::string(60, 'a') + " b}'";
  for (auto& check : run.checks) check.verdict.notes = {curl, "TV 0 (0 to 1)"};
  run.checks[1].verdict.notes.push_back("TV 0 (0 to 0.5)");
  const std::string text = text_of(run, {});
  EXPECT_THAT(text, HasSubstr("note: next_token_law in t0.7-k8: " + curl + "\n"));
  EXPECT_THAT(text, Not(HasSubstr("in t1: TV 0 (0 to 1)")));
  EXPECT_THAT(text, HasSubstr("note: next_token_law in t1: TV 0 (0 to 0.5)\n"));
}

TEST(AuditReport, KeepsAnAcceptedFindingAViolation) {
  auto run = sample_audit();
  run.checks[0].accepted = "engine#123, until 2027-01-01";
  EXPECT_THAT(text_of(run, {}), HasSubstr("VIOLATED: LOSSY"));
  EXPECT_THAT(text_of(run, {}), HasSubstr("accepted: next_token_law/t0.7-k8: engine#123"));
  EXPECT_THAT(junit_of(run), HasSubstr("failures=\"0\""));
  EXPECT_THAT(junit_of(sample_audit()), HasSubstr("failures=\"1\""));
  EXPECT_THAT(github_annotations_of(run), HasSubstr("::notice"));
  EXPECT_EQ(nlohmann::json::parse(json_of(run))["verdict"], "violated");
}

TEST(AuditReport, WritesInfiniteEvidenceAsAProof) {
  auto run = sample_audit();
  run.checks[0].verdict.log_e_value = INFINITY;
  run.checks[0].verdict.effect->divergence = INFINITY;
  EXPECT_THAT(text_of(run, {}), HasSubstr("| a proof;"));
  EXPECT_THAT(text_of(run, {}), HasSubstr("outside the support"));
  const auto check = nlohmann::json::parse(json_of(run))["checks"][0];
  EXPECT_EQ(check["log_e_value"], "inf");
  EXPECT_EQ(check["effect"]["divergence"], "inf");
  EXPECT_EQ(check["label"], "LOSSY");
  EXPECT_EQ(e_value_text(1000), "10^434");
}

}  // namespace
}  // namespace draftproof::tools::report
