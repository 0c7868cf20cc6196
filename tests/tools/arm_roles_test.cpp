// Servers in the wrong roles. Goal: by their own words they are named, what has no ground is open,
// and nobody is convicted of counting the drafts that it makes; a right pair is left alone.
#include "tools/audit/arm_roles.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace draftproof::tools::audit {
namespace {

using oracle::Label;
using oracle::VerdictKind;
using properties::Arm;
using properties::audits::Evidence;
using testing::HasSubstr;

constexpr const char* kSaysItDrafts = R"({"engine":"e","is_speculative":true})";
constexpr const char* kSaysItDoesNot = R"({"engine":"e","is_speculative":false})";

RunRecord record_of_roles(const std::string& baseline, const std::string& speculative) {
  RunRecord record;
  properties::SamplingRequest request;
  request.prompt = {1};
  record.matrix.settings = {{"s", request, 1}};
  record.matrix.cases = {{"s/p", 0, "p", request, {}, "", 1}};
  record.baseline = baseline;
  record.speculative = speculative;
  record.judge.speculative.reports_counters = record.judge.baseline.reports_counters = true;
  return record;
}

/// An answer of two tokens; -1: without counters.
properties::Transcript answer_of(Arm arm, std::int64_t drafted, std::int64_t accepted = 0) {
  properties::Transcript answer;
  answer.key = {.arm = arm, .case_id = "s/p"};
  answer.request.prompt = {1};
  answer.completion.token_ids = {2, 3};
  if (drafted >= 0) answer.completion.counters = {drafted, accepted, 2};
  return answer;
}

Evidence answers_of(std::int64_t baseline, std::int64_t speculative, std::int64_t accepted = 0) {
  Evidence evidence;
  evidence.add(answer_of(Arm::kBaseline, baseline));
  evidence.add(answer_of(Arm::kSpeculative, speculative, accepted));
  return evidence;
}

std::vector<report::CheckResult> checks_of_roles(VerdictKind counters = VerdictKind::kUpheld) {
  std::vector<report::CheckResult> checks;
  for (const char* audit : {"well_formed", "next_token_law", "two_sample_law"}) {
    report::CheckResult check;
    check.verdict.property = audit;
    check.verdict.setting = "s";
    check.verdict.kind = VerdictKind::kUpheld;
    checks.push_back(check);
  }
  checks.push_back(checks.back());
  checks.back().verdict.property = "counter_identities";
  checks.back().verdict.kind = counters;
  return checks;
}

std::vector<report::CheckResult> held(const RunRecord& record, const Evidence& evidence,
                                      std::vector<report::CheckResult> checks) {
  hold_open(role_faults(record, evidence), record.matrix, evidence, record.judge, checks);
  return checks;
}

TEST(ArmRoles, AreNamedByWordsThatNoCounterContradicts) {
  const auto faults = [](const char* baseline, const char* speculative, const Evidence& evidence) {
    return role_faults(record_of_roles(baseline, speculative), evidence);
  };
  auto swapped = faults(kSaysItDrafts, kSaysItDoesNot, answers_of(-1, -1));
  EXPECT_THAT(swapped.baseline, HasSubstr("the baseline arm makes drafts"));
  EXPECT_THAT(swapped.speculative, HasSubstr("the speculative arm makes no drafts"));
  swapped = faults(kSaysItDrafts, kSaysItDoesNot, answers_of(3, 0));
  EXPECT_FALSE(swapped.baseline.empty() || swapped.speculative.empty());
  // Drafts that are off by request, and kinds of drafts that a server does not tell.
  auto right = faults(kSaysItDrafts, kSaysItDoesNot, answers_of(0, 3));
  EXPECT_TRUE(right.baseline.empty() && right.speculative.empty());
  for (const char* word : {kSaysItDoesNot, "null", "", "{}"}) {
    right = faults(word, kSaysItDrafts, answers_of(-1, -1));
    EXPECT_TRUE(right.baseline.empty() && right.speculative.empty()) << word;
  }
  right = faults("", "", answers_of(-1, -1));
  EXPECT_TRUE(right.baseline.empty() && right.speculative.empty());
}

TEST(ArmRoles, WithoutDraftsNothingOfThemIsUpheld) {
  const RunRecord record = record_of_roles(kSaysItDoesNot, kSaysItDoesNot);
  const auto checks = held(record, answers_of(-1, -1), checks_of_roles());
  EXPECT_EQ(checks[0].verdict.kind, VerdictKind::kUpheld);
  for (std::size_t i = 1; i < checks.size(); ++i) {
    EXPECT_EQ(checks[i].verdict.kind, VerdictKind::kInconclusive) << i;
    EXPECT_EQ(checks[i].verdict.label, Label::kNotExercised) << i;
  }
  const RunRecord right = record_of_roles(kSaysItDoesNot, kSaysItDrafts);
  for (const auto& check : held(right, answers_of(-1, -1), checks_of_roles()))
    EXPECT_EQ(check.verdict.kind, VerdictKind::kUpheld) << check.verdict.property;
}

TEST(ArmRoles, ABaselineThatDraftsIsNoGroundToCompareWith) {
  const RunRecord record = record_of_roles(kSaysItDrafts, kSaysItDrafts);
  const auto checks = held(record, answers_of(-1, -1), checks_of_roles());
  EXPECT_EQ(checks[1].verdict.kind, VerdictKind::kUpheld);
  EXPECT_EQ(checks[2].verdict.kind, VerdictKind::kInconclusive);
  EXPECT_THAT(checks[2].verdict.evidence, HasSubstr("the baseline arm makes drafts"));
  // Distances and scores of a declared mode are of both arms as well.
  for (const char* audit : {"declared_distance", "task_score_drop"}) {
    auto declared = checks_of_roles();
    declared[1].verdict.property = audit;
    EXPECT_EQ(held(record, answers_of(-1, -1), declared)[1].verdict.kind,
              VerdictKind::kInconclusive)
        << audit;
  }
}

TEST(ArmRoles, CountingTheDraftsThatAreMadeIsNoLie) {
  const RunRecord record = record_of_roles(kSaysItDrafts, kSaysItDrafts);
  const auto convicted = checks_of_roles(VerdictKind::kViolated);
  EXPECT_EQ(held(record, answers_of(3, 3, 1), convicted).back().verdict.kind,
            VerdictKind::kInconclusive);
  // More accepted than drafted, in the arm that is to draft.
  EXPECT_EQ(held(record, answers_of(3, 1, 2), convicted).back().verdict.kind,
            VerdictKind::kViolated);
  const RunRecord liar = record_of_roles(kSaysItDoesNot, kSaysItDrafts);
  EXPECT_EQ(held(liar, answers_of(3, 3, 1), convicted).back().verdict.kind, VerdictKind::kViolated);
}

}  // namespace
}  // namespace draftproof::tools::audit
