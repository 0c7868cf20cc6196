// Localising on transcripts written by hand, whose fault sits where the test has put it.
#include "tools/audit/localise.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "tools/audit/fault_tables.h"
#include "tools/audit/token_roles.h"

namespace draftproof::tools::audit {
namespace {

using oracle::Verdict;
using oracle::VerdictKind;
using properties::Arm;
using properties::Completion;
using properties::SamplingRequest;
using properties::Transcript;
using properties::audits::Evidence;
using properties::audits::JudgeSettings;
using properties::audits::KnownTarget;
using properties::audits::Matrix;
using properties::audits::Setting;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

/// Two tokens, a half each, whatever stands before.
class FairTarget final : public KnownTarget {
 public:
  int vocab_size() const override { return 2; }
  std::vector<double> next(const SamplingRequest&,
                           std::span<const reference::Token>) const override {
    return {0.5, 0.5};
  }
};

Matrix one_setting(double temperature, std::vector<std::size_t> prompt_lengths) {
  SamplingRequest request;
  request.sampling.temperature = temperature;
  request.max_tokens = 4;
  Matrix matrix;
  matrix.settings = {{"s", request, 1}};
  for (const std::size_t length : prompt_lengths) {
    request.prompt.assign(length, 0);
    const std::string name = "p" + std::to_string(length);
    matrix.cases.push_back({"s/" + name, 0, name, request, {}, "", 0});
  }
  return matrix;
}

void add(Evidence& evidence, const Matrix& matrix, std::size_t index, Arm arm, std::uint64_t trial,
         Completion completion) {
  Transcript transcript;
  transcript.key = {arm, matrix.cases[index].id, trial, 0};
  transcript.request = matrix.cases[index].request;
  transcript.completion = std::move(completion);
  evidence.add(std::move(transcript));
}

Completion output(std::vector<reference::Token> tokens) {
  Completion completion;
  completion.token_ids = std::move(tokens);
  return completion;
}

Verdict violated(const std::string& property, oracle::Claim claim) {
  Verdict verdict;
  verdict.kind = VerdictKind::kViolated;
  verdict.property = property;
  verdict.claim = claim;
  verdict.setting = "s";
  return verdict;
}

const FaultTable* table_of(const Localisation& found, const std::string& by) {
  for (const FaultTable& table : found.tables)
    if (table.by == by) return &table;
  return nullptr;
}

TEST(TokenRoles, AreReadOffStepsThatFitTheOutput) {
  Completion completion = output({5, 1, 2, 3, 4});
  completion.steps = {{{1, 9}, 1, {}, {}}, {{3}, 1, {}, {}}};
  const auto roles = roles_of(completion);
  ASSERT_TRUE(roles);
  EXPECT_THAT(*roles, ElementsAre(TokenRole::kPrompt, TokenRole::kAccepted, TokenRole::kRecovered,
                                  TokenRole::kAccepted, TokenRole::kBonus));
  completion.token_ids = {1, 2, 3, 4};
  EXPECT_EQ(roles_of(completion)->front(), TokenRole::kAccepted);
  completion.token_ids = {7, 7, 7, 7};
  EXPECT_FALSE(roles_of(completion));
  completion.steps.clear();
  EXPECT_FALSE(roles_of(completion));
}

TEST(Localise, FindsThePositionAndThePromptAtWhichGreedyArmsPart) {
  const Matrix matrix = one_setting(0, {1, 6});
  Evidence evidence;
  for (const std::size_t index : {0u, 1u}) {
    for (std::uint64_t trial = 0; trial < 40; ++trial) {
      add(evidence, matrix, index, Arm::kBaseline, trial, output({0, 0, 0, 0}));
      add(evidence, matrix, index, Arm::kSpeculative, trial,
          output(index == 1 ? std::vector<reference::Token>{0, 0, 1, 1}
                            : std::vector<reference::Token>{0, 0, 0, 0}));
    }
  }
  const FairTarget target;
  JudgeSettings settings;
  settings.target = &target;
  const Verdict verdict = violated("greedy_margin_parity", oracle::Claim::kGreedyExact);
  // By this target every token is a tie, and ties are no fault.
  EXPECT_THAT(localise(matrix, evidence, settings, verdict).lines.front(),
              Not(HasSubstr("differs")));

  settings.target = nullptr;
  const auto same_seed = [&] {
    Matrix shared = matrix;
    for (auto& each : shared.cases) each.seeding = properties::audits::Seeding::kShared;
    return localise(shared, evidence, settings,
                    violated("same_seed_identity", oracle::Claim::kSeedStable));
  }();
  const FaultTable* positions = table_of(same_seed, "position in the output");
  ASSERT_NE(positions, nullptr);
  ASSERT_THAT(positions->groups, SizeIs(4));
  EXPECT_EQ(positions->groups[1].size, 0);
  EXPECT_EQ(positions->groups[2].size, 0.5);
  EXPECT_EQ(positions->groups[2].count, 80u);
  EXPECT_EQ(positions->groups[3].count, 40u);  // behind a parting nothing is compared
  EXPECT_THAT(same_seed.lines.front(), HasSubstr("prompt length: 1 at 6, 0 at 1"));
  EXPECT_THAT(same_seed.lines.back(), HasSubstr("convict nobody"));
}

/// A right engine but for the token behind a recovered one, which is always 0.
TEST(Localise, FindsWhatStandsBeforeTheTokensThatLeaveAKnownLaw) {
  const Matrix matrix = one_setting(1, {2});
  Evidence evidence;
  for (std::uint64_t trial = 0; trial < 400; ++trial) {
    const auto bit = [&](int place) { return static_cast<reference::Token>(trial >> place & 1); };
    const bool is_accepted = bit(3) == 1;
    Completion completion = output({bit(0), bit(1), is_accepted ? bit(2) : 0, bit(4)});
    const reference::Token other = 1 - completion.token_ids[1];
    completion.steps = {
        {{is_accepted ? completion.token_ids[1] : other}, is_accepted ? 1 : 0, {}, {}},
        {{}, 0, {}, {}},
        {{}, 0, {}, {}}};
    add(evidence, matrix, 0, Arm::kSpeculative, trial, std::move(completion));
  }
  const FairTarget target;
  JudgeSettings settings;
  settings.target = &target;
  const auto found = localise(matrix, evidence, settings,
                              violated("next_token_law", oracle::Claim::kMarginalLossless));
  const FaultTable* before = table_of(found, "what stands before the token");
  ASSERT_NE(before, nullptr);
  EXPECT_EQ(before->unit, "total variation");
  const auto size_at = [&](const std::string& name) {
    for (const FaultGroup& group : before->groups)
      if (group.name == name) return group.size;
    return -1.0;
  };
  EXPECT_GT(size_at("a recovered token"), 0.3);
  EXPECT_LT(size_at("an accepted token"), 0.1);
  EXPECT_LT(size_at("the prompt"), 0.1);
  EXPECT_THAT(found.lines.front(), HasSubstr("a recovered token"));
}

TEST(Localise, ComparesArmsWhereTheLawIsNotKnown) {
  const Matrix matrix = one_setting(1, {2});
  Evidence evidence;
  for (std::uint64_t trial = 0; trial < 400; ++trial) {
    const auto bit = [&](int place) { return static_cast<reference::Token>(trial >> place & 1); };
    add(evidence, matrix, 0, Arm::kBaseline, trial, output({bit(0), bit(1), bit(2)}));
    add(evidence, matrix, 0, Arm::kSpeculative, trial, output({bit(0), 0, bit(2)}));
  }
  const auto found =
      localise(matrix, evidence, {}, violated("two_sample_law", oracle::Claim::kMarginalLossless));
  const FaultTable* positions = table_of(found, "position in the output");
  ASSERT_NE(positions, nullptr);
  EXPECT_LT(positions->groups[0].size, 0.1);
  EXPECT_GT(positions->groups[1].size, 0.4);
  EXPECT_THAT(found.lines.front(), HasSubstr("at 2"));
}

TEST(Localise, AsksOtherAuditsTrialByTrialWithTheTrafficOfTheTime) {
  const Matrix matrix = one_setting(1, {2});
  Evidence evidence;
  for (std::uint64_t trial = 0; trial < 40; ++trial) {
    const bool is_crowded = trial % 2 == 1;
    Completion completion = output({0, 0, 0, is_crowded ? 7 : 1});
    const auto begin = static_cast<double>(trial / 2 * 10);
    completion.timing = properties::Timing{begin, begin + (is_crowded ? 2 : 1), begin + 3, {}, {}};
    add(evidence, matrix, 0, Arm::kSpeculative, trial, std::move(completion));
  }
  JudgeSettings settings;
  settings.speculative.vocab_size = 2;
  const auto found =
      localise(matrix, evidence, settings, violated("well_formed", oracle::Claim::kWellFormed));
  const FaultTable* traffic = table_of(found, "requests in flight when it was sent");
  ASSERT_NE(traffic, nullptr);
  EXPECT_EQ(traffic->groups[0].size, 0);
  EXPECT_EQ(traffic->groups[1].size, 1);
  EXPECT_THAT(found.lines.front(), HasSubstr("requests in flight"));
}

TEST(FaultTables, BoundSharesAndPutLargeNumbersTogether) {
  ShareTables shares;
  for (int i = 0; i < 100; ++i) {
    shares.add({number_group("length", 3)}, i < 10);
    shares.add({number_group("length", 40)}, false);
  }
  const auto tables = shares.tables("share of trials");
  ASSERT_THAT(tables, SizeIs(1));
  ASSERT_THAT(tables[0].groups, SizeIs(2));
  EXPECT_EQ(tables[0].groups[1].name, "33 to 64");
  // Wilson, 10 of 100.
  EXPECT_NEAR(tables[0].groups[0].bounds.low, 0.0552, 1e-4);
  EXPECT_NEAR(tables[0].groups[0].bounds.high, 0.1744, 1e-4);
  ShareTables alone;
  alone.add({number_group("length", 3)}, true);
  EXPECT_THAT(alone.tables("share of trials"), IsEmpty());
}

Matrix switched(const std::vector<std::pair<std::string, SamplingRequest>>& settings) {
  Matrix matrix;
  for (const auto& [id, request] : settings) matrix.settings.push_back({id, request, 1});
  return matrix;
}

Verdict verdict_of(const std::string& setting, const std::string& property, VerdictKind kind,
                   oracle::Claim claim = oracle::Claim::kMarginalLossless) {
  Verdict verdict = violated(property, claim);
  verdict.setting = setting;
  verdict.kind = kind;
  return verdict;
}

TEST(FaultSwitches, NameTheOneParameterThatTheFaultCameWith) {
  SamplingRequest plain, filtered, warm_filtered, greedy;
  filtered.sampling.top_k = 8;
  warm_filtered.sampling.top_k = 8;
  warm_filtered.sampling.temperature = 0.7;
  greedy.sampling.temperature = 0;
  const Matrix matrix =
      switched({{"t1", plain}, {"t1-k8", filtered}, {"t0.7-k8", warm_filtered}, {"t0", greedy}});
  const auto switches =
      fault_switches(matrix, {verdict_of("t1", "next_token_law", VerdictKind::kViolated),
                              verdict_of("t1-k8", "next_token_law", VerdictKind::kUpheld),
                              verdict_of("t0.7-k8", "next_token_law", VerdictKind::kUpheld),
                              verdict_of("t0", "greedy_margin_parity", VerdictKind::kUpheld,
                                         oracle::Claim::kGreedyExact)});
  // t0.7-k8 differs in two parameters; t0 in one, and by audits of the law together.
  ASSERT_THAT(switches, SizeIs(2));
  EXPECT_EQ(to_string(switches[0]),
            "top_k 8 -> off switches it on: next_token_law upheld in t1-k8, violated in t1");
  EXPECT_EQ(to_string(switches[1]),
            "temperature 0 -> 1 switches it on: audits of the law upheld in t0, violated in t1");
}

TEST(FaultSwitches, AreNoneWhereTheOtherSettingShowedNothing) {
  SamplingRequest plain, filtered;
  filtered.sampling.top_k = 8;
  const Matrix matrix = switched({{"t1", plain}, {"t1-k8", filtered}});
  EXPECT_THAT(
      fault_switches(matrix, {verdict_of("t1", "next_token_law", VerdictKind::kViolated),
                              verdict_of("t1-k8", "next_token_law", VerdictKind::kInconclusive)}),
      IsEmpty());
  EXPECT_THAT(
      fault_switches(matrix, {verdict_of("t1", "next_token_law", VerdictKind::kViolated),
                              verdict_of("t1-k8", "next_token_law", VerdictKind::kViolated)}),
      IsEmpty());
}

TEST(FaultSwitches, CompareEveryParameterOfASetting) {
  Setting one{"a", {}, 1}, other{"b", {}, 2};
  const auto differing = [&] {
    std::vector<std::string> names;
    const auto first = parameters_of(one), second = parameters_of(other);
    for (std::size_t i = 0; i < first.size(); ++i)
      if (first[i] != second[i]) names.push_back(first[i].first);
    return names;
  };
  EXPECT_THAT(differing(), ElementsAre("concurrency"));
  other = one;
  other.request.sampling = {0.5, 3, 0.9, 0.1};
  other.request.adjustments.penalties = {1.1, 0.2, 0.3, 4};
  other.request.adjustments.logit_bias = {{1, 2.0}};
  other.request.adjustments.allowed_ids = {{1}};
  other.request.adjustments.bad_words = {{1, 2}};
  other.request.adjustments.min_tokens = 1;
  other.request.max_tokens = 3;
  other.request.logprob_count = 2;
  other.request.ignores_end = false;
  other.request.stop_token_ids = {1};
  other.request.grammar = "a";
  other.request.adapter = "b";
  other.request.is_streamed = true;
  other.request.uses_prefix_cache = false;
  EXPECT_THAT(differing(), SizeIs(parameters_of(one).size() - 1));
}

}  // namespace
}  // namespace draftproof::tools::audit
