// plan and doctor, end to end. Goal: exit codes say what happened, stdout is the result alone, and
// what was examined is kept where plans find it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/end_to_end/command.h"

namespace draftproof::tests {
namespace {

using nlohmann::json;
using testing::HasSubstr;

TEST(PlanCommand, SaysWhatAnAuditWouldDoWithoutAnyServer) {
  const CommandResult result =
      draftproof({"plan", "--toy", "markov", "--battery", "smoke", "-o", "json"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const json plan = json::parse(result.out);
  EXPECT_GT(plan["checks"].size(), 3U);
  EXPECT_GT(plan["most"]["requests"], 100);
  EXPECT_EQ(result.err, "");
}

TEST(PlanCommand, ReadsTheFileOfItsFolderAndShowsWhereValuesCameFrom) {
  const TemporaryFolder folder;
  folder.write("draftproof.toml", "[run]\nseed = 5\nbattery = \"smoke\"\n");
  const CommandOptions here{.folder = folder.path(), .environment = {}};
  const CommandResult shown = draftproof({"plan", "--print-config", "--battery", "deep"}, here);
  EXPECT_EQ(shown.exit_code, 0) << shown.err;
  EXPECT_THAT(shown.out, testing::ContainsRegex("run.seed += 5 +# draftproof.toml:2"));
  EXPECT_THAT(shown.out, testing::ContainsRegex("run.battery += \"deep\" +# --battery"));
  folder.write("other.toml", "[run]\nsede = 5\n");
  const CommandResult wrong = draftproof({"plan", "other.toml"}, here);
  EXPECT_EQ(wrong.exit_code, 3);
  EXPECT_EQ(wrong.out, "");
  EXPECT_THAT(wrong.err, HasSubstr("other.toml:2: unknown key 'run.sede'; did you mean"));
}

TEST(PlanCommand, TakesAnEmptyListOfPromptsFromAFlag) {
  const CommandResult none = draftproof({"plan", "--toy", "markov", "--prompts", "[]"});
  EXPECT_EQ(none.exit_code, 3);
  EXPECT_THAT(none.err, HasSubstr("leaves no prompt"));
}

TEST(DoctorCommand, ReadsLaunchLines) {
  const CommandResult gone = draftproof({"doctor", "--command", "llama-server --draft-max 8"});
  EXPECT_EQ(gone.exit_code, 3);
  EXPECT_THAT(gone.out, HasSubstr("--spec-draft-n-max"));
  const CommandResult right =
      draftproof({"doctor", "--command", "llama-server --spec-type draft-simple"});
  EXPECT_EQ(right.exit_code, 0) << right.out;
}

TEST(DoctorCommand, WritesAlertRules) {
  const CommandResult result = draftproof({"doctor", "--alerts", "--engine", "vllm"});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr("- alert: VllmAcceptanceNearZero"));
  EXPECT_EQ(draftproof({"doctor", "--alerts", "--engine", "tgi"}).exit_code, 3);
}

TEST(DoctorCommand, ShowsItsAddressesInItsUsage) {
  const CommandResult result = draftproof({"doctor", "--help"});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr("Usage: draftproof doctor [OPTIONS] [URL] [URL2]"));
}

TEST(DoctorCommand, AsksNobodyWhatItCannotKeep) {
  const TemporaryFolder folder;
  const std::string file = folder.write("file", "");
  for (const std::string& place : {file, file + "/below"}) {
    const CommandResult result =
        draftproof({"doctor", "http://127.0.0.1:9", "--report-dir", place});
    EXPECT_EQ(result.exit_code, 3);
    EXPECT_EQ(result.err, "draftproof: " + place +
                              ": cannot write: Not a directory; choose another folder with "
                              "--report-dir\n");
    EXPECT_THAT(
        draftproof({"doctor", "http://127.0.0.1:9", "--report-dir", place, "--report", "none"}).err,
        HasSubstr("127.0.0.1:9"));
  }
}

TEST(DoctorCommand, CannotStartWithoutAServer) {
  const CommandResult nobody = draftproof({"doctor", "http://127.0.0.1:9"});
  EXPECT_EQ(nobody.exit_code, 3);
  EXPECT_EQ(nobody.out, "");
  EXPECT_THAT(nobody.err, HasSubstr("127.0.0.1:9"));
  const CommandResult none = draftproof({"doctor"});
  EXPECT_EQ(none.exit_code, 3);
  EXPECT_THAT(none.err, HasSubstr("--speculative URL"));
}

}  // namespace
}  // namespace draftproof::tests
