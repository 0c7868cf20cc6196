// What runs say of themselves in files. Goal: judging needs the files alone and says what the audit
// said; lines of anybody's engine are judged; files of different runs, and damage, are named.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <functional>

#include "reference/error.h"
#include "tests/tools/scripted_arms.h"
#include "tools/audit/recorded_run.h"
#include "tools/audit/verdict_report.h"
#include "tools/toys/toy_files.h"

namespace draftproof::tools::audit {
namespace {

namespace fs = std::filesystem;
using properties::Arm;
using properties::audits::Evidence;
using store::ObservationStore;
using testing::HasSubstr;
using tests::lines_of;
using tests::ScriptedWorld;

class Records : public testing::Test {
 protected:
  void SetUp() override {
    fs::remove_all(folder_);
    fs::create_directories(folder_);
  }
  void TearDown() override { fs::remove_all(folder_); }

  static std::string complaint(const std::function<void()>& use) {
    try {
      use();
    } catch (const Error& error) {
      return error.what();
    }
    return "";
  }

  RunRecord record(const ScriptedWorld& world) const {
    RunRecord record;
    record.matrix = world.matrix;
    record.judge = world.judge;
    record.judge.target = nullptr;
    record.judge.speculative.reports_counters = true;
    record.judge.speculative.logprobs = properties::LogprobKind::kProcessed;
    record.judge.lossy = {"a mode", "the server", 0.25};
    record.toy = "markov";
    record.required_claims = {"greedy-exact"};
    record.not_exercised = {"grammars"};
    record.traffic = {"poisson:4", {.ttft = 0.5, .itl = {}}};
    record.speculative = R"({"engine":"x"})";
    record.told = {{"speculative", "x at http://127.0.0.1:1"}};
    return record;
  }

  fs::path keep(const std::string& name, const RunRecord& record,
                const std::vector<properties::Transcript>& transcripts) const {
    const fs::path file = folder_ / name / "run.sqlite";
    ObservationStore store(file, ObservationStore::Mode::kCreate);
    write_record(store, record);
    store.append(transcripts);
    return file;
  }

  std::string lines(const std::string& name, const std::string& content) const {
    std::ofstream(folder_ / name) << content;
    return (folder_ / name).string();
  }

  const fs::path folder_ =
      fs::temp_directory_path() / ("draftproof-records-" + std::to_string(::getpid()));
};

std::vector<properties::Transcript> all_of(const properties::audits::Matrix& matrix,
                                           const Evidence& evidence,
                                           const std::function<bool(std::uint64_t)>& is_wanted) {
  std::vector<properties::Transcript> all;
  for (const auto& each : matrix.cases)
    for (const Arm arm : {Arm::kBaseline, Arm::kSpeculative})
      for (const std::uint32_t repeat : {0u, 1u})
        for (const auto& [trial, transcript] : evidence.of(each.id, arm, repeat))
          if (is_wanted(trial)) all.push_back(transcript);
  return all;
}

TEST_F(Records, ComeBackAsTheyWereWritten) {
  const ScriptedWorld world;
  const RunRecord written = record(world);
  const fs::path file = keep("a", written, {});
  const ObservationStore store(file, ObservationStore::Mode::kRead);
  const RunRecord read = read_record(store, file.string());
  EXPECT_EQ(read.traffic.arrivals, "poisson:4");
  EXPECT_EQ(read.traffic.level.ttft, 0.5);
  EXPECT_FALSE(read.traffic.level.itl);
  EXPECT_EQ(shared_facts(read), shared_facts(written));
  EXPECT_EQ(read.told, written.told);
  ASSERT_EQ(read.matrix.cases.size(), world.matrix.cases.size());
  EXPECT_EQ(read.matrix.cases[1].request, world.matrix.cases[1].request);
  EXPECT_EQ(read.matrix.settings[0].request, world.matrix.settings[0].request);
  EXPECT_EQ(read.judge.lossy->budget_tv, 0.25);
  EXPECT_EQ(read.judge.speculative.logprobs, properties::LogprobKind::kProcessed);
}

TEST_F(Records, OfRunsThatStatedNoServiceLevelAreRead) {
  const fs::path file = folder_ / "old.sqlite";
  {
    ObservationStore store(file, ObservationStore::Mode::kCreate);
    for (const auto& [name, json] : shared_facts(record(ScriptedWorld())))
      if (name != "service_level") store.set(name, json);
    store.set("told", "[]");
  }
  const ObservationStore store(file, ObservationStore::Mode::kRead);
  EXPECT_FALSE(read_record(store, file.string()).traffic.level.is_stated());
}

TEST_F(Records, KeepTheBudgetsOfALossyModeButNoCommand) {
  RunRecord written = record(ScriptedWorld());
  ApproximateGate gate;
  gate.task_score_drop = 0.125;
  gate.schema_valid = 0.5;
  gate.score_command = "rm -r everything";
  gate.score_logs = {"off.jsonl", "on.jsonl"};
  written.approximate = gate;
  const fs::path file = keep("a", written, {});
  const ObservationStore store(file, ObservationStore::Mode::kRead);
  const RunRecord read = read_record(store, file.string());
  ASSERT_TRUE(read.approximate);
  EXPECT_EQ(read.approximate->task_score_drop, 0.125);
  EXPECT_EQ(read.approximate->schema_valid, 0.5);
  EXPECT_EQ(read.approximate->score_logs, gate.score_logs);
  EXPECT_EQ(read.approximate->score_command, "(not kept)");
  EXPECT_EQ(shared_facts(read), shared_facts(written));
}

TEST_F(Records, ShardsAndALineFileMergeIntoTheVerdictsOfOneRun) {
  ScriptedWorld world;
  world.extra = 0.2;
  Evidence whole;
  world.collect(whole);
  const RunRecord common = record(world);
  const auto first =
      keep("a", common, all_of(world.matrix, whole, [](auto trial) { return trial % 3 == 0; }));
  const auto second =
      keep("b", common, all_of(world.matrix, whole, [](auto trial) { return trial % 3 <= 1; }));
  std::string rest;
  for (const auto& each : all_of(world.matrix, whole, [](auto trial) { return trial % 3 == 2; }))
    rest += properties::line_of(each) + "\n\n";
  const RecordedRun merged =
      read_run({first.parent_path().string(), second.string(), lines("rest.jsonl", rest)});
  EXPECT_EQ(lines_of(world.matrix, merged.evidence), lines_of(world.matrix, whole));
  const auto one = check_results(world.matrix, whole, world.judge, {});
  const auto other = check_results(merged.record.matrix, merged.evidence, world.judge, {});
  ASSERT_EQ(one.size(), other.size());
  ASSERT_FALSE(one.empty());
  for (std::size_t i = 0; i < one.size(); ++i) {
    EXPECT_EQ(one[i].id, other[i].id);
    EXPECT_EQ(one[i].verdict.kind, other[i].verdict.kind);
    EXPECT_EQ(one[i].verdict.evidence, other[i].verdict.evidence);
  }
}

TEST_F(Records, FilesOfDifferentRunsAreRefusedByWhatDiffers) {
  ScriptedWorld world;
  Evidence whole;
  world.collect(whole);
  const auto some = all_of(world.matrix, whole, [](auto trial) { return trial < 4; });
  const auto first = keep("a", record(world), some);
  RunRecord other = record(world);
  other.matrix.seed = 2;
  EXPECT_THAT(complaint([&] {
                read_run({first.string(), keep("b", other, some).string()});
              }),
              HasSubstr("its matrix differs"));
  other = record(world);
  other.speculative = R"({"engine":"y"})";
  EXPECT_THAT(complaint([&] {
                read_run({first.string(), keep("c", other, some).string()});
              }),
              HasSubstr("its speculative differs"));
  auto answer = some[0];
  answer.completion.token_ids[0] ^= 1;
  const std::string clash = complaint([&] {
    read_run({first.string(), lines("d.jsonl", properties::line_of(answer))});
  });
  EXPECT_THAT(clash, HasSubstr("d.jsonl:1"));
  EXPECT_THAT(clash, HasSubstr("two answers to one request"));
  answer.key.case_id = "elsewhere/p1";
  EXPECT_THAT(complaint([&] {
                read_run({first.string(), lines("e.jsonl", properties::line_of(answer))});
              }),
              HasSubstr("case elsewhere/p1"));
}

TEST_F(Records, LinesAloneSayWhatTheirRunWas) {
  ScriptedWorld world;
  Evidence whole;
  world.collect(whole);
  std::string text;
  for (const auto& each : all_of(world.matrix, whole, [](auto) { return true; }))
    text += properties::line_of(each) + "\r\n";
  const RecordedRun run = read_run({lines("all.jsonl", text)});
  EXPECT_FALSE(run.is_of_store);
  EXPECT_EQ(run.record.matrix.settings.size(), 3u);
  EXPECT_EQ(run.record.matrix.cases.size(), 6u);
  EXPECT_TRUE(run.record.judge.has_baseline);
  EXPECT_EQ(run.record.judge.speculative.vocab_size, 4);
  for (const auto& each : run.record.matrix.cases) {
    const bool is_shared = each.id.ends_with("/shared");
    EXPECT_EQ(each.seeding == properties::audits::Seeding::kShared, is_shared) << each.id;
    EXPECT_EQ(each.trial_max, whole.of(each.id, Arm::kBaseline).size());
  }
}

TEST_F(Records, ACaseThatIsTwoIsRefused) {
  properties::Transcript one, other;
  one.key = {Arm::kBaseline, "a", 0, 0};
  one.request.prompt = {1};
  other = one;
  other.key.trial = 1;
  other.request.sampling.temperature = 0.5f;
  const std::string words = complaint([&] {
    read_run({lines("a.jsonl", properties::line_of(one) + "\n" + properties::line_of(other))});
  });
  EXPECT_THAT(words, HasSubstr("case a"));
  EXPECT_THAT(words, HasSubstr("trial 1 of the baseline arm was asked with another prompt"));
}

TEST_F(Records, WhatIsNoTranscriptIsNamedByFileAndLine) {
  EXPECT_THAT(complaint([&] { read_run({(folder_ / "none").string()}); }),
              HasSubstr("no such file"));
  EXPECT_THAT(complaint([&] { read_run({folder_.string()}); }), HasSubstr("run.sqlite"));
  EXPECT_THAT(complaint([&] { read_run({lines("empty.jsonl", "\n")}); }),
              HasSubstr("nothing to judge"));
  properties::Transcript good;
  good.key = {Arm::kBaseline, "a", 0, 0};
  good.request.prompt = {1};
  EXPECT_THAT(complaint([&] {
                read_run({lines("bad.jsonl", properties::line_of(good) + "\n{\"schema\":1}\n")});
              }),
              HasSubstr("bad.jsonl:2"));
  ObservationStore(folder_ / "bare.sqlite", ObservationStore::Mode::kCreate);
  EXPECT_THAT(complaint([&] { read_run({(folder_ / "bare.sqlite").string()}); }),
              HasSubstr("lacks its matrix"));
}

TEST_F(Records, AChangedArmIsRemembered) {
  const ScriptedWorld world;
  const fs::path file = keep("a", record(world), {});
  {
    ObservationStore store(file, ObservationStore::Mode::kAppend);
    EXPECT_EQ(change_of(store), "");
    write_change(store, "the baseline arm was A, and is \"B\" now");
    write_change(store, "said again");
  }
  EXPECT_EQ(change_of(ObservationStore(file, ObservationStore::Mode::kRead)),
            "the baseline arm was A, and is \"B\" now");
}

TEST_F(Records, AManifestThatIsGoneIsAskedFor) {
  const ScriptedWorld world;
  RunRecord gone = record(world);
  gone.toy = "/nowhere/target.toy.json";
  ToyLaw law;
  EXPECT_THAT(complaint([&] { judge_settings(gone, law, folder_.string(), "run.sqlite"); }),
              HasSubstr("--toy"));
  gone.toy.clear();
  EXPECT_EQ(judge_settings(gone, law, "", "").target, nullptr);
}

TEST_F(Records, AreJudgedByTheManifestThatTheyKeptUnlessOneIsTyped) {
  const ScriptedWorld world;
  toys::ToySpec kept{.kind = toys::ToyKind::kBigram}, elsewhere = kept;
  elsewhere.seed = 2;
  const fs::path other = folder_ / "other";
  static_cast<void>(toys::write_toy(kept, {.folder = folder_, .name = "x"}));
  static_cast<void>(toys::write_toy(elsewhere, {.folder = other, .name = "x"}));
  RunRecord named = record(world);
  named.toy = (other / "x.toy.json").string();
  ToyLaw law;
  const auto first = [&](const std::string& folder) {
    judge_settings(named, law, folder, "run.sqlite");
    properties::SamplingRequest request;
    request.prompt = {5};
    return law.target->next(request, {});
  };
  const auto typed = first(""), own = first(folder_.string());
  EXPECT_NE(own, typed);
  named.toy = (folder_ / "x.toy.json").string();
  EXPECT_EQ(first(""), own);
}

}  // namespace
}  // namespace draftproof::tools::audit
