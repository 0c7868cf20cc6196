// Answers that did not come. Goal: no audit upholds anything on what is left where more than one in
// a hundred is missing, each says how many, and one that is missing costs no verdict. Audits of the
// law count theirs in law_sample (law_audits_test.cpp).
#include <cmath>
#include <functional>

#include "judged_runs.h"

namespace draftproof::properties::audits {
namespace lost_answers {
namespace {

using oracle::VerdictKind;
using ::testing::Contains;
using ::testing::HasSubstr;

constexpr std::uint64_t kJudged = 100;

struct Losing {
  const char* audit;
  /// A run of that many right answers, and as many requests that failed behind them.
  std::function<JudgedRun(std::uint64_t lost)> run;
};

void PrintTo(const Losing& losing, std::ostream* out) { *out << losing.audit; }

JudgedRun with_lost(JudgedRun run, std::uint64_t lost) {
  for (std::uint64_t trial = kJudged; trial < kJudged + lost; ++trial) {
    run.add(Arm::kBaseline, tokens({0, 0, 0, 0}), trial);
    run.add(Arm::kSpeculative, failure("HTTP 500"), trial);
  }
  return run;
}

JudgedRun plain(SamplingRequest request, const Completion& completion, std::uint64_t lost,
                Seeding seeding = Seeding::kIndependent) {
  static const RotatedTarget target;
  JudgedRun run(std::move(request), seeding);
  run.settings.target = &target;
  run.settings.baseline.takes_seed = run.settings.speculative.takes_seed = true;
  run.settings.baseline.logprobs = run.settings.speculative.logprobs = LogprobKind::kRaw;
  for (std::uint64_t trial = 0; trial < kJudged; ++trial) run.add_both(completion, trial);
  return with_lost(std::move(run), lost);
}

JudgedRun filtered(std::uint64_t lost) {
  SamplingRequest request = sampled_request();
  request.sampling.top_k = 2;
  return plain(request, tokens({0, 1, 1, 2}), lost);
}

JudgedRun told(std::uint64_t lost) {
  SamplingRequest request = sampled_request();
  request.logprob_count = 0;
  Completion completion = tokens({0, 0, 0, 0});
  completion.logprobs.assign(4, std::log(0.5));
  return plain(request, completion, lost);
}

JudgedRun spelled(std::uint64_t lost) {
  SamplingRequest request = sampled_request();
  request.grammar = "a+b";
  request.ignores_end = false;
  Completion completion = tokens({0, 1}, CompletionEnd::kStop);
  completion.text = "ab";
  return plain(request, completion, lost);
}

JudgedRun repeated(std::uint64_t lost) {
  JudgedRun run = plain(sampled_request(), tokens({0, 1, 2, 3}), 0);
  for (std::uint64_t trial = 0; trial < kJudged + lost; ++trial) {
    if (trial >= kJudged) run.add_both(tokens({0, 1, 2, 3}), trial);
    run.add(Arm::kBaseline, tokens({0, 1, 2, 3}), trial, 1);
    run.add(Arm::kSpeculative, trial < kJudged ? tokens({0, 1, 2, 3}) : failure("HTTP 500"), trial,
            1);
  }
  return run;
}

/// Rows of prompt and answer, read once more, as the rotated law gives them.
Completion scored() {
  Completion score;
  const RotatedTarget target;
  for (int row = 0; row < 5; ++row) {
    const auto law = target.next(sampled_request(), std::vector<reference::Token>{0});
    score.top_logprobs.emplace_back();
    for (reference::Token token = 0; token < 4; ++token)
      score.top_logprobs.back().push_back({token, std::log(law[static_cast<std::size_t>(token)])});
  }
  return score;
}

/// `unread` trials behind the last that was read again.
JudgedRun read_again(std::uint64_t lost, std::uint64_t unread = 0) {
  JudgedRun run(greedy_request());
  run.settings.has_baseline = false;
  run.settings.speculative.logprobs = LogprobKind::kRaw;
  for (std::uint64_t trial = 0; trial < kJudged + lost + unread; ++trial) {
    run.add(Arm::kSpeculative, tokens({0, 0, 0, 0}), trial);
    // The first ones are those without a score.
    if (trial >= lost && trial < kJudged + lost)
      run.add(Arm::kSpeculative, scored(), trial, kScoreRepeat);
  }
  return run;
}

class LostAnswers : public testing::TestWithParam<Losing> {};

TEST_P(LostAnswers, MayBeThoseThatShowIt) {
  const Losing& losing = GetParam();
  const auto whole = losing.run(0).judged(losing.audit);
  EXPECT_EQ(whole.kind, VerdictKind::kUpheld) << whole.evidence;
  const auto one = losing.run(1).judged(losing.audit);
  EXPECT_EQ(one.kind, VerdictKind::kUpheld) << one.evidence;
  EXPECT_THAT(one.notes, Contains(HasSubstr("and are not in this")));
  const auto two = losing.run(2).judged(losing.audit);
  EXPECT_EQ(two.kind, VerdictKind::kInconclusive) << two.evidence;
  EXPECT_THAT(two.evidence, HasSubstr("too many, and theirs may be those that show it"));
  EXPECT_EQ(two.smallest_visible_effect, "");
}

JudgedRun counted(std::uint64_t lost) {
  JudgedRun run(sampled_request());
  for (std::uint64_t trial = 0; trial < kJudged; ++trial) {
    run.add(Arm::kBaseline, with_counters(tokens({0, 0, 0, 0}), 0, 0), trial);
    run.add(Arm::kSpeculative, with_counters(tokens({0, 0, 0, 0}), 3, 1), trial);
  }
  return with_lost(std::move(run), lost);
}

JudgedRun declared(std::uint64_t lost) {
  JudgedRun run = plain(sampled_request(), tokens({0, 0, 0, 0}), lost);
  run.settings.lossy = LossyMode{"synthetic", "the test", 1.0};
  return run;
}

INSTANTIATE_TEST_SUITE_P(
    Audits, LostAnswers,
    testing::Values(
        Losing{"counter_identities", counted}, Losing{"declared_distance", declared},
        Losing{"support_of_filters", filtered}, Losing{"logprob_truth", told},
        Losing{"grammar_validity", spelled}, Losing{"seed_repeats", repeated},
        Losing{"rescored_parity", [](std::uint64_t lost) { return read_again(lost); }},
        Losing{"greedy_margin_parity",
               [](std::uint64_t lost) {
                 return plain(greedy_request(), tokens({0, 0, 0, 0}), lost);
               }},
        Losing{"same_seed_identity",
               [](std::uint64_t lost) {
                 return plain(sampled_request(), tokens({0, 0, 0, 0}), lost, Seeding::kShared);
               }}),
    [](const auto& info) { return std::string(info.param.audit); });

/// Only the first trials of a case are read again, which is no loss; a failed one is.
TEST(RescoredParity, MissesNoScoreThatWasNotAskedFor) {
  EXPECT_EQ(read_again(0, 5000).judged("rescored_parity").kind, VerdictKind::kUpheld);
  JudgedRun failing = read_again(0);
  failing.add(Arm::kSpeculative, failure("HTTP 500"), kJudged);
  failing.add(Arm::kSpeculative, failure("HTTP 500"), kJudged + 1);
  EXPECT_EQ(failing.judged("rescored_parity").kind, VerdictKind::kInconclusive);
}

TEST(RescoredParity, ConvictsATokenThatIsNotTheLikeliest) {
  JudgedRun run = read_again(0);
  run.add(Arm::kSpeculative, tokens({0, 0, 1, 1}), kJudged);
  run.add(Arm::kSpeculative, scored(), kJudged, kScoreRepeat);
  const auto verdict = run.judged("rescored_parity");
  EXPECT_EQ(verdict.kind, VerdictKind::kViolated);
  EXPECT_THAT(verdict.witness->observed, HasSubstr("token 1 at position 3"));
}

TEST(RescoredParity, RefusesScoresThatAreNoNumbers) {
  JudgedRun run = read_again(0);
  Completion score = scored();
  score.top_logprobs[2][1].logprob = std::nan("");
  run.add(Arm::kSpeculative, tokens({0, 0, 0, 0}), kJudged);
  run.add(Arm::kSpeculative, score, kJudged, kScoreRepeat);
  const auto verdict = run.judged("rescored_parity");
  EXPECT_EQ(verdict.kind, VerdictKind::kInconclusive);
  EXPECT_THAT(verdict.evidence, HasSubstr("no number"));
}

}  // namespace
}  // namespace lost_answers
}  // namespace draftproof::properties::audits
