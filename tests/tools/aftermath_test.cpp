// The aftermath of a run against an engine in process: notes say where, with which parameter and by
// how little, and no verdict is changed by them.
#include "tools/audit/aftermath.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "properties/transcript.h"
#include "reference/error.h"

namespace draftproof::tools::audit {
namespace {

using oracle::VerdictKind;
using properties::Arm;
using properties::Completion;
using properties::SamplingRequest;
using properties::Transcript;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;

/// Emits an id that is none as its second token, in the speculative arm and without top_k only.
std::vector<Completion> answered(Arm arm, const std::vector<SamplingRequest>& requests, int) {
  std::vector<Completion> completions;
  for (const SamplingRequest& request : requests) {
    Completion completion;
    completion.token_ids.assign(static_cast<std::size_t>(request.max_tokens), 0);
    if (arm == Arm::kSpeculative && request.sampling.top_k == 0 && request.max_tokens > 1)
      completion.token_ids[1] = 99;
    completions.push_back(std::move(completion));
  }
  return completions;
}

struct AuditedWorld {
  properties::audits::Matrix matrix;
  properties::audits::Evidence evidence;
  properties::audits::JudgeSettings judge;
  std::vector<report::CheckResult> checks;

  AuditedWorld() {
    SamplingRequest open;
    open.max_tokens = 6;
    SamplingRequest filtered = open;
    filtered.sampling.top_k = 8;
    matrix.settings = {{"t1-k8", filtered, 1}, {"t1", open, 1}};
    judge.baseline.vocab_size = judge.speculative.vocab_size = 4;
    judge.audits = {"well_formed"};
    for (std::size_t i = 0; i < 2; ++i) {
      SamplingRequest request = matrix.settings[i].request;
      request.prompt = {1, 2, 3, 1};
      const std::string id = matrix.settings[i].id + "/one";
      matrix.cases.push_back({id, i, "one", request, {}, "", 0});
      for (const Arm arm : {Arm::kBaseline, Arm::kSpeculative})
        for (std::uint64_t trial = 0; trial < 4; ++trial)
          evidence.add({{arm, id, trial, 0}, request, answered(arm, {request}, 1).front()});
    }
    for (const oracle::Verdict& verdict : properties::audits::judge(matrix, evidence, judge)) {
      report::CheckResult check;
      check.id = verdict.property + "/" + verdict.setting;
      check.verdict = verdict;
      checks.push_back(std::move(check));
    }
  }

  AftermathOrder order() const { return {.matrix = matrix, .evidence = evidence, .judge = judge}; }
};

TEST(Aftermath, NotesTheSwitchTheLeastRequestsAndTheLinesThatShowThem) {
  AuditedWorld world;
  ASSERT_EQ(world.checks[1].verdict.kind, VerdictKind::kViolated);
  const auto folder = std::filesystem::temp_directory_path() / "draftproof-aftermath";
  std::filesystem::remove_all(folder);
  AftermathOrder order = world.order();
  order.ask = answered;
  order.curl_of = [](Arm, const SamplingRequest& request) {
    return "curl -d max_tokens=" + std::to_string(request.max_tokens);
  };
  order.now = [] { return 0.0; };
  order.folder = folder;
  add_aftermath(order, world.checks);

  const auto& notes = world.checks[1].verdict.notes;
  EXPECT_THAT(notes, Contains(HasSubstr("top_k 8 -> off switches it on: well_formed")));
  EXPECT_THAT(notes, Contains(HasSubstr("max_tokens 6 -> 2")));
  EXPECT_THAT(notes, Contains(HasSubstr("prompt of request 1: 4 tokens -> 1 tokens")));
  EXPECT_THAT(notes, Contains("curl -d max_tokens=2   # speculative"));
  EXPECT_THAT(notes, Contains(HasSubstr("draftproof judge")));
  EXPECT_EQ(world.checks[1].verdict.kind, VerdictKind::kViolated);
  EXPECT_TRUE(world.checks[0].verdict.notes.empty());

  std::ifstream lines(folder / "cases" / "well_formed-t1.reduced.jsonl");
  std::string line;
  ASSERT_TRUE(std::getline(lines, line));
  EXPECT_EQ(properties::transcript_from(line, "line 1").completion.token_ids.size(), 2u);
  std::filesystem::remove_all(folder);
}

TEST(Aftermath, AsksNobodyWhereNobodyIsThere) {
  AuditedWorld world;
  add_aftermath(world.order(), world.checks);
  EXPECT_THAT(world.checks[1].verdict.notes, Contains(HasSubstr("top_k 8 -> off")));
  EXPECT_THAT(world.checks[1].verdict.notes, Not(Contains(HasSubstr("reduced in"))));
}

TEST(Aftermath, SaysWhatWentWrongAndKeepsTheVerdict) {
  AuditedWorld world;
  AftermathOrder order = world.order();
  order.now = [] { return 0.0; };
  order.ask = [](Arm, const std::vector<SamplingRequest>&, int) -> std::vector<Completion> {
    throw Error(ErrorKind::kEnvironment, "nobody answers", "http://127.0.0.1:1");
  };
  add_aftermath(order, world.checks);
  EXPECT_EQ(world.checks[1].verdict.kind, VerdictKind::kViolated);
  EXPECT_THAT(world.checks[1].verdict.notes, Contains(HasSubstr("nobody answers")));
}

}  // namespace
}  // namespace draftproof::tools::audit
