// Reducing against engines in process whose fault has one cause: what is left is that cause.
#include "tools/audit/reduce.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>

#include "properties/transcript.h"
#include "reference/error.h"

namespace draftproof::tools::audit {
namespace {

using properties::Arm;
using properties::Completion;
using properties::CompletionEnd;
using properties::SamplingRequest;
using properties::Transcript;
using properties::audits::Evidence;
using properties::audits::JudgeSettings;
using properties::audits::Matrix;
using reference::Token;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

using Requests = std::vector<SamplingRequest>;

/// Everything on, and longer than it has to be.
SamplingRequest loaded(properties::Prompt prompt, double temperature = 0.7) {
  SamplingRequest request;
  request.prompt = std::move(prompt);
  request.sampling = {temperature, 8, 0.9, 0.05};
  request.adjustments.penalties = {1.1, 0.2, 0.3, 4};
  request.adjustments.logit_bias = {{1, 2.0}};
  request.stop_token_ids = {3};
  request.max_tokens = 32;
  request.logprob_count = 4;
  request.is_streamed = true;
  request.uses_prefix_cache = false;
  return request;
}

bool has_token(const SamplingRequest& request, Token token) {
  return std::find(request.prompt.begin(), request.prompt.end(), token) != request.prompt.end();
}

TEST(Reduce, LeavesTheOneRequestTokenSettingAndLengthThatItTakes) {
  Requests requests;
  for (int i = 0; i < 12; ++i) requests.push_back(loaded({0, 1, 2, i == 7 ? 9 : 3, 4, 5}));
  const Reduced reduced = reduce(requests, [](const Requests& candidate) {
    return std::any_of(candidate.begin(), candidate.end(), [](const SamplingRequest& each) {
      return has_token(each, 9) && each.sampling.top_k > 0 && each.max_tokens >= 5;
    });
  });
  EXPECT_TRUE(reduced.is_shown);
  EXPECT_TRUE(reduced.is_least);
  ASSERT_THAT(reduced.requests, SizeIs(1));
  SamplingRequest expected;
  expected.prompt = {9};
  expected.sampling.top_k = 8;
  expected.max_tokens = 5;
  EXPECT_EQ(reduced.requests[0], expected);
  EXPECT_THAT(reduced.steps, Contains("12 -> 1 requests"));
  EXPECT_THAT(reduced.steps, Contains("top_p 0.9 -> off"));
  EXPECT_THAT(reduced.steps, Contains("max_tokens 32 -> 5"));
  EXPECT_LT(reduced.tries, 100u);
}

TEST(Reduce, KeepsTheCompanionThatTheFaultNeeds) {
  Requests requests;
  for (Token i = 0; i < 8; ++i) requests.push_back(loaded({i, i, i}));
  const Reduced reduced = reduce(requests, [](const Requests& candidate) {
    const auto holds = [&](Token token) {
      return std::any_of(candidate.begin(), candidate.end(),
                         [&](const SamplingRequest& each) { return has_token(each, token); });
    };
    return holds(1) && holds(6);
  });
  ASSERT_THAT(reduced.requests, SizeIs(2));
  EXPECT_THAT(reduced.requests[0].prompt, ElementsAre(1));
  EXPECT_THAT(reduced.requests[1].prompt, ElementsAre(6));
}

TEST(Reduce, CutsTextsByWordsAndKeepsGreedyGreedy) {
  SamplingRequest request = loaded({}, 0);
  request.prompt_text = "one two three four";
  const Reduced reduced = reduce({request}, [](const Requests& candidate) {
    return candidate[0].prompt_text.find("three") != std::string::npos;
  });
  EXPECT_EQ(reduced.requests[0].prompt_text, "three");
  EXPECT_EQ(reduced.requests[0].sampling.temperature, 0);
}

TEST(Reduce, SaysWhenItDoesNotShowAgainAndLeavesTheRequestsAsTheyWere) {
  const Requests requests = {loaded({1, 2, 3})};
  const Reduced reduced = reduce(requests, [](const Requests&) { return false; });
  EXPECT_FALSE(reduced.is_shown);
  EXPECT_FALSE(reduced.is_least);
  EXPECT_EQ(reduced.requests, requests);
  EXPECT_EQ(reduced.tries, 1u);
}

TEST(Reduce, EndsWithWhatItHasWhenTriesAreUsedUpOrTheEngineIsGone) {
  const Requests requests(16, loaded({1, 2, 3}));
  ReduceLimits limits;
  limits.tries_max = 3;
  const Reduced cut = reduce(
      requests, [](const Requests&) { return true; }, limits);
  EXPECT_TRUE(cut.is_shown);
  EXPECT_FALSE(cut.is_least);
  EXPECT_EQ(cut.tries, 3u);
  EXPECT_LT(cut.requests.size(), requests.size());

  int calls = 0;
  const Reduced lost = reduce(requests, [&](const Requests&) -> bool {
    if (++calls > 2) throw Error(ErrorKind::kEnvironment, "nobody answers", "http://127.0.0.1:1");
    return true;
  });
  EXPECT_TRUE(lost.is_shown);
  EXPECT_FALSE(lost.is_least);
  EXPECT_THAT(lost.steps, Contains(HasSubstr("nobody answers")));
}

TEST(Reduce, TakesARequestThatTheEngineRefusesForOneThatDoesNotShowIt) {
  const Reduced reduced = reduce({loaded({1, 2, 3})}, [](const Requests& candidate) -> bool {
    if (candidate[0].sampling.top_k == 0) throw Error(ErrorKind::kInput, "needs a top_k", "top_k");
    return true;
  });
  EXPECT_TRUE(reduced.is_least);
  EXPECT_EQ(reduced.requests[0].sampling.top_k, 8);
  EXPECT_EQ(reduced.requests[0].sampling.top_p, 1);
}

/// Four tokens of one law, whatever stands before.
class SteadyTarget final : public properties::audits::KnownTarget {
 public:
  explicit SteadyTarget(std::vector<double> law) : law_(std::move(law)) {}
  int vocab_size() const override { return 4; }
  std::vector<double> next(const SamplingRequest&, std::span<const Token>) const override {
    return law_;
  }

 private:
  std::vector<double> law_;
};

/// Baseline: token 0 at temperature 0, else tokens that are even over trials. The speculative arm
/// emits `wrong` as its third token where the prompt holds a 9 and somebody else is in flight.
struct FakeEngine {
  Token wrong = 1;
  std::size_t crowd = 2;
  std::uint64_t calls = 0, requests = 0;

  std::vector<Completion> operator()(Arm arm, const Requests& list, int concurrency) {
    ++calls;
    requests += list.size();
    std::vector<Completion> completions;
    for (std::size_t i = 0; i < list.size(); ++i) {
      Completion completion;
      for (int place = 0; place < list[i].max_tokens; ++place) {
        const std::uint64_t seed = list[i].seed.value_or(i);
        completion.token_ids.push_back(
            list[i].sampling.temperature == 0
                ? 0
                : static_cast<Token>((seed * 0x9e3779b97f4a7c15 >> (40 + 2 * place)) & 3));
      }
      const bool is_wrong = arm == Arm::kSpeculative && has_token(list[i], 9) &&
                            static_cast<std::size_t>(concurrency) >= crowd;
      if (is_wrong && completion.token_ids.size() > 2) completion.token_ids[2] = wrong;
      completions.push_back(std::move(completion));
    }
    return completions;
  }
};

ProbeSettings probe(const std::string& property, const SteadyTarget* target) {
  ProbeSettings settings;
  settings.property = property;
  settings.judge.target = target;
  settings.judge.baseline.vocab_size = settings.judge.speculative.vocab_size = 4;
  return settings;
}

TEST(ShowsByJudging, ReducesAPartingToItsTwoRequestsAndKeepsWhatWasSeen) {
  auto engine = std::make_shared<FakeEngine>();
  const SteadyTarget target({0.4, 0.3, 0.2, 0.1});
  auto shown = std::make_shared<std::vector<Transcript>>();
  const auto ask = [engine](Arm arm, const Requests& list, int concurrency) {
    return (*engine)(arm, list, concurrency);
  };
  Requests requests;
  for (Token i = 0; i < 6; ++i) requests.push_back(loaded({1, i == 4 ? 9 : 2, 3}, 0));
  const Reduced reduced =
      reduce(requests, shows_by_judging(ask, probe("greedy_margin_parity", &target), shown));
  EXPECT_TRUE(reduced.is_least);
  ASSERT_THAT(reduced.requests, SizeIs(2));
  EXPECT_EQ(reduced.requests[0].max_tokens, 3);
  EXPECT_EQ(has_token(reduced.requests[0], 9) + has_token(reduced.requests[1], 9), 1);

  const ReducedCase made =
      case_of(reduced, *shown, [](Arm arm, const SamplingRequest&) -> std::string {
        return arm == Arm::kBaseline ? "curl one" : "curl other";
      });
  EXPECT_THAT(made.lines, Contains(HasSubstr("6 -> 2 requests")));
  EXPECT_THAT(made.lines, Contains("curl other   # speculative"));
  // What was written reads back, and convicts on its own.
  Evidence evidence;
  std::istringstream lines(made.transcripts);
  for (std::string line; std::getline(lines, line);)
    evidence.add(properties::transcript_from(line, "case"));
  EXPECT_THAT(evidence.case_ids(), SizeIs(2));
  Matrix matrix;
  matrix.settings = {{"reduced", reduced.requests[0], 2}};
  for (const std::string& id : evidence.case_ids())
    matrix.cases.push_back({id, 0, id, reduced.requests[0], {}, "", 0});
  JudgeSettings judge = probe("greedy_margin_parity", &target).judge;
  judge.audits = {"greedy_margin_parity"};
  EXPECT_EQ(oracle::merged(properties::audits::judge(matrix, evidence, judge)),
            oracle::VerdictKind::kViolated);
}

TEST(ShowsByJudging, CountsUntilALawAlarms) {
  auto engine = std::make_shared<FakeEngine>();
  engine->crowd = 1;
  const SteadyTarget target({0.25, 0.25, 0.25, 0.25});
  const auto ask = [engine](Arm arm, const Requests& list, int concurrency) {
    return (*engine)(arm, list, concurrency);
  };
  const StillShows shows = shows_by_judging(ask, probe("next_token_law", &target));
  SamplingRequest request;
  request.max_tokens = 4;
  request.prompt = {9};
  EXPECT_TRUE(shows({request}));
  const std::uint64_t until_alarm = engine->requests;
  EXPECT_LT(until_alarm, 2 * 1024u);
  request.prompt = {1};
  EXPECT_FALSE(shows({request}));
  EXPECT_GT(engine->requests, 2 * until_alarm);
}

TEST(ShowsByJudging, RefusesAnAuditThatThereIsNot) {
  EXPECT_THROW(shows_by_judging({}, probe("no_such_audit", nullptr)), Error);
}

TEST(FirstRequests, AreTheTrialThatBreaksAndThoseInFlightBesideIt) {
  SamplingRequest request;
  request.max_tokens = 1;
  Matrix matrix;
  matrix.settings = {{"s", request, 4}};
  request.prompt = {1};
  matrix.cases = {{"s/one", 0, "one", request, {}, "", 0}};
  Evidence evidence;
  for (std::uint64_t trial = 0; trial < 8; ++trial) {
    Transcript transcript;
    transcript.key = {Arm::kSpeculative, "s/one", trial, 0};
    transcript.request = request;
    transcript.request.seed = 100 + trial;
    transcript.completion.token_ids = {trial == 5 ? 7 : 0};
    const double sent = static_cast<double>(trial / 2);  // two at a time
    transcript.completion.timing = properties::Timing{sent, sent, sent + 0.5, {}, {}};
    evidence.add(std::move(transcript));
  }
  JudgeSettings judge;
  judge.speculative.vocab_size = 4;
  oracle::Verdict verdict;
  verdict.property = "well_formed";
  verdict.setting = "s";
  const Requests first = first_requests(matrix, evidence, judge, verdict);
  ASSERT_THAT(first, SizeIs(2));
  EXPECT_EQ(first[0].seed, 105u);
  EXPECT_EQ(first[1].seed, 104u);

  verdict.property = "next_token_law";
  const Requests counted = first_requests(matrix, evidence, judge, verdict);
  ASSERT_THAT(counted, SizeIs(1));
  EXPECT_FALSE(counted[0].seed);
}

}  // namespace
}  // namespace draftproof::tools::audit
