// From records to verdicts, without a device: each verdict must be able to say all three things.
#include "tools/draftproof/commands/card_evidence.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

namespace draftproof::tools {
namespace {

using oracle::Verdict;
using oracle::VerdictKind;
using testing::HasSubstr;

gpu::KernelCard card(bool allows_same_value_races) {
  gpu::KernelCard card;
  card.name = "some.kernel";
  card.allows_same_value_races = allows_same_value_races;
  return card;
}

/// One request, two tokens, all mass on token 1: the bonus token is 1.
CardCase case_of(std::size_t vocab_size) {
  CardCase made;
  made.spec = {CardLaw::kOneHotTarget, CardCoins::kAny, 1, 0, vocab_size, 7};
  made.target_rows.assign(vocab_size, 0.0f);
  made.target_rows[1] = 1.0f;
  return made;
}

gpu::CardRun run_with(const std::string& check, reference::Severity severity) {
  gpu::CardRun run;
  reference::Observation observation;
  observation.check = check;
  observation.message = "what happened";
  observation.place.kernel = "entry";
  observation.place.ptx_line = 12;
  observation.severity = severity;
  run.report.observations.push_back(observation);
  return run;
}

const Verdict& of(const std::vector<Verdict>& verdicts, const std::string& property) {
  const auto found = std::find_if(verdicts.begin(), verdicts.end(),
                                  [&](const Verdict& each) { return each.property == property; });
  EXPECT_NE(found, verdicts.end()) << property;
  return *found;
}

class CardEvidenceTest : public testing::Test {
 protected:
  VerdictKind kind(const std::string& property, bool is_complete = true, bool observes = true) {
    return of(evidence_.verdicts(is_complete, observes, 1), property).kind;
  }
  void judge(reference::Token token, std::int64_t accept_count = 0) {
    evidence_.judge(case_of(2), {}, {{{token}, accept_count, 0}});
  }

  gpu::KernelCard card_ = card(true);
  CardEvidence evidence_{card_, "draftproof check --kernel a.toml --seed 1"};
};

TEST_F(CardEvidenceTest, RightAnswersAreUpheldOnlyWhenTheRunIsComplete) {
  judge(1);
  evidence_.observe(case_of(2), {});
  for (const Verdict& verdict : evidence_.verdicts(true, true, 1)) {
    EXPECT_EQ(verdict.kind, VerdictKind::kUpheld) << verdict.property;
    EXPECT_FALSE(verdict.smallest_visible_effect.empty()) << verdict.property;
    EXPECT_FALSE(verdict.witness.has_value());
    EXPECT_EQ(verdict.subject, "some.kernel");
  }
  for (const Verdict& verdict : evidence_.verdicts(false, true, 1))
    EXPECT_EQ(verdict.kind, VerdictKind::kInconclusive) << verdict.property;
  for (const char* property : {"memory_safe", "race_free", "schedule_does_not_matter"})
    EXPECT_EQ(kind(property, true, false), VerdictKind::kInconclusive)
        << property << " on a device that observes nothing";
}

TEST_F(CardEvidenceTest, AWrongTokenRefutesAndTheLeastCaseIsTheWitness) {
  evidence_.judge(case_of(9), {}, {{{0}, 0, 0}});
  judge(0);
  evidence_.judge(case_of(5), {}, {{{0}, 0, 0}});
  EXPECT_EQ(kind("decisions_equal_the_replay", false), VerdictKind::kViolated);
  const auto verdicts = evidence_.verdicts(true, true, 1);
  const Verdict& support = of(verdicts, "no_token_outside_the_support");
  EXPECT_EQ(support.kind, VerdictKind::kViolated);
  ASSERT_TRUE(support.witness.has_value());
  EXPECT_THAT(support.witness->let, HasSubstr("vocabulary 2"));
  EXPECT_THAT(support.witness->replay, HasSubstr("draftproof check"));
}

TEST_F(CardEvidenceTest, WhatRestsOnTheReplayIsNotUpheldOfRequestsThatLeaveIt) {
  judge(1);
  judge(0);
  const auto verdicts = evidence_.verdicts(true, true, 1);
  for (const char* property : {"counters_are_truthful", "every_request_emits_a_token",
                               "target_at_least_draft_is_accepted"}) {
    const Verdict& verdict = of(verdicts, property);
    EXPECT_EQ(verdict.kind, VerdictKind::kInconclusive) << property;
    EXPECT_EQ(verdict.trials, 1u) << property;
    EXPECT_THAT(verdict.notes, testing::Contains(HasSubstr("1 of 2 requests"))) << property;
  }
}

TEST_F(CardEvidenceTest, ACounterThatIsOffRefutes) {
  judge(1, 1);
  EXPECT_EQ(kind("counters_are_truthful"), VerdictKind::kViolated);
  EXPECT_EQ(kind("decisions_equal_the_replay"), VerdictKind::kUpheld);
}

TEST_F(CardEvidenceTest, SchedulesAndInputsAreComparedBitForBit) {
  judge(1);
  evidence_.compare(case_of(2), {{{1}, 0, 0}}, {{{1}, 0, 0}}, "last-warp-first");
  EXPECT_EQ(kind("schedule_does_not_matter"), VerdictKind::kUpheld);
  evidence_.compare(case_of(2), {{{1}, 0, 0}}, {{{1}, 0, 1}}, "last-warp-first");
  EXPECT_EQ(kind("schedule_does_not_matter"), VerdictKind::kViolated);
  gpu::CardRun run;
  run.changed_inputs = {"draft_ids"};
  evidence_.observe(case_of(2), run);
  EXPECT_EQ(kind("inputs_unchanged"), VerdictKind::kViolated);
}

TEST_F(CardEvidenceTest, ObservationsRefuteTheClaimTheyBelongTo) {
  evidence_.observe(case_of(2), run_with("bounds", reference::Severity::kUnsafe));
  EXPECT_EQ(kind("memory_safe", false), VerdictKind::kViolated);
  EXPECT_EQ(kind("race_free"), VerdictKind::kUpheld);
  evidence_.observe(case_of(2), run_with("race", reference::Severity::kUnsafe));
  EXPECT_EQ(kind("race_free"), VerdictKind::kViolated);
}

TEST_F(CardEvidenceTest, SameValueRacesAreTheCardsToAllow) {
  evidence_.observe(case_of(2), run_with("same-value-race", reference::Severity::kNote));
  EXPECT_EQ(kind("race_free"), VerdictKind::kUpheld);
  const gpu::KernelCard strict = card(false);
  CardEvidence evidence(strict, "");
  evidence.observe(case_of(2), run_with("same-value-race", reference::Severity::kNote));
  EXPECT_EQ(of(evidence.verdicts(true, true, 1), "race_free").kind, VerdictKind::kViolated);
}

}  // namespace
}  // namespace draftproof::tools
