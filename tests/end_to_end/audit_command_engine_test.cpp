// `draftproof audit` and its neighbours as a user runs them: two servers in processes of their own,
// a verdict, files that are judged again, and everything that may go wrong on the way.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <thread>

#include "tests/end_to_end/command.h"
#include "tests/end_to_end/server_process.h"

namespace draftproof::tests {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;
using testing::Not;

using Words = std::vector<std::string>;

Words server_words(const std::string& speculation, const Words& more = {}) {
  Words words = {"--toy", "hashed", "--dialect", "llama.cpp", "--speculation", speculation};
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

/// Two servers of one toy, and a folder for what is written.
class Audit : public testing::Test {
 protected:
  /// `more` has options with values, which replace those of the same name, and flags at its end.
  Words audit(const std::string& baseline, const std::string& speculative,
              const Words& more = {}) const {
    Words words = {"--baseline",    baseline,
                   "--speculative", speculative,
                   "--engine",      "llama.cpp",
                   "--toy",         "hashed",
                   "--temperature", "1,0",
                   "--top-k",       "0",
                   "--prompts",     "two_token,repeat",
                   "--max-tokens",  "6",
                   "--trials",      "128",
                   "--effect-tv",   "0.2",
                   "--progress",    "none",
                   "--concurrency", "4",
                   "--report",      "json,md,junit,jsonl"};
    for (std::size_t i = 0; i < more.size(); i += 2) {
      const auto at = std::find(words.begin(), words.end(), more[i]);
      if (at == words.end() || i + 1 == more.size()) {
        words.insert(words.end(), more.begin() + static_cast<std::ptrdiff_t>(i),
                     more.begin() + static_cast<std::ptrdiff_t>(std::min(i + 2, more.size())));
      } else {
        *(at + 1) = more[i + 1];
      }
    }
    words.insert(words.begin(), {"audit", "--skip-doctor"});
    return words;
  }

  CommandResult run(const Words& words) const {
    CommandOptions options;
    options.folder = folder_.path();
    return draftproof(words, options);
  }

  nlohmann::json report(const std::string& run = "latest") const {
    return nlohmann::json::parse(folder_.read("draftproof-report/" + run + "/report.json"), nullptr,
                                 false);
  }

  /// What a verdict is made of, without times.
  static std::map<std::string, nlohmann::json> verdicts(const nlohmann::json& report) {
    std::map<std::string, nlohmann::json> all;
    for (auto check : report.at("checks")) {
      check.erase("seconds");
      if (check["witness"].is_object()) check["witness"].erase("replay");
      all[check.at("id")] = check;
    }
    return all;
  }

  /// The run's folder of the only run that is there.
  std::string only_run() const {
    for (const auto& entry : fs::directory_iterator(folder_.path() + "/draftproof-report"))
      if (entry.is_directory() && !entry.is_symlink()) return entry.path().filename().string();
    return "";
  }

  TemporaryFolder folder_;
};

TEST_F(Audit, UpholdsARightEngineAndKeepsWhatItSaw) {
  const ServerProcess baseline(server_words("off")), speculative(server_words("on"));
  const auto result = run(audit(baseline.url(), speculative.url()));
  EXPECT_EQ(result.exit_code, 0) << result.out << result.err;
  EXPECT_THAT(result.out, HasSubstr("target       the exact law of the toy hashed"));
  EXPECT_THAT(result.out, HasSubstr("speculative  llama.cpp"));
  EXPECT_THAT(result.out, HasSubstr("| next_token_law "));
  EXPECT_THAT(result.out, HasSubstr("(alarm at "));
  EXPECT_THAT(result.out, Not(HasSubstr("VIOLATED")));
  const auto json = report();
  EXPECT_EQ(json["kind"], "audit");
  for (const auto& claim : json["claims"])
    if (claim["claim"] == "marginal-lossless") {
      EXPECT_EQ(claim["verdict"], "upheld");
    }
  ASSERT_FALSE(json["sections"].empty());
  EXPECT_EQ(json["sections"][0]["id"], "speed");
  for (const char* name : {"run.sqlite", "report.md", "junit.xml", "log.jsonl"})
    EXPECT_TRUE(fs::exists(folder_.path() + "/draftproof-report/latest/" + name)) << name;

  // The files alone say the same.
  const auto judged = run({"judge", "draftproof-report/latest", "-o", "json"});
  EXPECT_EQ(judged.exit_code, 0) << judged.err;
  EXPECT_EQ(verdicts(nlohmann::json::parse(judged.out)), verdicts(json));
  const auto rendered = run({"report", "latest", "-o", "md"});
  EXPECT_EQ(rendered.exit_code, 0) << rendered.err;
  EXPECT_THAT(rendered.out, HasSubstr("| next_token_law |"));
  EXPECT_EQ(run({"report", "latest", "--baseline", "latest"}).exit_code, 0);
}

TEST_F(Audit, RefutesAWrongEngineWithAWitnessThatCanBeShown) {
  const ServerProcess baseline(server_words("off"));
  const ServerProcess speculative(server_words("on", {"--bug", "history_masked_out"}));
  const auto result = run(audit(baseline.url(), speculative.url()));
  EXPECT_EQ(result.exit_code, 1) << result.out << result.err;
  EXPECT_THAT(result.out, HasSubstr("VIOLATED: LOSSY"));
  EXPECT_THAT(result.out, HasSubstr("NOT "));
  for (const char* part : {"\nLet ", "\nExpected ", "\nObserved ", "\nReplay "})
    EXPECT_THAT(result.out, HasSubstr(part));
  const fs::path cases = folder_.path() + "/draftproof-report/latest/cases";
  ASSERT_TRUE(fs::exists(cases));
  std::size_t findings = 0;
  for (const auto& entry : fs::directory_iterator(cases)) {
    if (entry.path().extension() != ".json") continue;
    std::ifstream file(entry.path());
    const auto finding = nlohmann::json::parse(file);
    EXPECT_EQ(finding["schema"], "draftproof/finding/1");
    EXPECT_FALSE(finding["transcripts"].empty()) << entry.path();
    EXPECT_THAT(finding["curl"][0].get<std::string>(), HasSubstr("/completion"));
    ++findings;
  }
  EXPECT_GT(findings, 0u);
  const auto shown = run({"judge", "draftproof-report/latest", "--show", "t0-n6/two_token"});
  EXPECT_EQ(shown.exit_code, 0) << shown.err;
  EXPECT_THAT(shown.out, HasSubstr("\"case\":\"t0-n6/two_token\""));

  // Accepted for now it is still a violation, and no longer a failure; gone, it is one.
  std::string known;
  for (const auto& [id, check] : verdicts(report()))
    if (check["verdict"] == "violated")
      known += "[[finding]]\nid = \"" + id + "\"\nreason = \"#1\"\nexpires = 2999-01-01\n";
  folder_.write("accepted.toml", known);
  const auto accepted = run({"judge", "draftproof-report/latest", "--known", "accepted.toml"});
  EXPECT_NE(accepted.exit_code, 1) << accepted.out << accepted.err;
  EXPECT_THAT(accepted.out, HasSubstr("VIOLATED"));
  folder_.write("gone.toml",
                known + "[[finding]]\nid = \"nothing/*\"\nreason = \"#2\"\nexpires = 2999-01-01\n");
  EXPECT_EQ(run({"judge", "draftproof-report/latest", "--known", "gone.toml"}).exit_code, 1);
}

TEST_F(Audit, KilledHalfWayAndResumedSaysWhatAnUndisturbedOneSays) {
  const ServerProcess baseline(server_words("off"));
  // The right one: what a fault answers depends on what else is in flight.
  const ServerProcess speculative(server_words("on"));
  const Words words = audit(baseline.url(), speculative.url(), {"--report-dir", "whole"});
  ASSERT_EQ(run(words).exit_code, 0);
  const auto whole = nlohmann::json::parse(folder_.read("whole/latest/report.json"));

  const Words cut = audit(baseline.url(), speculative.url());
  const pid_t child = ::fork();
  if (child == 0) {
    ASSERT_EQ(::chdir(folder_.path().c_str()), 0);
    Words all = cut;
    std::string program = DRAFTPROOF_EXECUTABLE;
    std::vector<char*> arguments = {program.data()};
    for (std::string& word : all) arguments.push_back(word.data());
    arguments.push_back(nullptr);
    ::freopen("/dev/null", "w", stdout);
    ::freopen("/dev/null", "w", stderr);
    ::execv(DRAFTPROOF_EXECUTABLE, arguments.data());
    ::_exit(127);
  }
  // Some of it is there, and not all.
  const fs::path file = folder_.path() + "/draftproof-report/latest/run.sqlite-wal";
  std::error_code error;
  for (int i = 0; i < 3000 && (!fs::exists(file, error) || fs::file_size(file, error) < 200000);
       ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  ::kill(child, SIGKILL);
  int status = 0;
  ::waitpid(child, &status, 0);
  ASSERT_TRUE(WIFSIGNALED(status)) << "it had ended already";
  ASSERT_FALSE(fs::exists(folder_.path() + "/draftproof-report/latest/report.json"));

  Words resumed = cut;
  resumed.insert(resumed.end(), {"--resume", "latest"});
  const auto result = run(resumed);
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(verdicts(report(only_run())), verdicts(whole));

  // Another question is another run.
  resumed.insert(resumed.end(), {"--seed", "9"});
  const auto other = run(resumed);
  EXPECT_EQ(other.exit_code, 3);
  EXPECT_THAT(other.err, HasSubstr("its matrix differs"));
}

TEST_F(Audit, ShardsMergeIntoWhatOneProcessSays) {
  const ServerProcess baseline(server_words("off")), speculative(server_words("on"));
  const Words words = audit(baseline.url(), speculative.url());
  ASSERT_EQ(run(words).exit_code, 0);
  const auto whole = report();
  Words merge = {"judge"};
  for (int shard = 1; shard <= 3; ++shard) {
    Words part = words;
    const std::string dir = "shard" + std::to_string(shard);
    part.insert(part.end(),
                {"--report-dir", dir, "--shard", std::to_string(shard) + "/3", "--collect-only"});
    const auto collected = run(part);
    EXPECT_EQ(collected.exit_code, 0) << collected.err;
    EXPECT_THAT(collected.out, HasSubstr("judge them with: draftproof judge"));
    // A shard may have no setting of so small a matrix, and then nothing to merge.
    if (collected.out.starts_with("0 transcripts")) continue;
    merge.push_back(dir + "/latest");
  }
  merge.insert(merge.end(), {"-o", "json"});
  const auto merged = run(merge);
  EXPECT_EQ(merged.exit_code, 0) << merged.err;
  EXPECT_EQ(verdicts(nlohmann::json::parse(merged.out)), verdicts(whole));
}

TEST_F(Audit, AnInterruptKeepsTheRunAndSaysHowToGoOn) {
  const ServerProcess baseline(server_words("off")), speculative(server_words("on"));
  CommandOptions options;
  options.folder = folder_.path();
  options.interrupt_after_ms = 700;
  const auto result = draftproof(
      audit(baseline.url(), speculative.url(), {"--trials", "500000", "--effect-tv", "0.0001"}),
      options);
  EXPECT_EQ(result.exit_code, 130) << result.err;
  EXPECT_THAT(result.err, HasSubstr("go on with: draftproof audit"));
  EXPECT_THAT(result.err, HasSubstr("--resume " + only_run()));
  EXPECT_TRUE(report()["is_interrupted"]);
}

TEST_F(Audit, AServerThatDiesCostsTheVerdictAndNotTheObservations) {
  const ServerProcess baseline(server_words("off"));
  auto speculative = std::make_unique<ServerProcess>(server_words("on"));
  const std::string url = speculative->url();
  std::thread death([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(800));
    speculative->stop(SIGKILL);
  });
  const auto result =
      run(audit(baseline.url(), url, {"--trials", "500000", "--effect-tv", "0.0001"}));
  death.join();
  EXPECT_EQ(result.exit_code, 2) << result.out << result.err;
  EXPECT_THAT(result.out, HasSubstr("collecting ended early: the speculative arm"));
  EXPECT_THAT(result.out, HasSubstr("--resume"));
  EXPECT_EQ(run({"judge", "draftproof-report/latest", "--allow-inconclusive"}).exit_code, 0);
}

TEST_F(Audit, IsNotJudgedWhereAnotherModelAnswersInTheMiddle) {
  const ServerProcess baseline(server_words("off"));
  auto speculative = std::make_unique<ServerProcess>(server_words("on"));
  const std::string url = speculative->url(), port = std::to_string(speculative->port());
  std::thread change([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(800));
    speculative->stop(SIGKILL);
    speculative =
        std::make_unique<ServerProcess>(server_words("on", {"--vocab", "9", "--port", port}));
  });
  const auto result =
      run(audit(baseline.url(), url, {"--trials", "500000", "--effect-tv", "0.0001"}));
  change.join();
  EXPECT_EQ(result.exit_code, 2) << result.out << result.err;
  EXPECT_THAT(result.out, HasSubstr("nothing of it is judged: start another run"));
  EXPECT_THAT(result.out, Not(HasSubstr("--resume latest")));
  EXPECT_THAT(result.out, Not(HasSubstr("go on with")));
  const auto json = report();
  for (const auto& check : json.at("checks")) EXPECT_EQ(check.at("verdict"), "inconclusive");
  EXPECT_EQ(run({"judge", "draftproof-report/latest", "--allow-inconclusive"}).exit_code, 2);
  const auto on = run(audit(baseline.url(), url, {"--resume", "latest"}));
  EXPECT_EQ(on.exit_code, 3) << on.out;
}

TEST_F(Audit, LimitsCutWithoutLosingWhatWasThere) {
  const ServerProcess baseline(server_words("off")), speculative(server_words("on"));
  const auto result =
      run(audit(baseline.url(), speculative.url(), {"--max-requests", "200", "--trials", "4096"}));
  EXPECT_THAT(result.out, HasSubstr("the limit of requests was reached"));
  EXPECT_NE(result.exit_code, 1);
  const auto on = run(audit(baseline.url(), speculative.url(),
                            {"--max-requests", "100000", "--trials", "4096", "--resume", "latest",
                             "--allow-inconclusive"}));
  EXPECT_EQ(on.exit_code, 3) << "the gate differs, so it is another run";
}

TEST_F(Audit, WhatCannotStartSaysWhyAndWhatToDo) {
  const auto fails = [&](const Words& words, const std::string& why) {
    const auto result = run(words);
    EXPECT_EQ(result.exit_code, 3) << result.out << result.err;
    EXPECT_THAT(result.err, HasSubstr(why));
    EXPECT_EQ(lines_in(result.err), 1u) << result.err;
  };
  folder_.write("file", "");
  fails({"audit"}, "speculative");
  fails(audit("http://127.0.0.1:1", "http://127.0.0.1:2"), "127.0.0.1:1");
  fails(audit("http://127.0.0.1:1", "http://127.0.0.1:2", {"--resume", "none"}), "no run none");
  fails(audit("http://127.0.0.1:1", "http://127.0.0.1:2", {"--shard", "3/2"}), "--shard");
  fails(audit("http://127.0.0.1:1", "http://127.0.0.1:2", {"--known", "none.toml"}), "none.toml");
  fails(audit("http://127.0.0.1:1", "http://127.0.0.1:2", {"--arrivals", "poisson:0"}), "poisson:");
  fails(audit("http://127.0.0.1:1", "http://127.0.0.1:2", {"--report-dir", "file/x"}),
        "--report-dir");
  fails({"judge", "none.jsonl"}, "no such file");
  folder_.write("bad.jsonl", "{}\n");
  fails({"judge", "bad.jsonl"}, "bad.jsonl:1");
  fails({"report", "none"}, "no run none");
  folder_.write("strange.sqlite", "SQLite format 3 and no more");
  fails({"judge", "strange.sqlite"}, "strange.sqlite");
}

TEST_F(Audit, IsNotBegunOnArmsThatAreNoPair) {
  const ServerProcess baseline(server_words("off")), speculative(server_words("on"));
  const ServerProcess plain(server_words("off"));
  const ServerProcess stranger(server_words("on", {"--vocab", "9"}));
  const auto proven = [&](const std::string& one, const std::string& other) {
    Words words = audit(one, other);
    words.erase(std::find(words.begin(), words.end(), "--skip-doctor"));
    return run(words);
  };
  auto result = proven(baseline.url(), plain.url());
  EXPECT_EQ(result.exit_code, 3) << result.out << result.err;
  EXPECT_THAT(result.err, HasSubstr("speculative: makes drafts: NO"));
  result = proven(baseline.url(), stranger.url());
  EXPECT_EQ(result.exit_code, 3) << result.out << result.err;
  EXPECT_THAT(result.err, HasSubstr("both arms: "));
  EXPECT_FALSE(fs::exists(folder_.path() + "/draftproof-report/latest"));
  result = proven(baseline.url(), speculative.url());
  EXPECT_EQ(result.exit_code, 0) << result.out << result.err;
}

TEST_F(Audit, TranscriptsOfAnybodysEngineAreJudged) {
  // A greedy answer that differs in the third token, in lines that somebody wrote by hand.
  const auto line = [](const char* arm, int trial, const char* tokens) {
    return std::string(R"({"schema":"draftproof/transcript/1","arm":")") + arm +
           R"(","case":"greedy/p1","trial":)" + std::to_string(trial) +
           R"(,"prompt_token_ids":[1,2],"token_ids":)" + tokens +
           R"(,"end":"length","sampling":{"temperature":0,"top_k":0,"top_p":1,"min_p":0,)" +
           R"("max_tokens":4}})" + "\n";
  };
  std::string same, other;
  for (int trial = 0; trial < 2; ++trial) {
    same += line("baseline", trial, "[3,4,5,6]") + line("speculative", trial, "[3,4,5,6]");
    other += line("baseline", trial, "[3,4,5,6]") + line("speculative", trial, "[3,4,6,6]");
  }
  folder_.write("same.jsonl", same);
  folder_.write("other.jsonl", other);
  const auto right = run({"judge", "same.jsonl", "-o", "json"});
  const auto wrong = run({"judge", "other.jsonl", "-o", "json"});
  const auto parity = [](const CommandResult& result) {
    return verdicts(nlohmann::json::parse(result.out)).at("greedy_margin_parity/t0-n4");
  };
  EXPECT_EQ(parity(right)["verdict"], "upheld") << right.out << right.err;
  EXPECT_NE(parity(wrong)["verdict"], "upheld") << wrong.out << wrong.err;
}

}  // namespace
}  // namespace draftproof::tests
