// Audits that hold outputs and reports of an engine against what is known without a second sample,
// over transcripts written by hand: each convicts, upholds, and says when it cannot tell.
#include <cmath>
#include <limits>

#include "judged_runs.h"

namespace draftproof::properties::audits {
namespace {

using oracle::Label;
using oracle::VerdictKind;
using reference::Token;
using ::testing::HasSubstr;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

SamplingRequest filtered_request() {
  SamplingRequest request = sampled_request();
  request.sampling.top_k = 2;
  return request;
}

oracle::Verdict support_of(const KnownTarget* target, SamplingRequest request,
                           std::vector<Token> output) {
  JudgedRun run(std::move(request));
  run.settings.target = target;
  run.add(Arm::kBaseline, tokens({0, 0, 0, 0}));
  run.add(Arm::kSpeculative, tokens(std::move(output)));
  return run.judged("support_of_filters");
}

TEST(SupportOfFilters, UpholdsTokensInsideOfTheKnownLaw) {
  RotatedTarget target;
  const auto verdict = support_of(&target, filtered_request(), {0, 1, 1, 2});
  EXPECT_EQ(verdict.kind, VerdictKind::kUpheld);
  EXPECT_THAT(verdict.evidence, HasSubstr("4 tokens, each one inside"));
}

TEST(SupportOfFilters, ProvesATokenOutsideOfTheKnownLaw) {
  RotatedTarget target;
  const auto verdict = support_of(&target, filtered_request(), {0, 3, 3, 3});
  EXPECT_EQ(verdict.kind, VerdictKind::kViolated);
  EXPECT_EQ(verdict.label, Label::kLossy);
  EXPECT_EQ(verdict.log_e_value, kInfinity);
  EXPECT_THAT(verdict.witness->expected, HasSubstr("one of 0 1"));
  EXPECT_EQ(verdict.witness->observed, "3");
}

/// Tokens 2 and 3 of the rotated law are equally likely, so that top_k 3 cuts between equals.
TEST(SupportOfFilters, ConvictsNobodyWhereRoundingMovesTheCut) {
  RotatedTarget target;
  SamplingRequest request = sampled_request();
  request.sampling.top_k = 3;
  const auto verdict = support_of(&target, request, {0, 3, 3, 3});
  EXPECT_EQ(verdict.kind, VerdictKind::kUpheld);
  EXPECT_EQ(verdict.label, Label::kNearTie);
}

/// Token 3 has probability e^-60 and is no impossible one.
class UnlikelyTarget final : public KnownTarget {
 public:
  int vocab_size() const override { return 4; }
  std::vector<double> next(const SamplingRequest&, std::span<const Token>) const override {
    return {0.5, 0.25, 0.25, std::exp(-60)};
  }
};

TEST(SupportOfFilters, ConvictsATokenThatNoRunOfThisLengthMeets) {
  UnlikelyTarget target;
  const auto verdict = support_of(&target, sampled_request(), {0, 3, 1, 2});
  EXPECT_EQ(verdict.kind, VerdictKind::kViolated);
  ASSERT_TRUE(verdict.log_e_value);
  EXPECT_LT(*verdict.log_e_value, 60);
  EXPECT_GT(*verdict.log_e_value, 50);
}

TEST(SupportOfFilters, SaysWhenNothingCouldBeOutside) {
  RotatedTarget target;
  const auto verdict = support_of(&target, sampled_request(), {0, 1, 2, 3});
  EXPECT_EQ(verdict.kind, VerdictKind::kInconclusive);
  EXPECT_EQ(verdict.label, oracle::Label::kNotExercised);
  EXPECT_THAT(verdict.evidence, HasSubstr("nothing could be outside"));
}

TEST(SupportOfFilters, ConvictsABannedTokenWithoutAnyLaw) {
  SamplingRequest banning = sampled_request();
  banning.adjustments.logit_bias = {{2, -kInfinity}};
  EXPECT_EQ(support_of(nullptr, banning, {0, 1, 2, 3}).kind, VerdictKind::kViolated);
  EXPECT_EQ(support_of(nullptr, banning, {0, 1, 1, 3}).kind, VerdictKind::kUpheld);
  SamplingRequest words = sampled_request();
  words.adjustments.bad_words = {{1, 2}};
  EXPECT_EQ(support_of(nullptr, words, {0, 1, 2, 3}).kind, VerdictKind::kViolated);
  EXPECT_EQ(support_of(nullptr, words, {0, 1, 3, 2}).kind, VerdictKind::kUpheld);
}

/// An unknown law under top_k 2, and what the baseline reports behind no token at all.
oracle::Verdict reported_support(const std::vector<TokenLogprob>& candidates, Token first) {
  SamplingRequest request = filtered_request();
  request.logprob_count = static_cast<int>(candidates.size());
  JudgedRun run(request);
  run.settings.baseline.logprobs = LogprobKind::kRaw;
  Completion baseline = tokens({0, 0, 0, 0});
  baseline.top_logprobs = {candidates};
  run.add(Arm::kBaseline, baseline);
  run.add(Arm::kSpeculative, tokens({first, 0, 0, 0}));
  return run.judged("support_of_filters");
}

TEST(SupportOfFilters, TakesTheBaselinesCandidatesWhereTheLawIsNotKnownAndSaysSo) {
  const std::vector<TokenLogprob> three = {{0, -0.5}, {1, -1.5}, {2, -3}};
  const auto verdict = reported_support(three, 3);
  EXPECT_EQ(verdict.kind, VerdictKind::kViolated);
  EXPECT_THAT(verdict.assumption, HasSubstr("the baseline reports"));
  EXPECT_EQ(reported_support(three, 2).kind, VerdictKind::kViolated);
  EXPECT_EQ(reported_support(three, 1).kind, VerdictKind::kUpheld);
}

TEST(SupportOfFilters, CannotTellWhereTooFewCandidatesCame) {
  const auto verdict = reported_support({{0, -0.5}, {1, -1.5}}, 3);
  EXPECT_EQ(verdict.kind, VerdictKind::kInconclusive);
  EXPECT_THAT(verdict.notes.front(), HasSubstr("logprob_count"));
}

/// A ban that nothing breaks says nothing of the filter beside it.
TEST(SupportOfFilters, IsNotUpheldByBansAloneWhereAFilterIsAsked) {
  SamplingRequest banning = filtered_request();
  banning.adjustments.logit_bias = {{2, -kInfinity}};
  EXPECT_EQ(support_of(nullptr, banning, {0, 1, 1, 3}).kind, VerdictKind::kInconclusive);
  EXPECT_EQ(support_of(nullptr, banning, {0, 1, 2, 3}).kind, VerdictKind::kViolated);
}

oracle::Verdict formed(SamplingRequest request, Completion baseline, Completion speculative) {
  JudgedRun run(std::move(request));
  run.add(Arm::kBaseline, std::move(baseline));
  run.add(Arm::kSpeculative, std::move(speculative));
  return run.judged("well_formed");
}

TEST(WellFormed, UpholdsWhatEndsWhereItShould) {
  SamplingRequest request = greedy_request();
  request.stop_token_ids = {3};
  const auto verdict = formed(request, tokens({0, 3}, CompletionEnd::kStop), tokens({0, 1, 2, 3}));
  EXPECT_EQ(verdict.kind, VerdictKind::kUpheld);
}

TEST(WellFormed, ConvictsIdsCapsAndTokensBehindAStop) {
  const Completion good = tokens({0, 1, 2, 3});
  EXPECT_EQ(formed(greedy_request(), good, tokens({0, 1, 2, 4})).kind, VerdictKind::kViolated);
  EXPECT_EQ(formed(greedy_request(), good, tokens({0, 1, 2, -1})).kind, VerdictKind::kViolated);
  EXPECT_EQ(formed(greedy_request(), good, tokens({0, 1, 2, 3, 3})).kind, VerdictKind::kViolated);
  SamplingRequest stopping = greedy_request();
  stopping.stop_token_ids = {1};
  const auto verdict = formed(stopping, tokens({0, 1}, CompletionEnd::kStop), good);
  EXPECT_EQ(verdict.kind, VerdictKind::kViolated);
  EXPECT_THAT(verdict.witness->expected, HasSubstr("nothing behind token 2"));
}

TEST(WellFormed, ConvictsAMalformedBaselineTooAndNamesTheArm) {
  const auto verdict = formed(greedy_request(), tokens({0, 1, 2, 9}), tokens({0, 1, 2, 3}));
  EXPECT_EQ(verdict.kind, VerdictKind::kViolated);
  EXPECT_THAT(verdict.witness->observed, HasSubstr("(baseline)"));
}

TEST(WellFormed, ConvictsWhatTheEngineFailedAndNotWhatWasLostOnItsWay) {
  const Completion good = tokens({0, 1, 2, 3});
  Completion broken = failure("HTTP 500: broken"), lost = failure("the connection ended");
  lost.failure_cause = FailureCause::kTransport;
  EXPECT_EQ(formed(greedy_request(), good, broken).kind, VerdictKind::kViolated);
  for (const bool is_speculative : {true, false}) {
    const auto verdict = is_speculative ? formed(greedy_request(), good, lost)
                                        : formed(greedy_request(), lost, good);
    EXPECT_EQ(verdict.kind, VerdictKind::kInconclusive) << is_speculative;
    EXPECT_THAT(verdict.evidence, HasSubstr(is_speculative ? "lost on their way: 1 of the spec"
                                                           : "0 of the speculative arm, 1 of the"));
    ASSERT_EQ(verdict.notes.size(), 2u);
    EXPECT_THAT(verdict.notes[0], HasSubstr("the connection ended"));
    EXPECT_THAT(verdict.notes[1], HasSubstr("start another run"));
  }
}

TEST(WellFormed, TakesForTheEnginesOwnWayWhatTheBaselineDoesToo) {
  const Completion shorter = tokens({0, 1});
  EXPECT_EQ(formed(greedy_request(), shorter, shorter).kind, VerdictKind::kInconclusive);
  EXPECT_EQ(formed(greedy_request(), tokens({0, 1, 2, 3}), shorter).kind, VerdictKind::kViolated);
}

TEST(WellFormed, ConvictsAFailureThatOnlyTheSpeculativeArmHas) {
  const Completion good = tokens({0, 1, 2, 3});
  const auto verdict = formed(greedy_request(), good, failure("HTTP 500: index out of range"));
  EXPECT_EQ(verdict.kind, VerdictKind::kViolated);
  EXPECT_THAT(verdict.witness->observed, HasSubstr("HTTP 500"));
  const auto both = formed(greedy_request(), failure("HTTP 500"), failure("HTTP 500"));
  EXPECT_EQ(both.kind, VerdictKind::kInconclusive);
}

TEST(WellFormed, ConvictsAnEmptyOutputThatOnlyTheSpeculativeArmGives) {
  SamplingRequest request = greedy_request();
  request.ignores_end = false;
  const Completion none = tokens({}, CompletionEnd::kStop);
  EXPECT_EQ(formed(request, tokens({0, 1, 2, 3}), none).kind, VerdictKind::kViolated);
}

oracle::Verdict counted(Completion speculative, Completion baseline = tokens({0, 1, 2, 3})) {
  JudgedRun run(greedy_request());
  run.settings.speculative.draft_count = 2;
  run.add(Arm::kBaseline, std::move(baseline));
  run.add(Arm::kSpeculative, std::move(speculative));
  return run.judged("counter_identities");
}

TEST(CounterIdentities, UpholdsCountsThatARunCanHave) {
  Completion output = with_counters(tokens({0, 1, 2, 3}), 4, 2);
  output.steps = {{{1, 3}, 1, {}, {}}, {{3, 3}, 1, {}, {}}};
  const auto verdict = counted(output);
  EXPECT_EQ(verdict.kind, VerdictKind::kUpheld);
  EXPECT_THAT(verdict.evidence, HasSubstr("2 of 4 drafted tokens accepted"));
}

TEST(CounterIdentities, ConvictsCountsThatNoRunHas) {
  const Completion output = tokens({0, 1, 2, 3});
  EXPECT_EQ(counted(with_counters(output, 1, 2)).kind, VerdictKind::kViolated);
  EXPECT_EQ(counted(with_counters(output, 9, 6)).kind, VerdictKind::kViolated);
  EXPECT_EQ(counted(with_counters(output, 40, 1)).kind, VerdictKind::kViolated);
  Completion miscounted = with_counters(output, 2, 1);
  miscounted.counters->emitted = 5;
  EXPECT_EQ(counted(miscounted).kind, VerdictKind::kViolated);
}

TEST(CounterIdentities, AllowTheVerificationOfAnEndTokenThatIsNotTold) {
  const auto kind_of = [](CompletionEnd end) {
    return counted(with_counters(tokens({0}, end), 4, 2)).kind;
  };
  EXPECT_EQ(kind_of(CompletionEnd::kStop), VerdictKind::kUpheld);
  EXPECT_EQ(kind_of(CompletionEnd::kLength), VerdictKind::kViolated);
}

TEST(CounterIdentities, ConvictsABaselineThatDrafts) {
  const Completion output = with_counters(tokens({0, 1, 2, 3}), 2, 1);
  const auto verdict = counted(output, output);
  EXPECT_EQ(verdict.kind, VerdictKind::kViolated);
  EXPECT_THAT(verdict.witness->expected, HasSubstr("without speculation"));
}

TEST(CounterIdentities, ConvictsStepsThatDoNotAddUpOrDoNotStandInTheOutput) {
  Completion sums = with_counters(tokens({0, 1, 2, 3}), 4, 1);
  sums.steps = {{{1, 3}, 1, {}, {}}, {{3, 3}, 1, {}, {}}};
  EXPECT_EQ(counted(sums).kind, VerdictKind::kViolated);
  Completion elsewhere = with_counters(tokens({0, 1, 2, 3}), 4, 2);
  elsewhere.steps = {{{3, 3}, 1, {}, {}}, {{1, 3}, 1, {}, {}}};
  EXPECT_EQ(counted(elsewhere).kind, VerdictKind::kUpheld);  // its second step is behind the end
  elsewhere.steps = {{{2, 1}, 2, {}, {}}, {}};
  elsewhere.counters->drafted = 2;
  EXPECT_EQ(counted(elsewhere).kind, VerdictKind::kViolated);
  elsewhere.steps = {{{2}, 3, {}, {}}};
  EXPECT_EQ(counted(elsewhere).kind, VerdictKind::kViolated);
}

TEST(CounterIdentities, CallsAnArmThatNeverDraftsNotExercised) {
  const auto verdict = counted(with_counters(tokens({0, 1, 2, 3}), 0, 0));
  EXPECT_EQ(verdict.kind, VerdictKind::kInconclusive);
  EXPECT_EQ(verdict.label, Label::kNotExercised);
  EXPECT_EQ(counted(tokens({0, 1, 2, 3})).label, Label::kNone);
  EXPECT_EQ(counted(tokens({0, 1, 2, 3})).kind, VerdictKind::kInconclusive);
}

/// The rotated law behind prompt 0 and these tokens, as reported.
Completion reporting(std::vector<double> logprobs) {
  Completion completion = tokens({0, 1, 2, 0});
  completion.logprobs = std::move(logprobs);
  return completion;
}

oracle::Verdict reported(Completion speculative, LogprobKind kind = LogprobKind::kRaw,
                         SamplingRequest request = sampled_request()) {
  static const RotatedTarget target;
  request.logprob_count = 0;
  JudgedRun run(std::move(request));
  run.settings.target = &target;
  run.settings.baseline.logprobs = run.settings.speculative.logprobs = kind;
  run.add(Arm::kSpeculative, std::move(speculative));
  return run.judged("logprob_truth");
}

const double kHalf = std::log(0.5), kQuarter = std::log(0.25), kEighth = std::log(0.125);

TEST(LogprobTruth, UpholdsTheLogarithmsOfTheLaw) {
  const auto verdict = reported(reporting({kHalf, kQuarter, kQuarter, kEighth}));
  EXPECT_EQ(verdict.kind, VerdictKind::kUpheld);
  EXPECT_THAT(verdict.evidence, HasSubstr("4 of 4 logprobs"));
}

TEST(LogprobTruth, ConvictsANumberOfAnotherRow) {
  const auto verdict = reported(reporting({kHalf, kQuarter, kHalf, kEighth}));
  EXPECT_EQ(verdict.kind, VerdictKind::kViolated);
  EXPECT_THAT(verdict.witness->expected, HasSubstr("at token 3"));
}

TEST(LogprobTruth, ConvictsACandidateThatIsNotItsOwn) {
  Completion output = reporting({kHalf, kQuarter, kQuarter, kEighth});
  output.top_logprobs = {{{0, kHalf}, {1, kEighth}}};
  EXPECT_EQ(reported(output).kind, VerdictKind::kViolated);
}

TEST(LogprobTruth, NamesLogprobsThatAreLeftUnfilledBehindAVerification) {
  const auto verdict = reported(reporting({kHalf, 0, 0, kEighth}));
  EXPECT_EQ(verdict.kind, VerdictKind::kViolated);
  EXPECT_THAT(verdict.evidence, HasSubstr("2 reported as 0.0 without candidates"));
  EXPECT_THAT(verdict.notes.front(), HasSubstr("llama.cpp"));
}

TEST(LogprobTruth, KnowsRawFromProcessed) {
  SamplingRequest filtered = filtered_request();
  const double third = std::log(1.0 / 3), two_thirds = std::log(2.0 / 3);
  const Completion output = [&] {
    Completion completion = tokens({0, 1, 1, 2});
    completion.logprobs = {two_thirds, third, two_thirds, third};
    return completion;
  }();
  EXPECT_EQ(reported(output, LogprobKind::kProcessed, filtered).kind, VerdictKind::kUpheld);
  EXPECT_EQ(reported(output, LogprobKind::kRaw, filtered).kind, VerdictKind::kViolated);
}

TEST(LogprobTruth, ShowsNothingOfWhatIsNotReported) {
  EXPECT_EQ(reported(reporting({kHalf, kQuarter})).kind, VerdictKind::kInconclusive);
  const auto none = reported(reporting({}));
  EXPECT_EQ(none.kind, VerdictKind::kInconclusive);
  EXPECT_THAT(none.evidence, HasSubstr("none came"));
}

TEST(LogprobTruth, ConvictsANumberThatIsNone) {
  EXPECT_EQ(reported(reporting({kHalf, std::nan(""), kQuarter, kEighth})).kind,
            VerdictKind::kViolated);
}

oracle::Verdict spelled(const std::string& baseline, const std::string& speculative,
                        CompletionEnd end = CompletionEnd::kStop,
                        const std::string& grammar = "a+b") {
  SamplingRequest request = sampled_request();
  request.grammar = grammar;
  request.ignores_end = false;
  JudgedRun run(std::move(request));
  Completion one = tokens({0, 1}, CompletionEnd::kStop);
  one.text = baseline;
  run.add(Arm::kBaseline, one);
  one.text = speculative;
  one.end = end;
  run.add(Arm::kSpeculative, one);
  return run.judged("grammar_validity");
}

TEST(GrammarValidity, UpholdsWholeMatchesAndBeginnings) {
  EXPECT_EQ(spelled("ab", "aab").kind, VerdictKind::kUpheld);
  EXPECT_EQ(spelled("ab", "aaa", CompletionEnd::kLength).kind, VerdictKind::kUpheld);
}

TEST(GrammarValidity, ConvictsATextThatNoMaskedDecodingGives) {
  const auto verdict = spelled("ab", "aba");
  EXPECT_EQ(verdict.kind, VerdictKind::kViolated);
  EXPECT_THAT(verdict.witness->because, HasSubstr("byte 3 leads nowhere"));
  EXPECT_THAT(spelled("ab", "aa").witness->because, HasSubstr("not finished"));
}

TEST(GrammarValidity, BlamesNoDraftForAnExpressionThatTheBaselineBreaksToo) {
  const auto verdict = spelled("ba", "aba");
  EXPECT_EQ(verdict.kind, VerdictKind::kInconclusive);
  EXPECT_THAT(verdict.notes.front(), HasSubstr("the baseline breaks the expression as well"));
}

TEST(GrammarValidity, IsInconclusiveWithoutTextsOrAnExpressionItCanRead) {
  EXPECT_THAT(spelled("", "").evidence, HasSubstr("without their text"));
  const auto verdict = spelled("ab", "ab", CompletionEnd::kStop, "(a");
  EXPECT_EQ(verdict.kind, VerdictKind::kInconclusive);
  EXPECT_THAT(verdict.evidence, HasSubstr("pattern"));
}

}  // namespace
}  // namespace draftproof::properties::audits
