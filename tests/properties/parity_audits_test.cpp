// Audits that hold one arm's outputs against the other's, over transcripts written by hand: each
// convicts, upholds, and says when it cannot tell.
#include <limits>

#include "judged_runs.h"

namespace draftproof::properties::audits {
namespace {

using oracle::Label;
using oracle::VerdictKind;
using ::testing::HasSubstr;
using ::testing::SizeIs;

/// Greedy from prompt 0: the rotated law's likeliest is the last token itself.
const Completion kGreedy = tokens({0, 0, 0, 0});

Completion with_candidates(Completion completion, double gap, double noise = 0) {
  for (const reference::Token token : completion.token_ids)
    completion.top_logprobs.push_back(
        {{token, -0.5 - noise}, {(token + 1) % 4, -0.5 - gap}, {(token + 2) % 4, -9}});
  return completion;
}

/// An unknown law whose baseline reports candidates: 40 gaps in its repeats, `noise` apart.
JudgedRun measured_run(double gap, double noise) {
  JudgedRun run(greedy_request(40));
  const Completion output = tokens(std::vector<reference::Token>(40, 0));
  run.settings.baseline.logprobs = LogprobKind::kRaw;
  run.add(Arm::kBaseline, with_candidates(output, gap));
  run.add(Arm::kBaseline, with_candidates(output, gap, noise), 0, 1);
  return run;
}

Completion parted_at(std::size_t position, reference::Token token) {
  Completion output = tokens(std::vector<reference::Token>(40, 0));
  output.token_ids[position] = token;
  return output;
}

TEST(GreedyMarginParity, UpholdsEqualOutputsWithTheSizeOfWhatWouldShow) {
  RotatedTarget target;
  JudgedRun run(greedy_request());
  run.settings.target = &target;
  run.add_both(kGreedy);
  const auto verdict = run.judged("greedy_margin_parity");
  EXPECT_EQ(verdict.kind, VerdictKind::kUpheld);
  EXPECT_EQ(verdict.label, Label::kNone);
  EXPECT_THAT(verdict.evidence, HasSubstr("1 of 1 outputs equal"));
  EXPECT_THAT(verdict.smallest_visible_effect, HasSubstr("of all tokens"));
}

TEST(GreedyMarginParity, ConvictsAnotherTokenByTheTargetsOwnLogits) {
  RotatedTarget target;
  JudgedRun run(greedy_request());
  run.settings.target = &target;
  run.add(Arm::kBaseline, kGreedy);
  run.add(Arm::kSpeculative, tokens({0, 0, 1, 1}));
  const auto verdict = run.judged("greedy_margin_parity");
  EXPECT_EQ(verdict.kind, VerdictKind::kViolated);
  EXPECT_EQ(verdict.label, Label::kLossy);
  ASSERT_TRUE(verdict.witness);
  EXPECT_THAT(verdict.witness->because, HasSubstr("token 3 is the first that differs"));
  EXPECT_THAT(verdict.witness->because, HasSubstr("0.693"));
  EXPECT_EQ(verdict.witness->replay, "draftproof replay s/one");
}

TEST(GreedyMarginParity, CallsTheSamePartingANearTieUnderABoundThatCoversIt) {
  RotatedTarget target;
  JudgedRun run(greedy_request());
  run.settings.target = &target;
  run.settings.near_tie_bound = 0.7;
  run.add(Arm::kBaseline, kGreedy);
  run.add(Arm::kSpeculative, tokens({0, 0, 1, 1}));
  const auto verdict = run.judged("greedy_margin_parity");
  EXPECT_EQ(verdict.kind, VerdictKind::kUpheld);
  EXPECT_EQ(verdict.label, Label::kNearTie);
  EXPECT_THAT(verdict.evidence, HasSubstr("1 near ties"));
}

TEST(GreedyMarginParity, MeasuresTheBoundWhereTheBaselineIsRunAgainstItself) {
  JudgedRun near = measured_run(0.03, 0.02);
  near.add(Arm::kSpeculative, parted_at(7, 1));
  EXPECT_EQ(near.judged("greedy_margin_parity").label, Label::kNearTie);

  JudgedRun far = measured_run(1.5, 0.02);
  far.add(Arm::kSpeculative, parted_at(7, 1));
  const auto verdict = far.judged("greedy_margin_parity");
  EXPECT_EQ(verdict.kind, VerdictKind::kViolated);
  EXPECT_THAT(verdict.witness->because, HasSubstr("the baseline's reported logprobs"));
}

TEST(GreedyMarginParity, DoesNotConvictByAMeasurementThatMayNotHaveMetTheBatchesOfDrafts) {
  JudgedRun run = measured_run(0.1, 0);
  run.add(Arm::kSpeculative, parted_at(7, 1));
  const auto verdict = run.judged("greedy_margin_parity");
  EXPECT_EQ(verdict.kind, VerdictKind::kInconclusive);
  EXPECT_THAT(verdict.notes.front(), HasSubstr("near_tie_bound"));
}

TEST(GreedyMarginParity, DoesNotKnowATokenThatTheBaselineDidNotReport) {
  JudgedRun within = measured_run(0.01, 0.02);
  within.add(Arm::kSpeculative, parted_at(7, 3));  // at most -9: far below, whatever it is
  EXPECT_EQ(within.judged("greedy_margin_parity").kind, VerdictKind::kViolated);
  JudgedRun wide = measured_run(0.01, 20);
  wide.add(Arm::kSpeculative, parted_at(7, 3));
  EXPECT_EQ(wide.judged("greedy_margin_parity").kind, VerdictKind::kInconclusive);
}

TEST(GreedyMarginParity, IsInconclusiveWithTheRemedyWhereTheRowIsNotKnown) {
  JudgedRun run(greedy_request());
  run.add(Arm::kBaseline, kGreedy);
  run.add(Arm::kSpeculative, tokens({0, 0, 1, 1}));
  const auto verdict = run.judged("greedy_margin_parity");
  EXPECT_EQ(verdict.kind, VerdictKind::kInconclusive);
  EXPECT_THAT(verdict.notes.front(), HasSubstr("raw logprobs"));
  EXPECT_THAT(verdict.notes.back(), HasSubstr("repeat its trials"));
}

TEST(GreedyMarginParity, DoesNotBelieveCandidatesAmongWhichTheBaselinesOwnTokenIsNotTheLikeliest) {
  JudgedRun run(greedy_request(40));
  run.settings.baseline.logprobs = LogprobKind::kRaw;
  const Completion output = tokens(std::vector<reference::Token>(40, 0));
  for (const std::uint32_t repeat : {0u, 1u})
    run.add(Arm::kBaseline, with_candidates(output, -2), 0, repeat);
  run.add(Arm::kSpeculative, parted_at(7, 1));
  EXPECT_EQ(run.judged("greedy_margin_parity").kind, VerdictKind::kInconclusive);
}

TEST(GreedyMarginParity, IsNoStricterThanTheEngineIsWithItself) {
  RotatedTarget target;
  JudgedRun run(greedy_request());
  run.settings.target = &target;
  run.add(Arm::kBaseline, kGreedy);
  run.add(Arm::kBaseline, tokens({0, 1, 1, 1}), 0, 1);
  run.add(Arm::kSpeculative, tokens({0, 0, 1, 1}));
  const auto verdict = run.judged("greedy_margin_parity");
  EXPECT_EQ(verdict.kind, VerdictKind::kInconclusive);
  EXPECT_THAT(verdict.notes.back(), HasSubstr("Parity cannot be stricter"));
  EXPECT_THAT(verdict.notes.back(), HasSubstr("VLLM_BATCH_INVARIANT=1"));
}

TEST(GreedyMarginParity, ConvictsWhatIsFartherThanTheEngineIsFromItself) {
  RotatedTarget target;
  JudgedRun run(greedy_request());
  run.settings.target = &target;
  run.add(Arm::kBaseline, kGreedy);
  run.add(Arm::kBaseline, tokens({0, 1, 1, 1}), 0, 1);
  run.add(Arm::kSpeculative, tokens({0, 0, 2, 2}));
  EXPECT_EQ(run.judged("greedy_margin_parity").kind, VerdictKind::kViolated);
}

TEST(GreedyMarginParity, ConvictsAnOutputThatGoesOnBehindAStopToken) {
  SamplingRequest request = greedy_request();
  request.stop_token_ids = {0};
  JudgedRun run(request);
  run.add(Arm::kBaseline, tokens({0}, CompletionEnd::kStop));
  run.add(Arm::kSpeculative, kGreedy);
  const auto verdict = run.judged("greedy_margin_parity");
  EXPECT_EQ(verdict.kind, VerdictKind::kViolated);
  EXPECT_THAT(verdict.witness->because, HasSubstr("one went on behind it"));
}

TEST(GreedyMarginParity, ConvictsAnotherReasonToEnd) {
  JudgedRun run(greedy_request());
  run.add(Arm::kBaseline, kGreedy);
  run.add(Arm::kSpeculative, tokens({0, 0, 0, 0}, CompletionEnd::kStop));
  const auto verdict = run.judged("greedy_margin_parity");
  EXPECT_EQ(verdict.kind, VerdictKind::kViolated);
  EXPECT_EQ(verdict.label, Label::kNone);
}

TEST(GreedyMarginParity, HoldsTheTokenBehindAnUntoldEndAgainstTheRow) {
  RotatedTarget target;
  const auto kind_of = [&](std::vector<reference::Token> output) {
    JudgedRun run(greedy_request());
    run.settings.target = &target;
    run.add(Arm::kBaseline, tokens({0, 0}, CompletionEnd::kStop));
    run.add(Arm::kSpeculative, tokens(std::move(output)));
    return run.judged("greedy_margin_parity").kind;
  };
  EXPECT_EQ(kind_of({0, 0, 2, 2}), VerdictKind::kViolated);
  EXPECT_EQ(kind_of({0, 0, 0, 0}), VerdictKind::kInconclusive);
}

TEST(GreedyMarginParity, IsNotGreenWhereNothingWasDrafted) {
  JudgedRun run(greedy_request());
  run.add(Arm::kBaseline, kGreedy);
  run.add(Arm::kSpeculative, with_counters(kGreedy, 0, 0));
  const auto verdict = run.judged("greedy_margin_parity");
  EXPECT_EQ(verdict.kind, VerdictKind::kInconclusive);
  EXPECT_EQ(verdict.label, Label::kNotExercised);
}

TEST(GreedyMarginParity, ComparesNothingWithAFailure) {
  JudgedRun run(greedy_request());
  run.add(Arm::kBaseline, failure("out of memory"));
  run.add(Arm::kSpeculative, kGreedy);
  const auto verdict = run.judged("greedy_margin_parity");
  EXPECT_EQ(verdict.kind, VerdictKind::kInconclusive);
  EXPECT_THAT(verdict.evidence, HasSubstr("failed"));
}

JudgedRun shared_run(std::vector<reference::Token> speculative) {
  JudgedRun run(sampled_request(), Seeding::kShared);
  run.settings.baseline.takes_seed = run.settings.speculative.takes_seed = true;
  run.add_both(tokens({0, 1, 2, 3}), 0);
  run.add(Arm::kBaseline, tokens({3, 2, 1, 0}), 1);
  run.add(Arm::kSpeculative, tokens(std::move(speculative)), 1);
  return run;
}

TEST(GreedyMarginParity, SaysWhereNobodyCountsDrafts) {
  const auto says_so = ::testing::Contains(HasSubstr("counts no drafts"));
  JudgedRun uncounted(greedy_request());
  uncounted.add_both(tokens({0, 0, 0, 0}));
  EXPECT_THAT(uncounted.judged("greedy_margin_parity").notes, says_so);
  JudgedRun counted(greedy_request());
  counted.add_both(with_counters(tokens({0, 0, 0, 0}), 3, 2));
  EXPECT_THAT(counted.judged("greedy_margin_parity").notes, ::testing::Not(says_so));
}

TEST(SameSeedIdentity, UpholdsWhereEveryTrialIsIdentical) {
  const auto verdict = shared_run({3, 2, 1, 0}).judged("same_seed_identity");
  EXPECT_EQ(verdict.kind, VerdictKind::kUpheld);
  EXPECT_THAT(verdict.evidence, HasSubstr("2 of 2 outputs identical"));
  EXPECT_THAT(verdict.smallest_visible_effect, HasSubstr("changed by drafts"));
  EXPECT_TRUE(verdict.assumption.empty());
}

TEST(SameSeedIdentity, ConvictsOneDifferenceWhereIdentityIsPromised) {
  JudgedRun run = shared_run({3, 2, 2, 0});
  run.settings.promises_same_seed = true;
  const auto verdict = run.judged("same_seed_identity");
  EXPECT_EQ(verdict.kind, VerdictKind::kViolated);
  EXPECT_EQ(verdict.label, Label::kNotReproducible);
  EXPECT_THAT(verdict.witness->because, HasSubstr("token 3"));
  EXPECT_THAT(verdict.witness->let, HasSubstr("trial 1 (seed 1)"));
}

TEST(SameSeedIdentity, OnlyNotesADifferenceThatNobodyPromisedAway) {
  const auto verdict = shared_run({3, 2, 2, 0}).judged("same_seed_identity");
  EXPECT_EQ(verdict.kind, VerdictKind::kInconclusive);
  EXPECT_FALSE(verdict.witness);
  EXPECT_EQ(verdict.label, Label::kNotExercised);  // speaks neither for nor against
  EXPECT_THAT(verdict.notes.front(), HasSubstr("no promise is broken"));
}

TEST(SameSeedIdentity, LetsRoundingMoveAsManyTokensAsItsSlackMay) {
  JudgedRun run = shared_run({3, 2, 2, 0});
  run.settings.promises_same_seed = true;
  run.settings.tolerance = 0.05;
  EXPECT_EQ(run.judged("same_seed_identity").kind, VerdictKind::kInconclusive);
  run.settings.tolerance = 1e-12;
  EXPECT_EQ(run.judged("same_seed_identity").kind, VerdictKind::kViolated);
}

TEST(SameSeedIdentity, IsNoStricterThanTheBaselineIsWithItself) {
  JudgedRun run = shared_run({3, 2, 2, 0});
  run.settings.promises_same_seed = true;
  run.add(Arm::kBaseline, tokens({0, 1, 2, 0}), 0, 1);
  const auto verdict = run.judged("same_seed_identity");
  EXPECT_EQ(verdict.kind, VerdictKind::kInconclusive);
  EXPECT_THAT(verdict.notes.front(), HasSubstr("A/A control"));
}

TEST(SameSeedIdentity, SaysWhereSeedsChangeNothing) {
  JudgedRun run(sampled_request(), Seeding::kShared);
  for (const std::uint64_t trial : {0u, 1u}) run.add_both(tokens({0, 1, 2, 3}), trial);
  EXPECT_THAT(run.judged("same_seed_identity").assumption, HasSubstr("whatever its seed"));
}

TEST(SeedRepeats, UpholdsRepeatsThatComeOutAlike) {
  JudgedRun run(sampled_request());
  run.add_both(tokens({0, 1, 2, 3}));
  run.add(Arm::kSpeculative, tokens({0, 1, 2, 3}), 0, 1);
  EXPECT_EQ(run.judged("seed_repeats").kind, VerdictKind::kUpheld);
}

/// The baseline repeats `count` times, the speculative arm as often, and otherwise each time.
JudgedRun unsteady_run(std::uint64_t count) {
  JudgedRun run(sampled_request());
  for (std::uint64_t trial = 0; trial < count; ++trial) {
    run.add_both(tokens({0, 1, 2, 3}), trial);
    run.add(Arm::kBaseline, tokens({0, 1, 2, 3}), trial, 1);
    run.add(Arm::kSpeculative, tokens({0, 1, 2, 2}), trial, 1);
  }
  return run;
}

TEST(SeedRepeats, ConvictsWhereTheBaselineRepeatsOftenEnoughToSayThatDraftsDoIt) {
  const auto many = unsteady_run(40).judged("seed_repeats");
  EXPECT_EQ(many.kind, VerdictKind::kViolated);
  EXPECT_EQ(many.label, Label::kNotReproducible);
  EXPECT_EQ(unsteady_run(4).judged("seed_repeats").kind, VerdictKind::kInconclusive);
}

TEST(SeedRepeats, ConvictsOneThatWasPromised) {
  JudgedRun run = unsteady_run(1);
  run.settings.promises_same_seed = true;
  EXPECT_EQ(run.judged("seed_repeats").kind, VerdictKind::kViolated);
}

TEST(SeedRepeats, BlamesNoDraftWhereTheBaselineDoesNotRepeatEither) {
  JudgedRun run = unsteady_run(40);
  run.add(Arm::kBaseline, tokens({3, 1, 2, 3}), 0, 2);
  const auto verdict = run.judged("seed_repeats");
  EXPECT_EQ(verdict.kind, VerdictKind::kInconclusive);
  EXPECT_THAT(verdict.notes.front(), HasSubstr("not reproducible with itself"));
}

TEST(SeedRepeats, SaysThatNothingWasRepeated) {
  JudgedRun run(sampled_request());
  run.add_both(tokens({0, 1, 2, 3}));
  const auto verdict = run.judged("seed_repeats");
  EXPECT_EQ(verdict.kind, VerdictKind::kInconclusive);
  EXPECT_THAT(verdict.evidence, HasSubstr("was repeated"));
}

}  // namespace
}  // namespace draftproof::properties::audits
