// The checks of a seed's promise on decoders of a few lines: a right one that every check upholds,
// and one wrong one for each check.
#include "properties/state/replay_of_seed.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "properties/random.h"
#include "reference/error.h"

namespace draftproof::properties {
namespace {

using reference::Token;
using reference::decode::ReplayRequest;
using reference::decode::ReplayRun;
using reference::decode::Stream;

// Token of a key behind a text; greedy: of the text alone.
Token token_of(std::uint64_t key, const std::vector<Token>& text, const ReplayRequest& request) {
  std::uint64_t hash = request.sampling.temperature == 0 ? 1 : derived_seed(key, 3);
  for (Token token : text) hash = derived_seed(hash, static_cast<std::uint64_t>(token));
  return static_cast<Token>(hash % 2);
}

using KeyOf = std::function<std::uint64_t(const ReplayRun&, std::size_t number, int token_index)>;

std::uint64_t right_key(const ReplayRun& run, std::size_t number, int) {
  const auto& seed = run.requests[number].seed;
  return seed ? *seed : derived_seed(run.entropy, 1000 + number);
}

// Two tokens, one fair bit each, that never drafts: which key decides each token is the fault.
ReplaySubject subject_of(KeyOf key_of, int token_count = 64) {
  ReplaySubject subject;
  subject.name = "bits";
  subject.ignores_drafts = true;
  subject.continues_by_text = true;
  subject.token_count = token_count;
  subject.decode = [key_of](const ReplayRun& run) {
    std::vector<Stream> streams;
    for (std::size_t number = 0; number < run.requests.size(); ++number) {
      const ReplayRequest& request = run.requests[number];
      std::vector<Token> text = request.prompt;
      streams.emplace_back();
      for (int i = 0; i < request.token_count; ++i) {
        streams.back().push_back(token_of(key_of(run, number, i), text, request));
        text.push_back(streams.back().back());
      }
    }
    return streams;
  };
  return subject;
}

ReplayFinding asked(std::string_view id, const ReplaySubject& subject) {
  return replay_check(id).check(subject);
}

TEST(ReplayOfSeed, UpholdsADecoderWhoseStreamsAreFunctionsOfTheirRequests) {
  for (const ReplayCheck& check : replay_checks()) {
    const ReplayFinding finding = check.check(subject_of(right_key));
    EXPECT_EQ(finding.answer, ReplayAnswer::kUpheld) << check.id << "\n" << finding.history;
    EXPECT_GT(finding.run_count, 0u);
    EXPECT_FALSE(check.statement.empty());
    EXPECT_THAT(check.report, testing::HasSubstr("#"));
  }
}

struct Wrong {
  std::string killed_by;
  KeyOf key;
};

// One wrong key for each check, in the order of the list.
std::vector<Wrong> wrong_decoders() {
  const auto one = [](const ReplayRun& run, std::size_t number) {
    return right_key(run, number, 0);
  };
  return {
      {"a_seed_repeats",
       [one](const ReplayRun& run, std::size_t i, int) { return one(run, i) ^ run.entropy << 32; }},
      {"companions_do_not_move_a_seed",
       [one](const ReplayRun& run, std::size_t i, int) {
         return one(run, i) ^ run.requests.size() << 32;
       }},
      {"batch_order_does_not_move_a_seed",
       [one](const ReplayRun& run, std::size_t i, int) { return one(run, i) ^ i << 32; }},
      {"preemption_does_not_move_a_seed",
       [one](const ReplayRun& run, std::size_t i, int token) {
         const auto& steps = run.requests[i].preempted_steps;
         return one(run, i) ^ std::uint64_t{!steps.empty() && token >= steps[0]} << 32;
       }},
      {"draft_free_steps_do_not_move_a_seed",
       [one](const ReplayRun& run, std::size_t i, int) {
         return one(run, i) ^ std::uint64_t{run.requests[i].draft_lengths.empty()} << 32;
       }},
      {"stops_do_not_move_a_seed",
       [one](const ReplayRun& run, std::size_t i, int token) {
         const auto& stops = run.requests[i].stops;
         const bool is_behind = !stops.empty() && token >= stops[0];
         return one(run, i) ^ std::uint64_t{is_behind && run.requests[i].drafts_past_stops} << 32;
       }},
      {"equal_seeds_agree",
       [one](const ReplayRun& run, std::size_t i, int) { return one(run, i) ^ i << 32; }},
      {"different_seeds_differ", [](const ReplayRun&, std::size_t, int) { return 5; }},
      {"unseeded_requests_differ",
       [](const ReplayRun& run, std::size_t i, int) { return run.requests[i].seed.value_or(0); }},
      {"unseeded_differ_among_seeded",
       [one](const ReplayRun& run, std::size_t i, int) {
         return run.requests[0].seed && !run.requests[i].seed ? 0 : one(run, i);
       }},
  };
}

TEST(ReplayOfSeed, KillsOneWrongDecoderForEachCheck) {
  std::size_t number = 0;
  for (const Wrong& wrong : wrong_decoders()) {
    EXPECT_EQ(replay_checks()[number++].id, wrong.killed_by);
    const ReplayFinding finding = asked(wrong.killed_by, subject_of(wrong.key));
    EXPECT_EQ(finding.answer, ReplayAnswer::kViolated) << wrong.killed_by;
    EXPECT_THAT(finding.history, testing::HasSubstr("  > request "));
  }
  EXPECT_EQ(number + 1, replay_checks().size());
}

TEST(ReplayOfSeed, KillsADecoderThatReadsItsSeedAtTemperatureZero) {
  ReplaySubject subject = subject_of(right_key);
  const auto decode = subject.decode;
  subject.decode = [decode](ReplayRun run) {
    for (ReplayRequest& request : run.requests) request.sampling.temperature = 1;
    return decode(run);
  };
  EXPECT_EQ(asked("seeds_say_nothing_at_temperature_zero", subject).answer,
            ReplayAnswer::kViolated);
}

TEST(ReplayOfSeed, TellsTheLeastHistory) {
  // Wrong from the third token on, so that no history of two tokens shows it.
  const ReplayFinding finding =
      asked("a_seed_repeats", subject_of([](const ReplayRun& run, std::size_t i, int token) {
              return right_key(run, i, 0) ^ (token >= 2 ? run.entropy << 32 : 0);
            }));
  EXPECT_THAT(finding.history, testing::HasSubstr("must agree, and part at token 2"));
  EXPECT_THAT(finding.history, testing::HasSubstr("3 tokens, no drafts\n"));
}

TEST(ReplayOfSeed, AsksOnlyWhatIsPromised) {
  ReplaySubject subject = subject_of(right_key);
  subject.ignores_drafts = false;
  EXPECT_EQ(asked("draft_free_steps_do_not_move_a_seed", subject).answer,
            ReplayAnswer::kNotPromised);
  EXPECT_EQ(asked("stops_do_not_move_a_seed", subject).answer, ReplayAnswer::kUpheld);
  subject.continues_by_text = false;
  EXPECT_EQ(asked("stops_do_not_move_a_seed", subject).answer, ReplayAnswer::kNotPromised);
}

// A continuation that a text alone does not give: seen through continues_by_text.
TEST(ReplayOfSeed, SeesAContinuationThatIsNoFunctionOfTheText) {
  ReplaySubject subject = subject_of([](const ReplayRun& run, std::size_t i, int token) {
    return right_key(run, i, 0) + static_cast<std::uint64_t>(token);
  });
  EXPECT_EQ(asked("stops_do_not_move_a_seed", subject).answer, ReplayAnswer::kViolated);
  subject.continues_by_text = false;
  EXPECT_EQ(asked("stops_do_not_move_a_seed", subject).answer, ReplayAnswer::kUpheld);
}

TEST(ReplayOfSeed, StatesItsFalseAlarms) {
  for (const ReplayCheck& check : replay_checks()) {
    const ReplayFinding finding = check.check(subject_of(right_key, 40));
    // 5 draft patterns of 6 pairs; of 6 + 6 + 1 pairs; of 6 pairs; 40 fair bits each.
    const double pairs = check.id == "different_seeds_differ"         ? 30
                         : check.id == "unseeded_requests_differ"     ? 65
                         : check.id == "unseeded_differ_among_seeded" ? 30
                                                                      : 0;
    if (pairs == 0) {
      EXPECT_EQ(finding.false_alarm_log2, -INFINITY) << check.id;
    } else {
      EXPECT_NEAR(finding.false_alarm_log2, std::log2(pairs) - 40, 1e-9) << check.id;
    }
  }
}

// Of right decoders with 12 fair bits a stream, 65 pairs agree somewhere at a rate of at most
// 65 / 4096 (the bound is near the truth, pairs being independent): 31.7 of 2000 are expected, and
// less than 8 or more than 64 would be 4 standard deviations and more away (5.6 each).
TEST(ReplayOfSeed, RaisesFalseAlarmsAtTheRateThatItStates) {
  int alarms = 0;
  for (std::uint64_t salt = 0; salt < 2000; ++salt) {
    const ReplaySubject subject = subject_of(
        [salt](const ReplayRun& run, std::size_t i, int) {
          std::uint64_t key = derived_seed(salt, right_key(run, i, 0) + run.serial);
          for (int length : run.requests[i].draft_lengths)
            key = derived_seed(key, static_cast<std::uint64_t>(length));
          return key;
        },
        12);
    alarms += asked("unseeded_requests_differ", subject).answer == ReplayAnswer::kViolated;
  }
  EXPECT_GE(alarms, 8);
  EXPECT_LE(alarms, 64);
}

TEST(ReplayOfSeed, RefusesUnknownChecksAndStreamsOfAnotherLength) {
  EXPECT_THROW(replay_check("none"), Error);
  ReplaySubject subject = subject_of(right_key);
  subject.decode = [](const ReplayRun& run) { return std::vector<Stream>(run.requests.size()); };
  EXPECT_THROW(asked("a_seed_repeats", subject), BrokenInvariant);
}

}  // namespace
}  // namespace draftproof::properties
