// Judge: a pure function of a set of transcripts; what a matrix asks, what a check needs, and what
// a verdict is called where the law is given up on purpose.
#include "properties/audits/judge.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <set>
#include <string>

#include "properties/audits/audit_list.h"
#include "properties/audits/law_sample.h"
#include "reference/error.h"
#include "toy_speculator.h"

namespace draftproof::properties::audits {
namespace {

using oracle::Label;
using oracle::Verdict;
using oracle::VerdictKind;
using ::testing::HasSubstr;

TEST(Matrix, GivesEveryTrialASeedOfItsOwnUnlessArmsShareIt) {
  Matrix matrix;
  matrix.seed = 5;
  AuditCase one{.id = "t1/a", .prompt_name = "", .request = {}, .cohort = ""};
  AuditCase other = one;
  other.id = "t1/b";
  AuditCase shared = one;
  shared.id = "t1/a/shared";
  shared.seeding = Seeding::kShared;
  for (const bool is_narrow : {false, true}) {
    std::set<std::uint64_t> seeds;
    for (std::uint64_t trial = 0; trial < 20000; ++trial) {
      for (const AuditCase* each : {&one, &other})
        for (const Arm arm : {Arm::kBaseline, Arm::kSpeculative})
          seeds.insert(seed_of(matrix, *each, arm, trial, is_narrow));
      EXPECT_EQ(seed_of(matrix, shared, Arm::kBaseline, trial, is_narrow),
                seed_of(matrix, shared, Arm::kSpeculative, trial, is_narrow));
    }
    EXPECT_LT(*seeds.rbegin(), std::uint64_t{1} << (is_narrow ? 31 : 63));
    // Narrow ones may meet those of another case, never those of their own.
    EXPECT_GE(seeds.size(), is_narrow ? 79900u : 80000u);
  }
  std::set<std::uint64_t> own;
  for (std::uint64_t trial = 0; trial < 300000; ++trial)
    own.insert(seed_of(matrix, one, Arm::kBaseline, trial, true));
  EXPECT_EQ(own.size(), 300000u);
}

TEST(Matrix, SplitsSettingsOverShardsTheSameEverywhere) {
  std::set<std::size_t> shards;
  for (int i = 0; i < 64; ++i) shards.insert(shard_of({.id = "t" + std::to_string(i)}, 4));
  EXPECT_EQ(shards, (std::set<std::size_t>{0, 1, 2, 3}));
  EXPECT_EQ(shard_of({.id = "t0.7-k8"}, 1), 0u);
}

TEST(Evidence, CountsTheSameTranscriptOnceAndRefusesAnother) {
  const ToyAudit audit;
  Evidence evidence;
  Transcript transcript = audit.transcript(audit.matrix.cases[0], Arm::kSpeculative, 7);
  evidence.add(transcript);
  evidence.add(transcript);
  EXPECT_EQ(evidence.size(), 1u);
  EXPECT_TRUE(evidence.has(transcript.key));
  EXPECT_EQ(evidence.case_ids(), std::vector<std::string>{"t1/2"});
  transcript.completion.token_ids.front() ^= 1;
  try {
    evidence.add(transcript);
    FAIL();
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("trial 7 of case 't1/2', speculative"));
    EXPECT_THAT(error.what(), HasSubstr("two runs are mixed"));
  }
}

std::string told(const std::vector<Verdict>& verdicts) {
  std::string text;
  for (const Verdict& verdict : verdicts) {
    text += verdict.property + "|" + verdict.evidence + "|" + verdict.smallest_visible_effect;
    if (verdict.log_e_value) text += "|" + std::to_string(*verdict.log_e_value);
    if (verdict.effect) text += "|" + std::to_string(verdict.effect->total_variation);
    if (verdict.witness)
      text += "|" + verdict.witness->let + verdict.witness->expected + verdict.witness->observed;
    text += "\n";
  }
  return text;
}

TEST(Judge, SaysTheSameOfASetInAnyOrderAndFromShards) {
  for (const Fault fault : {Fault::kNone, Fault::kAcceptsAll}) {
    ToyAudit audit(fault);
    std::vector<Transcript> transcripts;
    for (const AuditCase& each : audit.matrix.cases)
      for (const Arm arm : {Arm::kBaseline, Arm::kSpeculative})
        for (std::uint64_t trial = 0; trial < 200; ++trial)
          transcripts.push_back(audit.transcript(each, arm, trial));
    std::string first;
    for (std::uint64_t order = 0; order < 3; ++order) {
      audit.evidence = {};
      for (const Transcript& each : transcripts) audit.evidence.add(each);
      for (std::size_t i = 0; i < 50; ++i) audit.evidence.add(transcripts[i]);
      const std::string text = told(audit.verdicts());
      if (order == 0) first = text;
      EXPECT_EQ(text, first);
      Random random(order + 1);
      for (std::size_t i = transcripts.size(); i > 1; --i)
        std::swap(transcripts[i - 1], transcripts[random.below(i)]);
    }
  }
}

TEST(Judge, SaysWhatIsMissingOfAnAuditThatWasAskedFor) {
  ToyAudit audit;
  audit.run(32);
  audit.settings.target = nullptr;
  const Verdict verdict = audit.verdict("next_token_law");
  EXPECT_EQ(verdict.kind, VerdictKind::kInconclusive);
  EXPECT_EQ(verdict.evidence, "the target's law is not known: it is for toys (--toy)");
  for (const Verdict& each : audit.verdicts()) {
    EXPECT_NE(each.property, "next_token_law");
    EXPECT_NE(each.property, "support_of_filters") << "no candidates were asked for either";
  }
  try {
    audit.verdict("next_token");
    FAIL();
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("no audit 'next_token'; known: baseline_law"));
  }
}

TEST(Judge, SpreadsOneBudgetOverAllChecksOfAllSettings) {
  ToyAudit audit;
  audit.run(32);
  audit.settings.audits = {"next_token_law", "joint_law"};
  const double one = *audit.verdicts()[0].log_alarm;
  audit.matrix.settings.push_back({.id = "t1-k2", .request = audit.matrix.settings[0].request});
  const auto verdicts = audit.verdicts();
  ASSERT_EQ(verdicts.size(), 4u);
  EXPECT_NEAR(*verdicts[0].log_alarm, one + std::log(2.0), 1e-9);
  EXPECT_EQ(verdicts[3].setting, "t1-k2");
  EXPECT_EQ(verdicts[3].kind, VerdictKind::kInconclusive) << "nothing was asked there";
  EXPECT_THAT(verdicts[3].evidence, HasSubstr("no answers"));
}

/// Evidence against a law that is nearly the engine's grows in both arms, and that of the drafting
/// one may reach the alarm first.
TEST(Judge, ConvictsNobodyOnALawThatIsNotTheEngines) {
  std::size_t raced = 0;
  for (const std::uint64_t seed : {1, 2, 3})
    for (const double share : {0.6, 0.7, 0.8}) {
      ToyAudit audit(Fault::kNone, seed);
      const TableLaw told(8, 5, &audit.target, share);
      audit.settings.target = &told;
      for (const std::uint64_t trials : {64, 128, 256, 512, 1024}) {
        audit.run(trials);
        for (const Verdict& verdict : audit.verdicts()) {
          EXPECT_NE(verdict.kind, VerdictKind::kViolated)
              << verdict.property << " of " << trials << " trials, seed " << seed << ", " << share;
          raced += verdict.evidence.find("the law is off as well") == std::string::npos ? 0 : 1;
        }
      }
    }
  EXPECT_GT(raced, 0u) << "no evidence reached its alarm before the baseline's did";
}

TEST(Judge, CountsWhatTheBaselineIsOffTwice) {
  EXPECT_TRUE(is_beyond_baseline(20, -3, 20));
  EXPECT_TRUE(is_beyond_baseline(30, 5, 20));
  EXPECT_FALSE(is_beyond_baseline(29, 5, 20));
  EXPECT_TRUE(is_beyond_baseline(INFINITY, 10, 20));
  EXPECT_FALSE(is_beyond_baseline(INFINITY, 11, 20));
}

TEST(Judge, CallsALossyModeLossyByDesignAndHoldsItToItsBudget) {
  ToyAudit audit(Fault::kAcceptsAll);
  audit.run(2048);
  audit.settings.lossy = LossyMode{"synthetic acceptance", "GET /server_info", {}};
  const Verdict undeclared = audit.verdict("joint_law");
  EXPECT_EQ(undeclared.kind, VerdictKind::kViolated);
  EXPECT_EQ(undeclared.label, Label::kLossyByDesign);
  audit.settings.lossy->budget_tv = 0.9;
  EXPECT_EQ(audit.verdict("joint_law").kind, VerdictKind::kInconclusive) << "no upper bound";
  audit.settings.audits = {"joint_law", "declared_distance"};
  for (const Verdict& within : audit.verdicts()) {
    EXPECT_EQ(within.kind, VerdictKind::kUpheld) << within.property;
    EXPECT_EQ(within.label, Label::kLossyByDesign) << within.property;
    if (within.property != "joint_law") continue;
    EXPECT_THAT(within.notes, ::testing::Contains(HasSubstr("given up on purpose")));
  }
  audit.settings.lossy->budget_tv = 0.001;
  EXPECT_EQ(audit.verdict("joint_law").kind, VerdictKind::kViolated);
}

TEST(Judge, IsSettledByAlarmsAndByCertificatesOnly) {
  ToyAudit wrong(Fault::kAcceptsAll), right;
  wrong.run(2048);
  right.run(2048);
  for (ToyAudit* audit : {&wrong, &right}) audit->settings.audits = {"next_token_law", "joint_law"};
  EXPECT_TRUE(is_settled(wrong.verdicts(), wrong.settings));
  EXPECT_FALSE(is_settled(right.verdicts(), right.settings)) << "0.01 takes more than 4096 answers";
  right.settings.effect_tv = 0.5;
  EXPECT_TRUE(is_settled(right.verdicts(), right.settings));
  EXPECT_FALSE(is_settled({}, right.settings));
}

/// One server: no baseline and no law, but rows of its own answers. `candidates` of each row.
std::unique_ptr<ToyAudit> one_server(Fault fault, std::size_t candidates, std::int64_t top_k) {
  auto audit = std::make_unique<ToyAudit>(fault, 1, 5, top_k);
  SamplingRequest open;
  for (const AuditCase& each : audit->matrix.cases)
    for (std::uint64_t trial = 0; trial < 2048; ++trial) {
      const Transcript answer = audit->transcript(each, Arm::kSpeculative, trial);
      Transcript score = answer;
      score.key.repeat = kScoreRepeat;
      score.completion = {};
      score.request.max_tokens = 0;
      auto& prompt = score.request.prompt;
      const auto& tokens = answer.completion.token_ids;
      prompt.insert(prompt.end(), tokens.begin(), tokens.end());
      for (std::size_t i = 0; i < prompt.size(); ++i) {
        auto& row = score.completion.top_logprobs.emplace_back();
        if (i == 0) continue;
        open.prompt.assign(prompt.begin(), prompt.begin() + static_cast<std::ptrdiff_t>(i));
        const auto law = audit->target.next(open, {});
        for (std::size_t token = 0; token < law.size(); ++token)
          row.push_back({static_cast<reference::Token>(token), std::log(law[token])});
        std::sort(row.begin(), row.end(), [](const TokenLogprob& one, const TokenLogprob& other) {
          return one.logprob > other.logprob;
        });
        // As servers do: the token's own besides, wherever it stands.
        std::vector<TokenLogprob> likeliest = row;
        likeliest.resize(std::min(candidates, row.size()));
        for (std::size_t j = candidates; j < row.size(); ++j)
          if (row[j].token == prompt[i]) likeliest.push_back(row[j]);
        row = std::move(likeliest);
      }
      score.request.logprob_count = static_cast<int>(candidates);
      audit->evidence.add(answer);
      audit->evidence.add(std::move(score));
    }
  audit->settings.has_baseline = false;
  audit->settings.target = nullptr;
  audit->settings.draft = nullptr;
  audit->settings.speculative.logprobs = LogprobKind::kRaw;
  return audit;
}

struct Rescored {
  const char* name;
  std::size_t candidates;
  std::int64_t top_k;
};

class RescoredLaw : public ::testing::TestWithParam<Rescored> {};

TEST_P(RescoredLaw, JudgesOneServerByItsOwnReading) {
  const auto right = one_server(Fault::kNone, GetParam().candidates, GetParam().top_k);
  bool is_there = false;
  for (const Verdict& verdict : right->verdicts()) {
    EXPECT_NE(verdict.property, "two_sample_law");
    if (verdict.property != "rescored_law") continue;
    is_there = true;
    EXPECT_EQ(verdict.kind, VerdictKind::kUpheld) << verdict.evidence;
    EXPECT_THAT(verdict.assumption, HasSubstr("not the model"));
  }
  EXPECT_TRUE(is_there);
  const auto wrong = one_server(Fault::kAcceptsAll, GetParam().candidates, GetParam().top_k);
  const Verdict verdict = wrong->verdict("rescored_law");
  EXPECT_EQ(verdict.kind, VerdictKind::kViolated) << verdict.evidence;
  ASSERT_TRUE(verdict.witness);
  EXPECT_FALSE(verdict.witness->observed.empty());
}

INSTANTIATE_TEST_SUITE_P(Rows, RescoredLaw,
                         ::testing::Values(Rescored{"Whole", 8, 0}, Rescored{"WholeFiltered", 8, 3},
                                           Rescored{"PartAndTheOthersTogether", 4, 0},
                                           Rescored{"AsMuchAsTheFilterKeeps", 4, 3},
                                           Rescored{"OneAndTheOthersTogether", 1, 0}),
                         [](const auto& tested) { return tested.param.name; });

TEST(RescoredLaw, SaysThatCandidatesAreTooFew) {
  const Verdict verdict = one_server(Fault::kNone, 2, 3)->verdict("rescored_law");
  EXPECT_EQ(verdict.kind, VerdictKind::kInconclusive);
  EXPECT_THAT(verdict.evidence, HasSubstr("2 candidates of a row"));
}

TEST(RescoredLaw, IsNotAskedWhereThereIsABaseline) {
  auto audit = one_server(Fault::kNone, 8, 0);
  audit->settings.has_baseline = true;
  EXPECT_THAT(audit->verdict("rescored_law").evidence, HasSubstr("better ground"));
}

}  // namespace
}  // namespace draftproof::properties::audits
