// The detector on exact expected lengths: it calls rules lossy that accept too much, and never one
// that is lossless.
#include <gtest/gtest.h>

#include "oracle/expected_length.h"
#include "reference/law/optimum.h"
#include "tests/reference/lossy_rules.h"
#include "tests/reference/tree_cases.h"

namespace draftproof::oracle {
namespace {

namespace law = reference::law;
using law::Family;
using law::SiblingDraw;
using reference::Exact;

LengthExpectation expectation(const law::ModelCase& tiny, const std::string& rule,
                              const Exact& length) {
  const law::LosslessOptimum optimum = law::lossless_optimum(tiny);
  return {optimum.emitted, optimum.statement, rule, length, tiny.draft_count() + 1};
}

Verdict verdict_on(const law::ModelCase& tiny, const law::RuleFunction& rule) {
  const Exact length = law::law_rule("chain").expected_emitted(tiny, {});
  return emits_no_more_than_lossless(law::measured(tiny, rule).emitted,
                                     expectation(tiny, "chain", length));
}

std::vector<law::ModelCase> chains() {
  std::vector<law::ModelCase> cases;
  for (Family family : law::kFamilies)
    for (int draft_count : {0, 1, 2, 3})
      for (std::uint64_t seed = 1; seed <= 3; ++seed)
        cases.push_back(law::family_case(family, 3, draft_count, seed));
  return cases;
}

TEST(EmitsNoMoreThanLossless, NeverFlagsALosslessRule) {
  int upheld = 0;
  for (const law::LawRule& rule : law::law_rules()) {
    if (rule.kind != law::RuleKind::kLossless || rule.decoded != law::DecodedLaw::kSampling ||
        !rule.expected_emitted)
      continue;
    for (const law::ModelCase& tiny :
         rule.shape == law::TakenShape::kChain ? chains() : law::cases_for(rule)) {
      const Exact length = rule.expected_emitted(tiny, law::checked(rule, {}));
      const Verdict verdict =
          emits_no_more_than_lossless(length, expectation(tiny, rule.name, length));
      EXPECT_NE(verdict.kind, VerdictKind::kViolated) << rule.name << law::described(tiny);
      upheld += verdict.kind == VerdictKind::kUpheld ? 1 : 0;
    }
  }
  EXPECT_GT(upheld, 500);
}

TEST(EmitsNoMoreThanLossless, CallsAlwaysAcceptingLossyUnlessTheDraftIsTheTarget) {
  const auto always = law::chain_with(law::always, law::whole_target);
  for (Family family : law::kFamilies) {
    const Verdict verdict = verdict_on(law::family_case(family, 3, 2, 5), always);
    if (family == Family::kEqualRows) {
      EXPECT_EQ(verdict.kind, VerdictKind::kInconclusive);
      EXPECT_EQ(verdict.notes.at(0).substr(0, 13), "not exercised");
      continue;
    }
    EXPECT_EQ(verdict.kind, VerdictKind::kViolated);
    EXPECT_EQ(verdict.claim, Claim::kSequenceLossless);
    EXPECT_EQ(verdict.notes, std::vector<std::string>{"lossy"});
    ASSERT_TRUE(verdict.witness.has_value());
    EXPECT_NE(verdict.witness->because.find("block verification"), std::string::npos);
  }
}

TEST(EmitsNoMoreThanLossless, CallsTypicalAcceptanceLossyOnTreesAndChains) {
  const law::RuleFunction typical =
      law::law_rule("medusa-typical").make(law::checked(law::law_rule("medusa-typical"), {}));
  int caught = 0;
  for (const auto& shape : {std::vector<int>{1}, {2}, {1, 1}, {2, 1}, {1, 2}})
    for (std::uint64_t seed = 1; seed <= 4; ++seed)
      caught +=
          verdict_on(law::tree_case(Family::kFullMemory, 3, shape, SiblingDraw::kLargest, seed),
                     typical)
                      .kind == VerdictKind::kViolated
              ? 1
              : 0;
  EXPECT_GT(caught, 15) << "of 20: below, the children of one node are the whole vocabulary";
}

/// In how many of some chains a rule of the list is called lossy.
int times_caught(const std::string& name) {
  const law::LawRule& rule = law::law_rule(name);
  int caught = 0;
  for (const law::ModelCase& tiny : chains())
    caught += verdict_on(tiny, rule.make(law::checked(rule, {}))).kind == VerdictKind::kViolated;
  return caught;
}

TEST(EmitsNoMoreThanLossless, CatchesTheLossyRulesThatKeepMore) {
  for (const char* name : {"always-accept", "typical", "synthetic", "entropy-relaxed"})
    EXPECT_GT(times_caught(name), 0) << name;
  // draft 1[target >= draft] is at most min(target, draft), token by token.
  EXPECT_EQ(times_caught("at-least-draft"), 0);
}

// A threshold raises what a child is kept with above its probability: more than is lossless where
// the child was known beforehand, less than the ratio would keep of a child that was drawn.
TEST(EmitsNoMoreThanLossless, CatchesThresholdsOnTreesKnownBeforehandOnly) {
  const law::LawRule& rule = law::law_rule("thresholds");
  const law::RuleFunction function = rule.make(law::checked(rule, {}));
  for (std::uint64_t seed = 1; seed <= 4; ++seed)
    EXPECT_EQ(verdict_on(law::tree_case(Family::kFullMemory, 3, {2}, SiblingDraw::kLargest, seed),
                         function)
                  .kind,
              VerdictKind::kViolated);
  EXPECT_EQ(times_caught("thresholds"), 0);
}

// "Accept if the target's probability is at least the draft's" is lossy, but keeps too little to be
// seen by counting; the law has to say it.
TEST(EmitsNoMoreThanLossless, DoesNotSeeALossyRuleThatKeepsLess) {
  const auto at_least = law::chain_with(law::only_if_at_least, law::whole_target);
  const law::ModelCase tiny = law::family_case(Family::kFullMemory, 3, 2, 5);
  EXPECT_GT(law::measured(tiny, at_least).distance, 0);
  const Verdict verdict = verdict_on(tiny, at_least);
  EXPECT_EQ(verdict.kind, VerdictKind::kUpheld);
  EXPECT_NE(verdict.assumption.find("nothing of the law"), std::string::npos);
}

TEST(EmitsAsItsRule, HoldsBothSides) {
  const law::ModelCase tiny = law::family_case(Family::kFullMemory, 3, 2, 5);
  const Exact length = law::law_rule("chain").expected_emitted(tiny, {});
  const LengthExpectation expected = expectation(tiny, "chain", length);
  const Exact little(1, 1'000'000'000);
  EXPECT_EQ(emits_as_its_rule(length, expected, true).kind, VerdictKind::kUpheld);
  EXPECT_TRUE(emits_as_its_rule(length, expected, true).notes.empty());

  const Verdict above = emits_as_its_rule(length + little, expected, true);
  EXPECT_EQ(above.kind, VerdictKind::kViolated);
  EXPECT_EQ(above.claim, Claim::kCoupled) << "it need not be lossy";
  EXPECT_EQ(emits_no_more_than_lossless(length + little, expected).kind, VerdictKind::kUpheld);

  const Verdict below = emits_as_its_rule(length - little, expected, true);
  EXPECT_EQ(below.kind, VerdictKind::kUpheld);
  EXPECT_EQ(below.notes, std::vector<std::string>{"lossless but inefficient"});
  const Verdict unknown = emits_as_its_rule(length - little, expected, false);
  EXPECT_EQ(unknown.kind, VerdictKind::kInconclusive);
}

TEST(EmitsAsItsRule, TellsTheLosslessRulesApart) {
  const law::ModelCase tiny =
      law::tree_case(Family::kFullMemory, 3, {2, 1}, SiblingDraw::kIndependent, 5);
  const LengthExpectation expected = expectation(
      tiny, "with-replacement", law::law_rule("with-replacement").expected_emitted(tiny, {}));
  const auto emitted = [&](const char* rule) {
    const law::LawRule& entry = law::law_rule(rule);
    return law::measured(tiny, entry.make(law::checked(entry, {}))).emitted;
  };
  EXPECT_EQ(emits_as_its_rule(emitted("with-replacement"), expected, true).notes.size(), 0u);
  EXPECT_EQ(emits_as_its_rule(emitted("traversal"), expected, true).kind, VerdictKind::kViolated);
  EXPECT_EQ(emits_as_its_rule(emitted("target-only"), expected, true).notes.at(0),
            "lossless but inefficient");
}

}  // namespace
}  // namespace draftproof::oracle
