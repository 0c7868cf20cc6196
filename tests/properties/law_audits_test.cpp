// Audits of laws over transcripts of a toy speculator: each upholds the right one, with the size of
// what it would have seen, and convicts the fault that it is made for.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <memory>

#include "properties/audits/words.h"
#include "toy_speculator.h"

namespace draftproof::properties::audits {
namespace {

using oracle::Label;
using oracle::Verdict;
using oracle::VerdictKind;
using ::testing::HasSubstr;

void expect_lossy(const Verdict& verdict) {
  ASSERT_EQ(verdict.kind, VerdictKind::kViolated) << verdict.property << ": " << verdict.evidence;
  EXPECT_EQ(verdict.label, Label::kLossy);
  ASSERT_TRUE(verdict.witness);
  EXPECT_FALSE(verdict.witness->let.empty());
  EXPECT_FALSE(verdict.witness->expected.empty());
  EXPECT_FALSE(verdict.witness->observed.empty());
  EXPECT_FALSE(verdict.witness->because.empty());
  EXPECT_THAT(verdict.witness->replay, HasSubstr("replay t1/"));
  EXPECT_GE(verdict.log_e_value, verdict.log_alarm);
}

TEST(LawAudits, UpholdARightEngineAndSayWhatTheyWouldHaveSeen) {
  ToyAudit audit;
  audit.run(2048);
  std::size_t laws = 0;
  for (const Verdict& verdict : audit.verdicts()) {
    if (verdict.property == "seed_repeats") continue;  // nothing was asked twice
    if (verdict.label == Label::kNotExercised) {
      EXPECT_EQ(verdict.property,
                "support_of_filters");  // no filter, and no token that cannot come
      continue;
    }
    EXPECT_EQ(verdict.kind, VerdictKind::kUpheld) << verdict.property << ": " << verdict.evidence;
    EXPECT_EQ(verdict.setting, "t1");
    if (!verdict.log_e_value) continue;
    ++laws;
    EXPECT_LT(verdict.log_e_value, verdict.log_alarm) << verdict.property;
    EXPECT_THAT(verdict.smallest_visible_effect, HasSubstr("TV 0.")) << verdict.property;
    if (!verdict.effect) continue;
    EXPECT_EQ(verdict.effect->total_variation_bounds.low, 0) << verdict.property;
    EXPECT_LT(verdict.effect->total_variation_bounds.high, 0.5) << verdict.property;
  }
  EXPECT_GE(laws, 5u);
}

/// What would have seen nothing but ruin upholds nothing, unless that is what was asked for.
TEST(LawAudits, AreOpenWhereTheyWouldHaveSeenTooLittle) {
  ToyAudit audit;
  audit.matrix.first_look = 20;
  audit.run(20);
  for (const char* id : {"next_token_law", "joint_law", "two_sample_law"}) {
    const Verdict verdict = audit.verdict(id);
    EXPECT_EQ(verdict.kind, VerdictKind::kInconclusive) << id << ": " << verdict.evidence;
    EXPECT_THAT(verdict.evidence, HasSubstr("too few to see less than TV 0.")) << id;
    EXPECT_EQ(verdict.smallest_visible_effect, "") << id;
  }
  audit.settings.effect_tv = 0.99;
  for (const char* id : {"next_token_law", "joint_law", "two_sample_law"})
    EXPECT_EQ(audit.verdict(id).kind, VerdictKind::kUpheld) << id;
}

TEST(LawAudits, NameTheTokenThatAnEngineWhichKeepsEveryDraftEmitsTooOften) {
  ToyAudit audit(Fault::kAcceptsAll);
  audit.run(2048);
  const Verdict next = audit.verdict("next_token_law");
  expect_lossy(next);
  EXPECT_EQ(next.claim, oracle::Claim::kMarginalLossless);
  EXPECT_THAT(next.witness->observed, HasSubstr("%"));
  ASSERT_TRUE(next.effect && next.effect->divergence);
  EXPECT_GT(next.effect->total_variation_bounds.low, 0);
  EXPECT_GT(*next.effect->divergence, 0);
  EXPECT_THAT(next.notes, ::testing::Contains(HasSubstr("a description")));
  const Verdict joint = audit.verdict("joint_law");
  expect_lossy(joint);
  EXPECT_EQ(joint.claim, oracle::Claim::kSequenceLossless);
  EXPECT_GT(joint.effect->total_variation_bounds.low, 0);
  const Verdict arms = audit.verdict("two_sample_law");
  expect_lossy(arms);
  EXPECT_THAT(arms.effect->of, HasSubstr("token 2"));
  EXPECT_THAT(arms.witness->expected, HasSubstr("without drafts"));
}

TEST(LawAudits, ReplayTheCaseThatTheirWitnessIsOf) {
  ToyAudit audit(Fault::kAcceptsAll);
  audit.run(2048);
  for (const char* name : {"next_token_law", "joint_law", "two_sample_law"}) {
    const Verdict verdict = audit.verdict(name);
    expect_lossy(verdict);
    for (const AuditCase& each : audit.matrix.cases) {
      const bool is_shown = verdict.witness->replay == "replay " + each.id;
      EXPECT_EQ(is_shown, verdict.witness->let == words_of(each.request)) << name << " " << each.id;
    }
  }
}

class LawFault : public ::testing::TestWithParam<Fault> {};

TEST_P(LawFault, IsConvictedByEveryLawThatIsKnown) {
  ToyAudit audit(GetParam());
  audit.run(8192);
  expect_lossy(audit.verdict("next_token_law"));
  expect_lossy(audit.verdict("joint_law"));
  EXPECT_EQ(audit.verdict("baseline_law").kind, VerdictKind::kUpheld);
}

INSTANTIATE_TEST_SUITE_P(Faults, LawFault,
                         ::testing::Values(Fault::kRecoversFromTarget, Fault::kReadsStaleRows));

TEST(LawAudits, NeedOneTokenOutsideTheSupportAndNoMore) {
  ToyAudit audit(Fault::kEmitsOutside, 1, 8, 2);
  audit.run(32);
  const Verdict verdict = audit.verdict("next_token_law");
  expect_lossy(verdict);
  EXPECT_TRUE(std::isinf(*verdict.log_e_value));
  EXPECT_THAT(verdict.witness->because, HasSubstr("one is enough"));
  EXPECT_THAT(verdict.witness->observed, HasSubstr("probability exactly 0"));
  EXPECT_TRUE(std::isinf(*verdict.effect->divergence));
}

TEST(LawAudits, SayNotExercisedOfAnEngineThatNeverDrafts) {
  ToyAudit audit(Fault::kNeverDrafts);
  audit.run(512);
  for (const char* name : {"next_token_law", "joint_law", "two_sample_law", "draft_efficiency"}) {
    const Verdict verdict = audit.verdict(name);
    EXPECT_EQ(verdict.kind, VerdictKind::kInconclusive) << name;
    EXPECT_EQ(verdict.label, Label::kNotExercised) << name;
  }
  EXPECT_EQ(audit.verdict("baseline_law").kind, VerdictKind::kUpheld);
}

TEST(LawAudits, TakeNoGroundFromALawThatIsNotTheBaselinesEither) {
  ToyAudit audit;
  audit.run(2048);
  const TableLaw another(8, 99);
  audit.settings.target = &another;
  for (const Verdict& verdict : audit.verdicts()) {
    if (verdict.property == "baseline_law") {
      EXPECT_EQ(verdict.kind, VerdictKind::kInconclusive);
      EXPECT_GE(verdict.log_e_value, verdict.log_alarm);
      EXPECT_THAT(verdict.notes, ::testing::Contains(HasSubstr("is the contract")));
    } else if (verdict.property == "next_token_law" || verdict.property == "joint_law") {
      EXPECT_EQ(verdict.kind, VerdictKind::kInconclusive) << verdict.property;
      EXPECT_FALSE(verdict.witness);
      EXPECT_THAT(verdict.evidence, HasSubstr("baseline_law fails without any draft"));
    } else if (verdict.property == "two_sample_law") {
      EXPECT_EQ(verdict.kind, VerdictKind::kUpheld) << verdict.evidence;
    }
  }
}

TEST(LawAudits, TakeNoGroundFromALawWhoseFilterKeepsOtherTokens) {
  ToyAudit audit(Fault::kNone, 1, 5, 3);
  audit.run(64);
  const TableLaw another(8, 99);
  audit.settings.target = &another;
  for (const Verdict& verdict : audit.verdicts())
    EXPECT_NE(verdict.kind, VerdictKind::kViolated) << verdict.property << verdict.evidence;
  EXPECT_THAT(audit.verdict("support_of_filters").evidence, HasSubstr("the law is off as well"))
      << "held against the baseline, also where its control was not asked for";
}

TEST(LawAudits, CompareNoArmsWhereTheBaselineDiffersFromItself) {
  ToyAudit audit;
  for (const AuditCase& each : audit.matrix.cases)
    for (const Arm arm : {Arm::kBaseline, Arm::kSpeculative})
      for (std::uint64_t trial = 0; trial < 1024; ++trial) {
        Transcript made = audit.transcript(each, arm, trial);
        if (arm == Arm::kBaseline && trial % 2 == 1) made.completion.token_ids[2] = 0;
        audit.evidence.add(made);
      }
  const auto verdicts = audit.verdicts();
  for (const Verdict& verdict : verdicts) {
    if (verdict.property == "baseline_against_itself") {
      EXPECT_GE(verdict.log_e_value, verdict.log_alarm);
    } else if (verdict.property != "two_sample_law") {
      continue;
    }
    EXPECT_EQ(verdict.kind, VerdictKind::kInconclusive) << verdict.property;
    EXPECT_NE(verdict.evidence.find("itself"), std::string::npos) << verdict.evidence;
  }
}

TEST(LawAudits, KeepAnAlarmThatLaterTrialsWouldTakeBack) {
  ToyAudit audit;
  const ToyAudit wrong(Fault::kAcceptsAll);
  for (const AuditCase& each : audit.matrix.cases)
    for (std::uint64_t trial = 0; trial < 4096; ++trial)
      audit.evidence.add(trial < 512 ? wrong.transcript(each, Arm::kSpeculative, trial)
                                     : audit.transcript(each, Arm::kSpeculative, trial));
  expect_lossy(audit.verdict("joint_law"));
  expect_lossy(audit.verdict("next_token_law"));
}

TEST(LawAudits, UpholdNothingWhereManyRequestsHadNoAnswer) {
  for (const std::uint64_t one_in : {8U, 400U}) {
    ToyAudit audit;
    for (const AuditCase& each : audit.matrix.cases)
      for (const Arm arm : {Arm::kBaseline, Arm::kSpeculative})
        for (std::uint64_t trial = 0; trial < 1200; ++trial) {
          Transcript made = audit.transcript(each, arm, trial);
          if (arm == Arm::kSpeculative && trial % one_in == 0) {
            made.completion = {};
            made.completion.end = CompletionEnd::kFailed;
            made.completion.failure = "HTTP 500";
          }
          audit.evidence.add(std::move(made));
        }
    for (const char* name : {"next_token_law", "joint_law", "two_sample_law"}) {
      const Verdict verdict = audit.verdict(name);
      EXPECT_EQ(verdict.kind == VerdictKind::kUpheld, one_in == 400) << verdict.evidence;
      EXPECT_NE(verdict.kind, VerdictKind::kViolated);
      EXPECT_FALSE(verdict.notes.empty());
    }
  }
}

TEST(LawAudits, TellNoLawFromAnswersThatHideTheirEnd) {
  ToyAudit audit;
  audit.run(64);
  Transcript ended = audit.transcript(audit.matrix.cases[0], Arm::kSpeculative, 64);
  ended.completion.token_ids.resize(3);
  ended.completion.end = CompletionEnd::kStop;
  audit.evidence.add(ended);
  const Verdict verdict = audit.verdict("next_token_law");
  EXPECT_EQ(verdict.kind, VerdictKind::kInconclusive);
  EXPECT_THAT(verdict.evidence, HasSubstr("t1/2, trial 64"));
}

/// Answers stop at token 0, which came with them.
TEST(LawAudits, JudgeAnswersThatEndAtATokenThatCame) {
  const auto run = [](Fault fault) {
    auto audit = std::make_unique<ToyAudit>(fault);
    for (AuditCase& each : audit->matrix.cases) each.request.stop_token_ids = {0};
    for (const AuditCase& each : audit->matrix.cases)
      for (std::uint64_t trial = 0; trial < 4096; ++trial) {
        Transcript made = audit->transcript(each, Arm::kSpeculative, trial);
        auto& tokens = made.completion.token_ids;
        const auto stop = std::find(tokens.begin(), tokens.end(), 0);
        if (stop != tokens.end()) {
          tokens.erase(stop + 1, tokens.end());
          made.completion.end = CompletionEnd::kStop;
        }
        audit->evidence.add(std::move(made));
      }
    return audit;
  };
  const auto right = run(Fault::kNone);
  const auto wrong = run(Fault::kAcceptsAll);
  for (const char* name : {"next_token_law", "joint_law"}) {
    EXPECT_EQ(right->verdict(name).kind, VerdictKind::kUpheld) << right->verdict(name).evidence;
    expect_lossy(wrong->verdict(name));
  }
}

/// A vocabulary of which words are too many: places are counted together.
TEST(JointLaw, CountsPlacesWhereWordsAreTooMany) {
  for (const Fault fault : {Fault::kNone, Fault::kAcceptsAll}) {
    ToyAudit audit(fault);
    const TableLaw target(80, 3), draft(80, 4, &target, 0.4);
    const Speculator engine{target, draft, fault};
    for (const AuditCase& each : audit.matrix.cases)
      for (std::uint64_t trial = 0; trial < 4096; ++trial) {
        Transcript made = audit.transcript(each, Arm::kSpeculative, trial);
        made.completion = engine.answer(made.request, Arm::kSpeculative);
        audit.evidence.add(std::move(made));
      }
    audit.settings.target = &target;
    audit.settings.draft = &draft;
    const Verdict verdict = audit.verdict("joint_law");
    EXPECT_THAT(verdict.effect->of, HasSubstr("places of tokens 2 and 3"));
    if (fault == Fault::kNone) {
      EXPECT_EQ(verdict.kind, VerdictKind::kUpheld) << verdict.evidence;
    } else {
      expect_lossy(verdict);
    }
  }
}

/// Filters that leave one token leave one word: whatever else comes is a proof.
TEST(JointLaw, JudgesWhatFiltersLeaveASingleWord) {
  for (const Fault fault : {Fault::kNone, Fault::kEmitsOutside}) {
    ToyAudit audit(fault, 1, 5, 1);
    audit.run(512);
    const Verdict verdict = audit.verdict("joint_law");
    if (fault == Fault::kNone) {
      EXPECT_EQ(verdict.kind, VerdictKind::kUpheld) << verdict.evidence;
    } else {
      expect_lossy(verdict);
    }
  }
}

TEST(DraftEfficiency, CallsDraftsThatAreNotTheDraftsInefficientAndNotLossy) {
  ToyAudit right, slow(Fault::kForgetsDrafts);
  right.run(1024);
  slow.run(1024);
  for (ToyAudit* audit : {&right, &slow}) audit->settings.draft_rule = DraftRule::kRatio;
  EXPECT_EQ(right.verdict("draft_efficiency").label, Label::kNone);
  const Verdict verdict = slow.verdict("draft_efficiency");
  EXPECT_EQ(verdict.kind, VerdictKind::kUpheld);
  EXPECT_EQ(verdict.label, Label::kInefficient) << verdict.evidence;
  EXPECT_EQ(slow.verdict("next_token_law").kind, VerdictKind::kUpheld);
}

TEST(DraftEfficiency, SaysWhenNoCountCouldHaveBeenTooSmall) {
  ToyAudit audit(Fault::kForgetsDrafts);
  audit.run(32);
  const Verdict verdict = audit.verdict("draft_efficiency");
  EXPECT_EQ(verdict.kind, VerdictKind::kInconclusive);
  EXPECT_THAT(verdict.evidence, testing::HasSubstr("too few answers"));
}

TEST(DraftEfficiency, HoldsTheEngineToTheLeastRuleWhereNobodyNamesIt) {
  ToyAudit audit;
  for (const AuditCase& each : audit.matrix.cases)
    for (std::uint64_t trial = 0; trial < 8192; ++trial) {
      Transcript made = audit.transcript(each, Arm::kSpeculative, trial);
      if (trial % 64 != 0) made.completion.counters->accepted = 0;
      audit.evidence.add(std::move(made));
    }
  EXPECT_EQ(audit.verdict("draft_efficiency").label, Label::kInefficient);
}

/// What the ratio rule accepts is what the formula says, within five standard deviations.
TEST(DraftEfficiency, ForetellsWhatTheRatioRuleAccepts) {
  ToyAudit audit;
  audit.run(4096);
  const Verdict verdict = audit.verdict("draft_efficiency");
  double accepted = 0;
  for (const AuditCase& each : audit.matrix.cases)
    for (const auto& [trial, transcript] : audit.evidence.of(each.id, Arm::kSpeculative))
      accepted += static_cast<double>(transcript.completion.counters->accepted);
  ASSERT_FALSE(verdict.notes.empty());
  const std::string& note = verdict.notes.front();
  const double due = std::stod(note.substr(note.find(": ") + 2));
  EXPECT_NEAR(accepted, due, 5 * std::sqrt(accepted) + 0.005 * due) << note;
}

}  // namespace
}  // namespace draftproof::properties::audits
