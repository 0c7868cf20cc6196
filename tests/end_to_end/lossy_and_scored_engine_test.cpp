// `draftproof audit` where there is no baseline to compare with, or none to be equal to: answers of
// one server that another one reads, and a mode that is declared lossy and judged by its scores.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/end_to_end/command.h"
#include "tests/end_to_end/server_process.h"

namespace draftproof::tests {
namespace {

using testing::HasSubstr;
using Words = std::vector<std::string>;

Words toy_words(const std::string& speculation, const Words& more = {}) {
  Words words = {"--toy", "hashed", "--dialect", "vllm", "--speculation", speculation};
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

class OneServer : public testing::Test {
 protected:
  CommandResult run(const Words& words) const {
    CommandOptions options;
    options.folder = folder_.path();
    return draftproof(words, options);
  }

  CommandResult scored_by(const ServerProcess& speculative, const ServerProcess& scorer) const {
    folder_.write("prompts.jsonl", R"({"id": "a", "prompt_token_ids": [1, 2, 3, 4]})");
    return run({"audit",         "--skip-doctor",
                "--engine",      "vllm",
                "--speculative", speculative.url(),
                "--scorer",      scorer.url(),
                "--temperature", "1,0",
                "--top-k",       "0",
                "--max-tokens",  "5",
                "--trials",      "300",  // 256 of which are read again
                "--effect-tv",   "0.3",
                "--prompts",     "[]",
                "--prompt-file", "prompts.jsonl",
                "--progress",    "none",
                "--report",      "json"});
  }

  nlohmann::json report() const {
    return nlohmann::json::parse(folder_.read("draftproof-report/latest/report.json"));
  }
  nlohmann::json check(const std::string& id) const {
    const auto whole = report();
    for (const auto& each : whole["checks"])
      if (each["id"] == id) return each;
    ADD_FAILURE() << "no check " << id;
    return {};
  }

  TemporaryFolder folder_;
};

TEST_F(OneServer, IsJudgedByWhoReadsItsAnswers) {
  const ServerProcess scorer(toy_words("off")), right(toy_words("on"));
  auto result = scored_by(right, scorer);
  EXPECT_EQ(result.exit_code, 0) << result.out << result.err;
  EXPECT_THAT(result.out, HasSubstr("answers are read by vllm"));
  EXPECT_EQ(check("rescored_law/t1-n5")["verdict"], "upheld");
  EXPECT_EQ(check("rescored_parity/t0-n5")["verdict"], "upheld");

  const ServerProcess wrong(toy_words("on", {"--bug", "history_masked_out"}));
  result = scored_by(wrong, scorer);
  EXPECT_EQ(result.exit_code, 1) << result.out << result.err;
  EXPECT_EQ(check("rescored_law/t1-n5")["verdict"], "violated");
  EXPECT_EQ(check("rescored_parity/t0-n5")["verdict"], "violated");

  const ServerProcess stranger(toy_words("off", {"--vocab", "9"}));
  result = scored_by(right, stranger);
  EXPECT_EQ(result.exit_code, 3) << result.out;
  EXPECT_THAT(result.err, HasSubstr("these are not the same weights"));
}

TEST_F(OneServer, OfALossyModeIsHeldToTheScoresThatWereDeclared) {
  const ServerProcess baseline(toy_words("off"));
  const ServerProcess lossy(toy_words("on", {"--bug", "history_masked_out"}));
  const auto write = [&](const std::string& score_command) {
    folder_.write("draftproof.toml", "[arm.baseline]\nurl = \"" + baseline.url() +
                                         "\"\n[arm.speculative]\nurl = \"" + lossy.url() +
                                         "\"\n[speculation]\ndeclared_lossy = \"masked history\"\n"
                                         "[target]\ntoy = \"hashed\"\n"
                                         "[prompts]\nbuiltin = [\"two_token\"]\n"
                                         "[sampling]\ntemperature = [1]\ntop_k = [0]\n"
                                         "max_tokens = 5\n[run]\ntrials = 256\neffect_tv = 0.3\n"
                                         "[report]\nformats = [\"json\"]\n"
                                         "[gate.approximate]\ntask_score_drop = 0.5\n"
                                         "score_command = '" +
                                         score_command + "'\n");
  };
  const Words audit = {"audit", "--skip-doctor", "--progress", "none"};
  const std::string id = "task_score_drop/score_command";
  write("while read line; do echo 0.75; done");
  auto result = run(audit);
  EXPECT_EQ(result.exit_code, 0) << result.out << result.err;
  EXPECT_EQ(check(id)["verdict"], "upheld");
  EXPECT_EQ(check(id)["label"], "LOSSY BY DESIGN");
  EXPECT_EQ(check("next_token_law/t1-n5")["verdict"], "upheld");

  write("while read line; do test $DRAFTPROOF_ARM = baseline && echo 1 || echo 0; done");
  result = run(audit);
  EXPECT_EQ(result.exit_code, 1) << result.out << result.err;
  EXPECT_EQ(check(id)["verdict"], "violated");
  EXPECT_NE(check("next_token_law/t1-n5")["verdict"], "upheld");

  // Whoever judges the run starts nothing that came with it.
  result = run({"judge", "draftproof-report/latest"});
  EXPECT_EQ(result.exit_code, 2) << result.out << result.err;
  EXPECT_THAT(result.out, HasSubstr("not scored: a command that came"));
  result = run({"judge", "draftproof-report/latest", "--score-command",
                "while read line; do echo 0.75; done"});
  EXPECT_EQ(result.exit_code, 0) << result.out << result.err;
}

}  // namespace
}  // namespace draftproof::tests
