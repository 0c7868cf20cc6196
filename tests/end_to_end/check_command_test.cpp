// check, replay and demo, end to end. Goal: exit codes, files and streams are as documented, for an
// upheld, a violated, an inconclusive and an interrupted run.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <pugixml.hpp>
#include <regex>
#include <sstream>

#include "tests/end_to_end/command.h"
#include "tests/tools/schema.h"

namespace draftproof::tests {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;
using testing::Not;

constexpr const char* kProperty = "nothing_outside_the_support";
constexpr const char* kMutant = "mutant:textbook_cycle";

TEST(CheckCommand, UpholdsTheReferenceWithExitZeroAndASize) {
  const CommandResult result = draftproof(
      {"check", kProperty, "--subject", "reference", "--battery", "smoke", "-o", "json"});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  const auto report = nlohmann::json::parse(result.out);
  EXPECT_EQ(report["verdict"], "upheld");
  for (const auto& check : report["checks"]) {
    EXPECT_EQ(check["verdict"], "upheld");
    EXPECT_GT(check["trials"], 0);
    EXPECT_TRUE(check["smallest_visible_effect"].is_string() || check["bound"].is_string())
        << check;
  }
}

TEST(CheckCommand, RefutesAMutantKeepsItsCaseAndReplaysIt) {
  const TemporaryFolder folder;
  const CommandOptions here{folder.path(), {}, 0};
  const CommandResult result =
      draftproof({"check", kProperty, "--subject", kMutant, "--battery", "smoke"}, here);
  EXPECT_EQ(result.exit_code, 1) << result.err;
  EXPECT_THAT(result.out, HasSubstr("VIOLATED"));
  EXPECT_THAT(result.out, HasSubstr("NOT support-safe (also not: "));
  EXPECT_THAT(result.out, HasSubstr("\nLet        "));
  std::smatch match;
  ASSERT_TRUE(std::regex_search(result.out, match,
                                std::regex("Replay +draftproof replay ([0-9a-f]{12}) "
                                           "--subject mutant:textbook_cycle")));
  const std::string id = match[1];
  EXPECT_TRUE(fs::exists(folder.path() + "/draftproof-report/cases/" + id + ".json"));

  EXPECT_EQ(draftproof({"replay", id, "--subject", kMutant}, here).exit_code, 1);
  EXPECT_EQ(draftproof({"replay", id, "--subject", "reference"}, here).exit_code, 0);
  EXPECT_EQ(
      draftproof({"replay", "draftproof-report/cases/" + id + ".json", "--subject", kMutant}, here)
          .exit_code,
      1);
}

TEST(CheckCommand, WritesItsFilesWholeAndPointsLatestAtThem) {
  const TemporaryFolder folder;
  const CommandResult result =
      draftproof({"check", kProperty, "--subject", kMutant, "--battery", "smoke", "--report",
                  "json,junit,jsonl,md", "--report-dir", folder.path()});
  EXPECT_EQ(result.exit_code, 1) << result.err;
  const auto report = nlohmann::json::parse(folder.read("latest/report.json"));
  if (can_validate()) {
    EXPECT_EQ(schema_complaint("report.schema.json", report.dump()), "");
  }
  EXPECT_EQ(report["verdict"], "violated");
  EXPECT_EQ(report["exit_code"], 1);
  EXPECT_TRUE(report["checks"][0]["witness"]["case"].is_object());
  pugi::xml_document junit;
  ASSERT_TRUE(junit.load_string(folder.read("latest/junit.xml").c_str()));
  EXPECT_EQ(junit.child("testsuites").child("testsuite").attribute("failures").as_int(), 1);
  std::istringstream log(folder.read("latest/log.jsonl"));
  std::string last;
  for (std::string line; std::getline(log, line);) last = line;
  EXPECT_EQ(nlohmann::json::parse(last)["event"], "run-finished");
  EXPECT_THAT(folder.read("latest/report.md"), HasSubstr("| VIOLATED |"));
  for (const auto& entry : fs::recursive_directory_iterator(folder.path())) {
    EXPECT_NE(entry.path().extension(), ".part") << entry.path();
  }
}

TEST(CheckCommand, CallsARunThatTheTimeLimitCutsOffInconclusive) {
  const std::vector<std::string> arguments = {"check",     kProperty, "--subject",    "reference",
                                              "--battery", "deep",    "--time-limit", "0.001s"};
  const CommandResult result = draftproof(arguments);
  EXPECT_EQ(result.exit_code, 2) << result.err;
  EXPECT_THAT(result.out, HasSubstr("inconclusive"));
  auto allowed = arguments;
  allowed.push_back("--allow-inconclusive");
  EXPECT_EQ(draftproof(allowed).exit_code, 0);
}

TEST(CheckCommand, LeavesNothingHalfWrittenWhenInterrupted) {
  const TemporaryFolder folder;
  const CommandResult result = draftproof(
      {"check", "--subject", "reference", "--battery", "deep", "--report-dir", folder.path()},
      {"", {}, 700});
  EXPECT_EQ(result.exit_code, 130) << result.err;
  for (const auto& entry : fs::recursive_directory_iterator(folder.path())) {
    EXPECT_NE(entry.path().extension(), ".part") << entry.path();
    if (entry.path().extension() == ".json") {
      const auto name = fs::relative(entry.path(), folder.path()).string();
      EXPECT_TRUE(nlohmann::json::accept(folder.read(name))) << name;
    }
  }
}

/// The report of a run without what may differ from run to run.
nlohmann::json timeless(const std::string& text) {
  auto report = nlohmann::json::parse(text);
  for (const char* key : {"run_id", "seconds", "command_line", "budget"}) report.erase(key);
  for (auto& check : report["checks"]) check.erase("seconds");
  return report;
}

TEST(CheckCommand, SaysTheSameWithOneWorkerAndWithFour) {
  const std::vector<std::string> arguments = {"check",     kProperty, "identity_draft_accepts_all",
                                              "--subject", kMutant,   "--battery",
                                              "smoke",     "-o",      "json",
                                              "--jobs"};
  auto one = arguments;
  one.push_back("1");
  auto four = arguments;
  four.push_back("4");
  EXPECT_EQ(timeless(draftproof(one).out), timeless(draftproof(four).out));
}

TEST(CheckCommand, KeepsStdoutForTheResultAndColorsOnlyWhenAsked) {
  const std::vector<std::string> arguments = {"check",     kProperty, "--subject", "reference",
                                              "--battery", "smoke",   "-o",        "jsonl"};
  const CommandResult lines = draftproof(arguments);
  std::istringstream log(lines.out);
  for (std::string line; std::getline(log, line);)
    EXPECT_TRUE(nlohmann::json::accept(line)) << line;
  const CommandResult text = draftproof(
      {"check", kProperty, "--subject", "reference", "--battery", "smoke", "--color", "always"});
  EXPECT_THAT(text.out, HasSubstr("\x1b["));
  EXPECT_THAT(lines.out, testing::Not(HasSubstr("\x1b[")));
}

TEST(CheckCommand, MarksTheJobsPageAndItsSummary) {
  const TemporaryFolder folder;
  const CommandResult result = draftproof(
      {"check", kProperty, "--subject", kMutant, "--battery", "smoke", "--report", "github"},
      {"", {"GITHUB_STEP_SUMMARY=" + folder.path() + "/summary.md"}, 0});
  EXPECT_THAT(result.out, HasSubstr("::error title=draftproof nothing_outside_the_support::"));
  EXPECT_THAT(folder.read("summary.md"), HasSubstr("| VIOLATED |"));
}

TEST(CheckCommand, WarnsAndGoesOnWhenReportsCannotBeKept) {
  const TemporaryFolder folder;
  folder.write("file", "");
  const CommandResult result = draftproof({"check", kProperty, "--subject", kMutant, "--battery",
                                           "smoke", "--report-dir", folder.path() + "/file"});
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_THAT(result.err, testing::StartsWith("warning: " + folder.path() +
                                              "/file: cannot write: Not a directory"))
      << "before the run";
  EXPECT_THAT(result.err, HasSubstr("choose another folder with --report-dir"));
  EXPECT_THAT(result.err, HasSubstr("warning: no report is kept"));
  EXPECT_THAT(result.out, HasSubstr("VIOLATED"));
}

bool has_kernels() { return draftproof({"list", "kernels"}).out != ""; }

std::vector<std::string> smoke(const std::string& property, const std::string& subject) {
  return {"check", property, "--subject", subject, "--battery", "smoke", "--report", "none"};
}

TEST(CheckCommand, RefutesAKernelThatWasBrokenInItsPtx) {
  if (!has_kernels()) GTEST_SKIP() << "no kernels are embedded in this build";
  const CommandResult result = draftproof(smoke("race_free", "mutant:kernel_sum_barrier_deleted"));
  EXPECT_EQ(result.exit_code, 1) << result.err;
  EXPECT_THAT(result.out, HasSubstr("NOT race-free"));
  EXPECT_THAT(result.out, HasSubstr("\nObserved   race in "));
}

TEST(CheckCommand, HoldsACommonModeFaultAgainstATwinWithTheSameFault) {
  const std::string subject = "mutant:common_inclusive_accept";
  EXPECT_EQ(draftproof(smoke("kernel_equals_reference", subject)).exit_code, has_kernels() ? 0 : 3);
  EXPECT_EQ(draftproof(smoke("emitted_law_is_target_law", subject)).exit_code, 1);
}

TEST(CheckCommand, UpholdsAControlThatOnlyLooksLossy) {
  EXPECT_EQ(draftproof(smoke("emitted_law_is_target_law", "mutant:in_place_residual")).exit_code,
            0);
}

TEST(CheckCommand, UpholdsFusedAcceptance) {
  const CommandResult result = draftproof(smoke("kernel_equals_reference", "fused"));
  EXPECT_EQ(result.exit_code, has_kernels() ? 0 : 3) << result.out << result.err;
}

TEST(CheckCommand, JudgesOurEntriesFromPtxFiles) {
  if (!has_kernels()) GTEST_SKIP() << "no kernels are embedded in this build";
  const std::string file = DRAFTPROOF_BINARY_DIR "/kernels/chain.ptx";
  const CommandResult result =
      draftproof({"check", "--kernel", file, kProperty, "--battery", "smoke", "-o", "json"});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  const auto report = nlohmann::json::parse(result.out);
  EXPECT_EQ(report["subject"], "kernels:" + file);
  // Nothing is said about the rule that the file has no part in.
  ASSERT_EQ(report["checks"].size(), 1u);
  EXPECT_EQ(report["checks"][0]["rule"], "chain");
  const CommandResult inspected = draftproof({"inspect", file});
  EXPECT_THAT(inspected.out, HasSubstr("emulator      has every form"));
  EXPECT_THAT(inspected.out, testing::Not(HasSubstr("lacks")));
}

TEST(CheckCommand, DoesNotUpholdAFileThatItNeverRan) {
  const TemporaryFolder folder;
  const std::string file =
      folder.write("chain.ptx", ".version 8.0\n.target sm_80\n.address_size 64\n");
  const CommandResult result = draftproof({"check", "--kernel", file, "--battery", "smoke"});
  EXPECT_EQ(result.exit_code, 3);
  EXPECT_THAT(result.err, HasSubstr("chain.ptx: has no entry"));
  if (!has_kernels()) return;
  const CommandResult other = draftproof(
      {"check", "--kernel", DRAFTPROOF_BINARY_DIR "/kernels/chain.ptx", "--rule", "greedy"});
  EXPECT_EQ(other.exit_code, 3);
  EXPECT_THAT(other.err, HasSubstr("--rule: no file given"));
}

TEST(CheckCommand, SaysWhereKernelsAreJudgedThatNoFileStandsInFor) {
  if (!has_kernels()) GTEST_SKIP() << "no kernels are embedded in this build";
  for (const std::string name : {"shaping_by_key", "chain_fused", "paged_cache"}) {
    const CommandResult result =
        draftproof({"check", "--kernel", DRAFTPROOF_BINARY_DIR "/kernels/" + name + ".ptx"});
    EXPECT_EQ(result.exit_code, 3) << result.out;
    EXPECT_THAT(result.err, HasSubstr(name + ".ptx: no property judges its entry draftproof_"));
    EXPECT_THAT(result.err, HasSubstr("--subject fused"));
  }
}

TEST(CheckCommand, StopsAtTheFirstViolationWhenAsked) {
  const CommandResult result = draftproof({"check", "--subject", kMutant, "--battery", "smoke",
                                           "--fail-fast", "--report", "none", "-o", "json"});
  EXPECT_EQ(result.exit_code, 1) << result.err;
  const auto report = nlohmann::json::parse(result.out);
  EXPECT_EQ(report["checks"].back()["verdict"], "violated");
  EXPECT_GT(report["checks_not_run"], 0);
}

TEST(Demo, TakesAnotherBug) {
  const CommandResult result = draftproof({"demo", "--bug", "bonus_from_draft"});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr("subject mutant:bonus_from_draft"));
}

TEST(Demo, TakesAFaultOfAnEngine) {
  const CommandResult result = draftproof({"demo", "--bug", "history_masked_out"});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr("The same engine with one fault: history_masked_out"));
  EXPECT_THAT(result.out, HasSubstr("Replay     draftproof demo --bug history_masked_out"));
  EXPECT_THAT(result.out, HasSubstr("Another fault         draftproof demo --bug "));
  EXPECT_THAT(result.out, Not(HasSubstr("One exact law"))) << "engines only";
}

TEST(Demo, IsInconclusiveAboutAFaultThatAnswersDoNotShow) {
  const CommandResult result = draftproof({"demo", "--bug", "late_output_kept"});
  EXPECT_EQ(result.exit_code, 2) << result.err;
  EXPECT_THAT(result.out, HasSubstr("No claim is violated, and yet the engine is lossy"));
}

TEST(Demo, ShowsALawAViolationACertificateAnAuditAndWhatToDoNext) {
  const CommandResult result = draftproof({});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr("exactly 0: lossless"));
  EXPECT_THAT(result.out, HasSubstr("VIOLATED"));
  EXPECT_THAT(result.out, HasSubstr("\nReplay     draftproof replay "));
  EXPECT_THAT(result.out, HasSubstr("TV <= "));
  EXPECT_THAT(result.out, HasSubstr("4. A whole engine, audited over HTTP"));
  EXPECT_THAT(result.out, HasSubstr("Replay     draftproof demo --bug rollback_does_nothing"));
  EXPECT_THAT(result.out, HasSubstr("5. Three commands to go on with"));
  EXPECT_THAT(result.out, HasSubstr("I wrote a kernel      draftproof check"));
}

}  // namespace
}  // namespace draftproof::tests
