// Collecting. Goal: the set of transcripts is the matrix's alone, wherever a run was cut and
// however it was split; limits hold; whatever goes wrong with an arm is said, and nothing that came
// is lost.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "reference/error.h"
#include "tests/tools/scripted_arms.h"
#include "tools/audit/collector.h"
#include "tools/engines/client.h"

namespace draftproof::tools::audit {
namespace {

using properties::Arm;
using properties::audits::Evidence;
using testing::HasSubstr;
using tests::lines_of;
using tests::ScriptedWorld;

TEST(Collector, AsksBothArmsTheSameInTheSameOrder) {
  ScriptedWorld world;
  Evidence evidence;
  EXPECT_EQ(world.collect(evidence).end, CollectEnd::kComplete);
  std::vector<properties::Prompt> prompts[2];
  std::vector<std::optional<std::uint64_t>> seeds[2];
  for (const auto& [arm, request] : world.asked) {
    prompts[static_cast<int>(arm)].push_back(request.prompt);
    if (request.prompt == properties::Prompt{2} && request.sampling.temperature > 0)
      seeds[static_cast<int>(arm)].push_back(request.seed);
  }
  EXPECT_EQ(prompts[0], prompts[1]);
  EXPECT_EQ(seeds[0], seeds[1]) << "the case shares its seeds";
}

TEST(Collector, RepeatsTheFirstTrialsWithTheirSeeds) {
  ScriptedWorld world;
  Evidence evidence;
  world.collect(evidence);
  const auto& trials = evidence.of("t1/p1", Arm::kBaseline);
  const auto& repeats = evidence.of("t1/p1", Arm::kBaseline, 1);
  ASSERT_EQ(repeats.size(), 8u);
  for (const auto& [trial, again] : repeats) EXPECT_EQ(again.request, trials.at(trial).request);
  EXPECT_EQ(evidence.of("t0/p1", Arm::kSpeculative, 1).size(), 2u);
}

TEST(Collector, LeavesASettingAloneOnceItIsSettled) {
  ScriptedWorld right, wrong;
  wrong.extra = 0.3;
  for (ScriptedWorld* world : {&right, &wrong}) {
    world->matrix = tests::scripted_matrix(1 << 12);
    Evidence evidence;
    EXPECT_EQ(world->collect(evidence).end, CollectEnd::kComplete);
    const std::size_t trials = evidence.of("t1/p1", Arm::kSpeculative).size();
    EXPECT_LT(trials, 1u << 12);
    EXPECT_EQ(trials & (trials - 1), 0u) << "it stopped between looks";
  }
}

TEST(Collector, WhereverItIsCutItEndsWithTheVerySameTranscripts) {
  ScriptedWorld undisturbed;
  undisturbed.extra = 0.1;
  Evidence whole;
  undisturbed.collect(whole);
  const auto expected = lines_of(undisturbed.matrix, whole);
  const auto verdicts = properties::audits::judge(undisturbed.matrix, whole, undisturbed.judge);
  for (const std::uint64_t cut : {1u, 70u, 333u}) {
    ScriptedWorld world;
    world.extra = 0.1;
    Evidence evidence;
    int visits = 1;
    while (world.collect(evidence, cut).end == CollectEnd::kRequestLimit && visits < 2000) ++visits;
    if (cut < 64) continue;  // Not even one call fits: nothing goes on, and nothing is lost.
    EXPECT_GT(visits, 1) << "nothing was cut";
    EXPECT_EQ(lines_of(world.matrix, evidence), expected) << cut;
    const auto again = properties::audits::judge(world.matrix, evidence, world.judge);
    ASSERT_EQ(again.size(), verdicts.size());
    for (std::size_t i = 0; i < again.size(); ++i) {
      EXPECT_EQ(again[i].kind, verdicts[i].kind);
      EXPECT_EQ(again[i].log_e_value, verdicts[i].log_e_value);
    }
  }
}

TEST(Collector, ShardsTogetherAskWhatOneAsks) {
  ScriptedWorld undisturbed;
  Evidence whole, merged;
  undisturbed.collect(whole);
  std::size_t settings = 0;
  for (std::size_t shard = 0; shard < 3; ++shard) {
    ScriptedWorld world;
    const auto mine = settings_of_shard(world.matrix, shard, 3);
    settings += mine.size();
    Evidence part;
    world.collect(part, {}, mine);
    for (const auto& each : world.matrix.cases)
      for (const Arm arm : {Arm::kBaseline, Arm::kSpeculative})
        for (const std::uint32_t repeat : {0u, 1u})
          for (const auto& [trial, transcript] : part.of(each.id, arm, repeat))
            merged.add(transcript);
  }
  EXPECT_EQ(settings, 3u);
  EXPECT_EQ(lines_of(undisturbed.matrix, merged), lines_of(undisturbed.matrix, whole));
}

TEST(Collector, KeepsTranscriptsBeforeTheyCount) {
  ScriptedWorld world;
  std::size_t kept = 0;
  world.hooks.keep = [&](const auto& transcripts) {
    if (kept > 100) throw Error(ErrorKind::kEnvironment, "no room", "run.sqlite");
    kept += transcripts.size();
  };
  Evidence evidence;
  EXPECT_THROW(world.collect(evidence), Error);
  EXPECT_EQ(evidence.size(), kept);
}

TEST(Collector, SaysOfASettingThatItCannotBeAskedAndGoesOn) {
  ScriptedWorld world;
  world.before = [](Arm arm, const auto& request) {
    if (arm == Arm::kSpeculative && request.sampling.temperature == 1)
      throw Error(ErrorKind::kInput, "is not supported with speculation", "temperature");
  };
  Evidence evidence;
  const auto result = world.collect(evidence);
  EXPECT_EQ(result.end, CollectEnd::kComplete);
  ASSERT_EQ(result.refused.size(), 1u);
  EXPECT_EQ(result.refused[0].first, 0u);
  EXPECT_THAT(result.refused[0].second, HasSubstr("not supported with speculation"));
  EXPECT_GT(evidence.of("t0.7/p1", Arm::kSpeculative).size(), 0u);
}

TEST(Collector, KeepsFailuresAndGivesAnArmUpThatOnlyFails) {
  ScriptedWorld world;
  std::size_t count = 0;
  const auto ask = world.hooks.ask;
  bool fails_always = false;
  world.hooks.ask = [&](Arm arm, const auto& requests, int concurrency) {
    auto answers = ask(arm, requests, concurrency);
    for (auto& answer : answers)
      if (arm == Arm::kSpeculative && (fails_always || ++count % 7 == 0)) {
        answer = {};
        answer.end = properties::CompletionEnd::kFailed;
        answer.failure = "HTTP 500: broken";
      }
    return answers;
  };
  Evidence some, all;
  EXPECT_TRUE(world.collect(some).refused.empty());
  std::size_t failed = 0;
  for (const auto& [trial, transcript] : some.of("t1/p1", Arm::kSpeculative))
    failed += transcript.completion.end == properties::CompletionEnd::kFailed ? 1 : 0;
  EXPECT_GT(failed, 0u);
  fails_always = true;
  const auto result = world.collect(all);
  ASSERT_GE(result.refused.size(), 2u);
  EXPECT_THAT(result.refused[0].second, HasSubstr("one behind the other: HTTP 500: broken"));
  EXPECT_GE(all.of("t1/p1", Arm::kSpeculative).size(), 8u) << "what it did answer is gone";
}

TEST(Collector, EndsWithWhatItHasWhenAnArmIsLostOrAnotherOne) {
  ScriptedWorld lost, changed, ended;
  lost.before = [&](Arm, const auto&) {
    if (lost.asked.size() > 150) throw Error(ErrorKind::kEnvironment, "nobody answers", "http://x");
  };
  Evidence evidence;
  auto result = lost.collect(evidence);
  EXPECT_EQ(result.end, CollectEnd::kArmLost);
  EXPECT_THAT(result.reason, HasSubstr("nobody answers"));
  EXPECT_GT(evidence.size(), 100u);

  using tools::audit::ArmChange;
  const auto tells = [](bool is_another, const char* what) {
    return [=]() -> std::optional<ArmChange> { return ArmChange{is_another, what}; };
  };
  changed.hooks.what_changed = tells(true, "the baseline arm was A, and is B now");
  Evidence other;
  result = changed.collect(other);
  EXPECT_EQ(result.end, CollectEnd::kArmChanged);
  EXPECT_THAT(result.reason, HasSubstr("is B now"));

  ended.hooks.what_changed = tells(false, "the baseline arm's server has ended: signal 9");
  Evidence third;
  EXPECT_EQ(ended.collect(third).end, CollectEnd::kArmLost);

  // What cuts a run does not hide that another one answers; what is gone is no other one.
  Evidence fourth, fifth;
  EXPECT_EQ(changed.collect(fourth, 100).end, CollectEnd::kArmChanged);
  EXPECT_EQ(ended.collect(fifth, 100).end, CollectEnd::kRequestLimit);

  // Nor does an arm that is gone, where the other one is another.
  lost.hooks.what_changed = tells(true, "the speculative arm is another one");
  lost.asked.clear();
  Evidence mixed;
  EXPECT_EQ(lost.collect(mixed).end, CollectEnd::kArmChanged);

  ScriptedWorld told;
  told.before = [&](Arm, const auto&) {
    if (told.asked.size() > 150)
      throw tools::engines::AnotherEngine("the model of the answers is B now", "http://x");
  };
  Evidence sixth;
  result = told.collect(sixth);
  EXPECT_EQ(result.end, CollectEnd::kArmChanged);
  EXPECT_THAT(result.reason, HasSubstr("is B now"));
}

TEST(Collector, ObeysInterruptsAndLimitsBetweenCalls) {
  ScriptedWorld world;
  Evidence evidence;
  world.hooks.is_interrupted = [&] { return world.asked.size() > 150; };
  EXPECT_EQ(world.collect(evidence).end, CollectEnd::kInterrupted);
  EXPECT_LT(world.asked.size(), 300u);

  ScriptedWorld slow;
  slow.hooks.now = [&] { return slow.clock += 1; };
  const CollectPlan plan{.matrix = slow.matrix,
                         .judge = slow.judge,
                         .settings = {0, 1, 2},
                         .time_limit_s = 10,
                         .request_max = {}};
  Evidence little;
  EXPECT_EQ(collect(plan, slow.hooks, little).end, CollectEnd::kTimeLimit);

  ScriptedWorld few;
  Evidence least;
  const auto result = few.collect(least, 100);
  EXPECT_EQ(result.end, CollectEnd::kRequestLimit);
  EXPECT_LE(result.requests, 100u);
  EXPECT_LE(few.asked.size(), 100u);
}

TEST(Collector, StopsAtTheFirstViolationWhereThatIsAsked) {
  ScriptedWorld world;
  world.extra = 0.39;
  world.matrix = tests::scripted_matrix(4096);
  const CollectPlan plan{.matrix = world.matrix,
                         .judge = world.judge,
                         .settings = {0, 1, 2},
                         .time_limit_s = {},
                         .request_max = {},
                         .stops_at_violation = true};
  Evidence evidence;
  const auto result = collect(plan, world.hooks, evidence);
  EXPECT_EQ(result.end, CollectEnd::kViolation);
  EXPECT_THAT(result.reason, HasSubstr("first violation"));
}

TEST(Collector, ScoresTheAnswersOfOneServer) {
  ScriptedWorld world;
  world.judge.has_baseline = false;
  world.judge.target = nullptr;
  world.hooks.score = [](const std::vector<reference::Token>& tokens, int candidates) {
    EXPECT_TRUE(candidates == 2 || candidates == 4) << "of greedy answers the likeliest is enough";
    return CollectHooks::Scores(tokens.size());
  };
  Evidence evidence;
  EXPECT_EQ(world.collect(evidence).end, CollectEnd::kComplete);
  EXPECT_TRUE(evidence.of("t1/p1", Arm::kBaseline).empty());
  const auto& scores = evidence.of("t1/p1", Arm::kSpeculative, properties::kScoreRepeat);
  EXPECT_EQ(scores.size(), evidence.of("t1/p1", Arm::kSpeculative).size());
  EXPECT_EQ(scores.at(0).request.prompt.size(), 5u) << "the prompt and its answer";
  EXPECT_EQ(scores.at(0).request.logprob_count, 4);
  const auto& greedy = evidence.of("t0/p1", Arm::kSpeculative, properties::kScoreRepeat);
  ASSERT_FALSE(greedy.empty());
  EXPECT_EQ(greedy.at(0).request.logprob_count, 2);
  world.hooks.score = [](const auto&, int) { return CollectHooks::Scores(); };
  Evidence none;
  EXPECT_THAT(world.collect(none).refused.at(0).second, HasSubstr("no logprobs of prompts"));
}

}  // namespace
}  // namespace draftproof::tools::audit
