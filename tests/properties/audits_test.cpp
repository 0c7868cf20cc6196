// Audits against engines in process: a right one, which draws every token from the target's law,
// and siblings with one thing wrong, each of which the audit that is made for it must convict.
#include "properties/audits/audits.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "oracle/sequential.h"
#include "properties/random.h"

namespace draftproof::properties::audits {
namespace {

using oracle::VerdictKind;
using reference::Token;
using ::testing::HasSubstr;

constexpr int kVocabSize = 8;
constexpr int kDraftCount = 3;

const KnownTarget& target() {
  static const auto known = [] {
    reference::decode::HashedModel model;
    model.vocab_size = kVocabSize;
    model.seed = 7;
    return toy_target({.model = reference::decode::hashed_model(model)});
  }();
  return *known;
}

/// What a wrong engine does to the law of one token, and to one completion.
using Twist = std::function<void(const SamplingRequest&, std::span<const Token> emitted,
                                 std::vector<double>& law)>;
using Tamper = std::function<void(Arm, std::size_t companions, Completion&)>;

class FakeEngine : public Engine {
 public:
  /// The seed is another one than AuditSettings has: the audits' coins are not the engine's.
  explicit FakeEngine(Twist twist = {}, Tamper tamper = {}, std::uint64_t seed = 2)
      : twist_(std::move(twist)), tamper_(std::move(tamper)), random_(seed) {}

  Capabilities capabilities() const override {
    return {"fake", kVocabSize, kDraftCount, true, true, LogprobKind::kRaw};
  }

  std::vector<Completion> generate(Arm arm, const std::vector<SamplingRequest>& requests) override {
    std::vector<Completion> completions;
    for (const SamplingRequest& request : requests) {
      Completion completion;
      while (static_cast<int>(completion.token_ids.size()) < request.max_tokens)
        completion.token_ids.push_back(drawn(arm, request, completion.token_ids));
      const auto emitted = static_cast<std::int64_t>(completion.token_ids.size());
      completion.counters = {arm == Arm::kSpeculative ? emitted : 0,
                             arm == Arm::kSpeculative ? emitted / 2 : 0, emitted};
      if (request.logprob_count >= 0) completion.logprobs = logprobs_of(request, completion);
      if (tamper_) tamper_(arm, requests.size() - 1, completion);
      completions.push_back(std::move(completion));
    }
    return completions;
  }

 private:
  static std::vector<double> logprobs_of(SamplingRequest request, const Completion& completion) {
    request.sampling = {};
    std::vector<double> list;
    const std::span<const Token> tokens = completion.token_ids;
    for (std::size_t i = 0; i < tokens.size(); ++i)
      list.push_back(
          std::log(target().next(request, tokens.first(i))[static_cast<std::size_t>(tokens[i])]));
    return list;
  }

  Token drawn(Arm arm, const SamplingRequest& request, std::span<const Token> emitted) {
    std::vector<double> law = target().next(request, emitted);
    if (twist_ && arm == Arm::kSpeculative) twist_(request, emitted, law);
    double point = random_.unit();
    for (std::size_t token = 0; token + 1 < law.size(); ++token) {
      if (point < law[token]) return static_cast<Token>(token);
      point -= law[token];
    }
    return kVocabSize - 1;
  }

  Twist twist_;
  Tamper tamper_;
  Random random_;
};

AuditSettings settings_of(std::size_t sample_count = 256) {
  AuditSettings settings;
  settings.prompts = varied_prompts(24, 6, kVocabSize, 3);
  settings.request.max_tokens = 6;
  settings.sample_count = sample_count;
  settings.replay = "replay it";
  return settings;
}

void expect_witness(const oracle::Verdict& verdict) {
  ASSERT_EQ(verdict.kind, VerdictKind::kViolated) << verdict.property << " " << verdict.evidence;
  ASSERT_TRUE(verdict.witness);
  EXPECT_FALSE(verdict.witness->let.empty());
  EXPECT_FALSE(verdict.witness->expected.empty());
  EXPECT_FALSE(verdict.witness->observed.empty());
  EXPECT_FALSE(verdict.witness->because.empty());
  EXPECT_EQ(verdict.witness->replay, "replay it");
}

TEST(Audits, UpholdAnEngineThatDrawsFromTheTarget) {
  FakeEngine engine;
  const auto verdicts = all_audits(engine, target(), settings_of());
  ASSERT_EQ(verdicts.size(), 6U);
  for (const oracle::Verdict& verdict : verdicts) {
    EXPECT_EQ(verdict.kind, VerdictKind::kUpheld) << verdict.property << " " << verdict.evidence;
    EXPECT_FALSE(verdict.smallest_visible_effect.empty()) << verdict.property;
    EXPECT_GT(verdict.trials, 0U);
  }
  for (const std::size_t law : {2U, 3U})  // half of 1e-9 each
    EXPECT_THAT(verdicts[law].evidence, HasSubstr("alarm at 10^9.3"));
}

TEST(Audits, AskNothingOfAnEngineThatItCannotDo) {
  struct GreedyEngine : FakeEngine {
    Capabilities capabilities() const override {
      return {"greedy", kVocabSize, 0, false, false, {}};
    }
  } engine;
  EXPECT_EQ(all_audits(engine, target(), settings_of()).size(), 1U);
}

TEST(Audits, UpholdNothingOfAnEngineThatSaysNothing) {
  FakeEngine engine({}, [](Arm, std::size_t, Completion& completion) {
    completion.token_ids.clear();
    completion.end = CompletionEnd::kStop;
  });
  EXPECT_EQ(greedy_parity(engine, settings_of()).kind, VerdictKind::kInconclusive);
  EXPECT_EQ(support(engine, target(), settings_of()).kind, VerdictKind::kInconclusive);
  EXPECT_EQ(known_law(engine, target(), settings_of())[0].kind, VerdictKind::kInconclusive);
}

TEST(GreedyParity, TellsTheShortestPromptAndTheFirstTokenThatDiffers) {
  FakeEngine engine([](const SamplingRequest& request, std::span<const Token> emitted, auto& law) {
    if (request.prompt.size() >= 2 && emitted.size() == 3)
      std::rotate(law.begin(), law.begin() + 1, law.end());
  });
  const oracle::Verdict verdict = greedy_parity(engine, settings_of());
  expect_witness(verdict);
  EXPECT_THAT(verdict.evidence, HasSubstr("at token 4 behind a prompt of 2"));
  EXPECT_THAT(verdict.witness->let, HasSubstr("alone on the engine"));
  EXPECT_THAT(verdict.witness->because, HasSubstr("token 4 is the first that differs"));
}

TEST(GreedyParity, SaysWhenOnlyCompanyMakesTheDifference) {
  FakeEngine engine({}, [](Arm arm, std::size_t companions, Completion& completion) {
    if (arm == Arm::kSpeculative && companions > 0) completion.token_ids.back() ^= 1;
  });
  const oracle::Verdict verdict = greedy_parity(engine, settings_of());
  expect_witness(verdict);
  EXPECT_THAT(verdict.witness->let, HasSubstr("in a batch with 23 others"));
}

TEST(GreedyParity, ConvictsAnEngineThatGivesTooFewTokensOrAnError) {
  FakeEngine stops_early({}, [](Arm arm, std::size_t, Completion& completion) {
    if (arm == Arm::kSpeculative) completion.token_ids.pop_back();
  });
  expect_witness(greedy_parity(stops_early, settings_of()));
  FakeEngine breaks({}, [](Arm arm, std::size_t, Completion& completion) {
    if (arm != Arm::kSpeculative) return;
    completion = {};
    completion.end = CompletionEnd::kFailed;
    completion.failure = "HTTP 500: broken";
  });
  const oracle::Verdict verdict = greedy_parity(breaks, settings_of());
  expect_witness(verdict);
  EXPECT_EQ(verdict.witness->observed.substr(0, 16), "HTTP 500: broken");
}

TEST(GreedyParity, IsInconclusiveWithoutABaseline) {
  FakeEngine engine({}, [](Arm arm, std::size_t, Completion& completion) {
    if (arm == Arm::kBaseline) completion.end = CompletionEnd::kFailed;
  });
  EXPECT_EQ(greedy_parity(engine, settings_of()).kind, VerdictKind::kInconclusive);
}

TEST(Support, ConvictsAtTheFirstTokenThatWasFilteredOut) {
  FakeEngine engine([](const SamplingRequest& request, std::span<const Token> emitted, auto& law) {
    if (request.sampling.top_k > 0 && emitted.size() == 4) law.assign(law.size(), 0.125);
  });
  const oracle::Verdict verdict = support(engine, target(), settings_of());
  expect_witness(verdict);
  EXPECT_THAT(verdict.witness->expected, HasSubstr("token 5, behind the emitted tokens "));
  FakeEngine invents(
      {}, [](Arm, std::size_t, Completion& completion) { completion.token_ids[1] = kVocabSize; });
  expect_witness(support(invents, target(), settings_of()));
}

TEST(KnownLaw, ConvictsAnEngineThatSharpensTheLawOfItsDrafts) {
  FakeEngine engine([](const SamplingRequest&, std::span<const Token> emitted, auto& law) {
    if (emitted.empty()) return;
    double sum = 0;
    for (double& each : law) sum += each *= each;
    for (double& each : law) each /= sum;
  });
  const AuditSettings settings = settings_of(4096);
  const auto verdicts = known_law(engine, target(), settings);
  ASSERT_EQ(verdicts.size(), 2U);
  for (const oracle::Verdict& verdict : verdicts) expect_witness(verdict);
  EXPECT_EQ(verdicts[0].claim, oracle::Claim::kMarginalLossless);
  EXPECT_EQ(verdicts[1].claim, oracle::Claim::kSequenceLossless);
  EXPECT_LT(verdicts[0].trials, 4 * 4096U) << "it stops at the alarm";
}

TEST(KnownLaw, ConvictsAnEngineThatReadsARowOfAnotherContext) {
  FakeEngine engine([](const SamplingRequest& request, std::span<const Token> emitted, auto& law) {
    if (emitted.size() >= 2) law = target().next(request, emitted.subspan(1));
  });
  for (const oracle::Verdict& verdict : known_law(engine, target(), settings_of(2048)))
    expect_witness(verdict);
}

TEST(KnownLaw, NeedsOneTokenOfProbabilityZeroAndNoMore) {
  FakeEngine engine(
      {}, [](Arm, std::size_t, Completion& completion) { completion.token_ids[3] = kVocabSize; });
  const auto verdicts = known_law(engine, target(), settings_of(32));
  expect_witness(verdicts[0]);
  EXPECT_THAT(verdicts[0].witness->because, HasSubstr("one is enough"));
}

/// Says the same to the same seed.
class SeededEngine final : public FakeEngine {
 public:
  std::vector<Completion> generate(Arm arm, const std::vector<SamplingRequest>& requests) override {
    std::vector<Completion> completions;
    for (const SamplingRequest& request : requests) {
      FakeEngine again({}, {}, request.seed.value_or(0));
      FakeEngine& engine = request.seed ? again : *this;
      completions.push_back(engine.FakeEngine::generate(arm, {request}).front());
    }
    return completions;
  }
};

class RequestLog final : public FakeEngine {
 public:
  std::vector<Completion> generate(Arm arm, const std::vector<SamplingRequest>& requests) override {
    asked.insert(asked.end(), requests.begin(), requests.end());
    return FakeEngine::generate(arm, requests);
  }
  std::vector<SamplingRequest> asked;
};

TEST(Support, DrawsWithoutTheSeedOfTheRequest) {
  RequestLog engine;
  AuditSettings settings = settings_of();
  settings.request.seed = 5;
  support(engine, target(), settings);
  EXPECT_EQ(engine.asked.size(), 4 * settings.prompts.size());
  for (const SamplingRequest& request : engine.asked) EXPECT_FALSE(request.seed);
}

TEST(KnownLaw, DrawsWithoutTheSeedOfTheRequest) {
  SeededEngine engine;
  AuditSettings settings = settings_of();
  settings.request.seed = 5;
  for (const oracle::Verdict& verdict : known_law(engine, target(), settings))
    EXPECT_EQ(verdict.kind, VerdictKind::kUpheld) << verdict.property << " " << verdict.evidence;
}

// An engine that is right again behind its first batches: evidence falls below the alarm, and the
// alarm has been raised. Tokens 2 and 3 are always right, so that sampling goes on to its end.
TEST(KnownLaw, KeepsAnAlarmThatLaterDrawsWouldTakeBack) {
  std::size_t drawn = 0;
  FakeEngine engine(
      [&](const SamplingRequest&, std::span<const Token> emitted, std::vector<double>& law) {
        if (emitted.size() < 3 || ++drawn > 600) return;
        const auto top = std::max_element(law.begin(), law.end());
        for (double& each : law) each /= 2;
        *top += 0.5;
      });
  AuditSettings settings = settings_of(4096);
  settings.false_alarms = 1e-3;
  const auto verdicts = known_law(engine, target(), settings);
  expect_witness(verdicts[0]);
  EXPECT_EQ(verdicts[1].kind, VerdictKind::kUpheld);
  EXPECT_EQ(verdicts[0].trials, 4 * 4096U);
}

// Ville's inequality, at an alpha that can be seen: of 300 right engines no more than 5% raise an
// alarm at any look. Seeds are fixed.
TEST(KnownLaw, RaisesFalseAlarmsNoOftenerThanItSays) {
  AuditSettings settings = settings_of(96);
  settings.batch_size = 16;
  settings.sampled_prompts = 2;
  settings.request.max_tokens = 3;
  settings.false_alarms = 0.05;
  int alarms[2] = {};
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    FakeEngine engine({}, {}, derived_seed(seed, "engine"));
    settings.seed = derived_seed(seed, "audit");
    const auto verdicts = known_law(engine, target(), settings);
    for (int i : {0, 1}) alarms[i] += verdicts[i].kind == VerdictKind::kViolated;
  }
  EXPECT_THAT(alarms, ::testing::Each(::testing::Le(15)));
}

TEST(VisibleDistance, IsWhereTypicalCountsRaiseTheAlarm) {
  const std::vector<double> law(8, 0.125);
  const double alarm = std::log(1e9);
  EXPECT_EQ(visible_distance(law, 4, alarm), 1);
  const double at_4096 = visible_distance(law, 4096, alarm);
  const auto evidence = [&](double distance) {
    std::vector<std::uint64_t> counts;
    for (int cell = 0; cell < 8; ++cell)
      counts.push_back(std::llround(512 * (1 + (cell % 2 == 0 ? 2 : -2) * distance)));
    return oracle::log_evidence(counts, law);
  };
  EXPECT_GE(evidence(at_4096 * 1.02), alarm);
  EXPECT_LT(evidence(at_4096 * 0.98), alarm);
  // As the inverse root of the number of draws.
  EXPECT_NEAR(visible_distance(law, 4 * 4096, alarm), at_4096 / 2, at_4096 / 10);
}

TEST(Logprobs, AreThoseOfTheirOwnTokens) {
  const auto convicted = [](const std::function<void(std::vector<double>&)>& wrong) {
    FakeEngine engine({}, [&](Arm, std::size_t, Completion& completion) {
      if (!completion.logprobs.empty()) wrong(completion.logprobs);
    });
    return logprobs(engine, target(), settings_of());
  };
  EXPECT_EQ(convicted([](auto&) {}).kind, VerdictKind::kUpheld);
  EXPECT_EQ(convicted([](auto& list) { list[2] += 1e-6; }).kind, VerdictKind::kUpheld);
  expect_witness(convicted([](auto& list) { list[2] += 1e-4; }));
  expect_witness(convicted([](auto& list) { list[2] = std::nan(""); }));
  expect_witness(convicted([](auto& list) { list.pop_back(); }));
  expect_witness(
      convicted([](auto& list) { std::rotate(list.begin(), list.begin() + 1, list.end()); }));
}

TEST(Logprobs, AreNotJudgedWhereTheTokensAreWrongToo) {
  FakeEngine engine([](const SamplingRequest&, std::span<const Token>,
                       auto& law) { std::rotate(law.begin(), law.begin() + 1, law.end()); },
                    [](Arm, std::size_t, Completion& completion) {
                      for (double& each : completion.logprobs) each -= 1;
                    });
  const auto verdicts = all_audits(engine, target(), settings_of());
  ASSERT_EQ(verdicts[4].claim, oracle::Claim::kLogprobTruthful);
  EXPECT_EQ(verdicts[4].kind, VerdictKind::kInconclusive);
  EXPECT_FALSE(verdicts[4].witness);
  EXPECT_EQ(oracle::merged(verdicts), VerdictKind::kViolated);
}

struct CounterFault {
  const char* name;
  Arm arm;
  void (*tamper)(DraftCounters&);
};

class WrongCounters : public ::testing::TestWithParam<CounterFault> {};

TEST_P(WrongCounters, AreConvicted) {
  FakeEngine engine({}, [](Arm arm, std::size_t, Completion& completion) {
    if (arm == GetParam().arm) GetParam().tamper(*completion.counters);
  });
  expect_witness(counters(engine, settings_of()));
}

INSTANTIATE_TEST_SUITE_P(
    Faults, WrongCounters,
    ::testing::Values(
        CounterFault{"MoreAcceptedThanDrafted", Arm::kSpeculative,
                     [](DraftCounters& counted) { counted.drafted = counted.accepted - 1; }},
        CounterFault{"NegativeAccepted", Arm::kSpeculative,
                     [](DraftCounters& counted) { counted.accepted = -1; }},
        CounterFault{"BonusCountedAsAccepted", Arm::kSpeculative,
                     [](DraftCounters& counted) { counted.drafted = counted.accepted = 9; }},
        CounterFault{"MoreDraftsThanVerifications", Arm::kSpeculative,
                     [](DraftCounters& counted) { counted.drafted = 40; }},
        CounterFault{"AnotherNumberOfTokens", Arm::kSpeculative,
                     [](DraftCounters& counted) { ++counted.emitted; }},
        CounterFault{"DraftsOfTheBaseline", Arm::kBaseline,
                     [](DraftCounters& counted) { counted.drafted = 1; }}),
    [](const auto& tested) { return tested.param.name; });

TEST(Counters, AreMissedWhereOthersCameWithThem) {
  FakeEngine engine({}, [](Arm arm, std::size_t, Completion& completion) {
    if (arm == Arm::kSpeculative) completion.counters.reset();
  });
  expect_witness(counters(engine, settings_of()));
}

}  // namespace
}  // namespace draftproof::properties::audits
