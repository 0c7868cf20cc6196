// Arms of engines, against toy servers that speak four dialects over loopback. Goal: what the
// client asks is what the engine draws, and what the engine tells is what the client hands on.
// Method: the law of every token is known exactly, so first tokens are counted against it, logprobs
// compared with it, and streams with wholes; each comparison is shown to fail with another law.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <regex>

#include "properties/audits/known_target.h"
#include "tests/tools/served_service.h"
#include "tools/engines/client.h"

namespace draftproof::tests {
namespace {

using properties::Arm;
using properties::Completion;
using properties::CompletionEnd;
using properties::SamplingRequest;
using testing::HasSubstr;
using tools::engines::ArmClient;
using tools::engines::ClientOptions;

/// A toy in a dialect, and a client of it.
class ServedArm {
 public:
  explicit ServedArm(const ToySettings& settings, const std::string& engine = "auto",
                     bool asks_for_no_drafts = false)
      : served_(settings) {
    ClientOptions options;
    options.url = "http://127.0.0.1:" + std::to_string(served_.port());
    options.engine = engine;
    options.asks_for_no_drafts = asks_for_no_drafts;
    client_ = tools::engines::http_client(options);
  }
  ArmClient& operator*() { return *client_; }
  ArmClient* operator->() { return client_.get(); }
  std::shared_ptr<ArmClient> shared() { return client_; }

 private:
  Served served_;
  std::shared_ptr<ArmClient> client_;
};

ToySettings toy(const std::string& dialect, bool is_speculative) {
  ToySettings settings = hashed(dialect);
  settings.is_speculative = is_speculative;
  return settings;
}

SamplingRequest request_of(const std::vector<reference::Token>& prompt, int count) {
  SamplingRequest request;
  request.prompt = prompt;
  request.max_tokens = count;
  request.seed = 5;
  return request;
}

std::vector<double> law_of(const std::string& dialect, const SamplingRequest& request,
                           const std::vector<reference::Token>& emitted = {}) {
  const auto options = tools::serve::served_toy(toy(dialect, true));
  return properties::audits::toy_target(
             {.model = options.host.config.target, .contract = options.dialect.contract})
      ->next(request, emitted);
}

/// Whether each count is within five standard deviations of what the law expects: for seven free
/// cells less than one in 200,000 right engines is turned away.
bool fits(const std::vector<double>& law, const std::vector<int>& counts) {
  double total = 0;
  for (const int count : counts) total += count;
  for (std::size_t i = 0; i < law.size(); ++i) {
    const double spread = std::sqrt(total * law[i] * (1 - law[i]));
    if (std::abs(counts[i] - total * law[i]) > 5 * spread + 1e-9) return false;
  }
  return true;
}

class Dialects : public ::testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(EngineArms, Dialects,
                         ::testing::Values("llama.cpp", "vllm", "sglang", "openai"),
                         [](const auto& tested) {
                           const std::string name = tested.param;
                           return name == "llama.cpp" ? std::string("llama_cpp") : name;
                         });

TEST_P(Dialects, DrawsItsTokensFromTheToysLawInBothArms) {
  const std::string dialect = GetParam();
  ServedArm baseline(toy(dialect, false)), speculative(toy(dialect, true));
  const auto engine = tools::engines::two_arms(baseline.shared(), speculative.shared(), 8);
  SamplingRequest request = request_of({1, 2}, 4);
  request.sampling.temperature = 0.7;
  // OpenAI's words do not reach further.
  if (dialect == "openai") request.sampling.top_p = 0.9;
  if (dialect != "openai") request.sampling.top_k = 6;
  const reference::Token first_id = engine->capabilities().returns_token_ids ? 0 : 'a';
  std::vector<SamplingRequest> requests(1500, request);
  for (std::size_t i = 0; i < requests.size(); ++i) requests[i].seed = i;
  for (const Arm arm : {Arm::kBaseline, Arm::kSpeculative}) {
    std::vector<int> counts(8, 0);
    for (const Completion& each : engine->generate(arm, requests)) {
      ASSERT_EQ(each.end, CompletionEnd::kLength) << each.failure;
      ASSERT_EQ(each.token_ids.size(), 4u);
      ++counts.at(static_cast<std::size_t>(each.token_ids[0] - first_id));
    }
    EXPECT_TRUE(fits(law_of(dialect, request), counts));
    EXPECT_FALSE(fits(law_of(dialect, request_of({2, 1}, 4)), counts)) << "another law fits too";
  }
}

TEST_P(Dialects, GivesInAStreamWhatItGivesAsAWholeWithTimes) {
  const std::string dialect = GetParam();
  ServedArm arm(toy(dialect, true));
  SamplingRequest request = request_of({3, 1}, 12);
  if (dialect != "openai") request.logprob_count = 2;
  const Completion whole = arm->complete(request);
  request.is_streamed = true;
  const Completion streamed = arm->complete(request);
  ASSERT_EQ(whole.failure, "");
  ASSERT_EQ(streamed.failure, "");
  EXPECT_EQ(streamed.token_ids, whole.token_ids);
  EXPECT_EQ(streamed.logprobs, whole.logprobs);
  EXPECT_EQ(streamed.top_logprobs, whole.top_logprobs);
  EXPECT_EQ(streamed.counters, whole.counters);
  EXPECT_EQ(streamed.text, whole.text);
  EXPECT_EQ(streamed.finish_reason, whole.finish_reason);
  ASSERT_TRUE(whole.timing && streamed.timing);
  EXPECT_TRUE(whole.timing->token_times.empty());
  EXPECT_LE(whole.timing->sent, whole.timing->ended);
  int tokens = 0;
  double last = streamed.timing->sent;
  ASSERT_EQ(streamed.timing->token_times.size(), streamed.timing->token_counts.size());
  for (std::size_t i = 0; i < streamed.timing->token_times.size(); ++i) {
    EXPECT_LE(last, streamed.timing->token_times[i]);
    last = streamed.timing->token_times[i];
    tokens += streamed.timing->token_counts[i];
  }
  EXPECT_LE(last, streamed.timing->ended);
  EXPECT_EQ(tokens, 12);
}

TEST_P(Dialects, SaysWhetherItsArmDrafts) {
  const std::string dialect = GetParam();
  ServedArm baseline(toy(dialect, false)), speculative(toy(dialect, true));
  EXPECT_EQ(baseline->facts().model, speculative->facts().model);
  EXPECT_NE(speculative->facts().model, "");
  if (dialect == "openai") {
    EXPECT_FALSE(speculative->facts().is_speculative) << "that API does not tell";
    return;
  }
  EXPECT_EQ(speculative->facts().engine, dialect);
  EXPECT_EQ(baseline->facts().is_speculative, false);
  EXPECT_EQ(speculative->facts().is_speculative, true);
  EXPECT_EQ(speculative->facts().draft_count, 3);
  EXPECT_EQ(speculative->facts().context_max, 256);
}

TEST_P(Dialects, AnswersAlikeInBothArmsAtTemperatureZero) {
  const std::string dialect = GetParam();
  ServedArm baseline(toy(dialect, false)), speculative(toy(dialect, true));
  SamplingRequest request = request_of({6, 4, 1}, 16);
  request.sampling.temperature = 0;
  EXPECT_EQ(baseline->complete(request).token_ids, speculative->complete(request).token_ids);
  request.prompt = {6, 4, 2};
  EXPECT_NE(baseline->complete(request).token_ids,
            speculative->complete(request_of({6, 4, 1}, 16)).token_ids);
}

/// Of those whose answers have ids and logprobs.
class TokenDialects : public Dialects {};
INSTANTIATE_TEST_SUITE_P(EngineArms, TokenDialects,
                         ::testing::Values("llama.cpp", "vllm", "sglang"), [](const auto& tested) {
                           const std::string name = tested.param;
                           return name == "llama.cpp" ? std::string("llama_cpp") : name;
                         });

TEST_P(TokenDialects, HandsOnLogprobsOfTheRowsAndTheLikeliestCandidates) {
  ServedArm arm(toy(GetParam(), true));
  SamplingRequest request = request_of({2, 5}, 6);
  request.logprob_count = 8;
  const Completion done = arm->complete(request);
  ASSERT_EQ(done.logprobs.size(), 6u) << done.failure;
  ASSERT_EQ(done.top_logprobs.size(), 6u);
  std::vector<reference::Token> emitted;
  for (std::size_t i = 0; i < 6; ++i) {
    const auto law = law_of(GetParam(), request, emitted);
    const auto other = law_of(GetParam(), request, {7, 7, 7, 7, 7, 7, 7});
    const auto own = static_cast<std::size_t>(done.token_ids[i]);
    EXPECT_NEAR(done.logprobs[i], std::log(law[own]), 1e-5);
    ASSERT_EQ(done.top_logprobs[i].size(), 8u);
    double distance = 0;
    for (const auto& [token, logprob] : done.top_logprobs[i]) {
      EXPECT_NEAR(logprob, std::log(law[static_cast<std::size_t>(token)]), 1e-5);
      distance += std::abs(std::exp(logprob) - other[static_cast<std::size_t>(token)]);
    }
    EXPECT_GT(distance, 1e-3) << "another context's law would do as well";
    emitted.push_back(done.token_ids[i]);
  }
}

TEST_P(TokenDialects, AsksSeveralPromptsTogetherAsOneByOne) {
  ServedArm arm(toy(GetParam(), true));
  std::vector<SamplingRequest> requests;
  for (int first = 0; first < 5; ++first) requests.push_back(request_of({first, 3}, 5));
  for (auto& each : requests) each.sampling.temperature = 0;
  const auto together = arm->complete_together(requests);
  ASSERT_EQ(together.size(), requests.size());
  for (std::size_t i = 0; i < requests.size(); ++i)
    EXPECT_EQ(together[i].token_ids, arm->complete(requests[i]).token_ids) << i;
  requests[2].max_tokens = 7;  // no longer one body
  const auto apart = arm->complete_together(requests);
  EXPECT_EQ(apart.at(2).token_ids.size(), 7u);
  EXPECT_EQ(apart.at(3).token_ids, together[3].token_ids);
}

TEST_P(TokenDialects, CarriesPenaltiesAndBiases) {
  const std::string dialect = GetParam();
  ServedArm arm(toy(dialect, false));
  SamplingRequest request = request_of({2, 5}, 1);
  request.adjustments.logit_bias = {{3, 4.0}, {1, -6.0}};
  request.adjustments.penalties.presence = 0.5;
  request.adjustments.penalties.frequency = 0.25;
  request.adjustments.penalties.repetition = 1.25;
  std::vector<int> counts(8, 0);
  for (int seed = 0; seed < 400; ++seed) {
    request.seed = seed;
    ++counts.at(static_cast<std::size_t>(arm->complete(request).token_ids.at(0)));
  }
  EXPECT_TRUE(fits(law_of(dialect, request), counts));
  EXPECT_FALSE(fits(law_of(dialect, request_of({2, 5}, 1)), counts));
}

TEST(EngineArms, ScoresWhatItIsGiven) {
  for (const std::string dialect : {"llama.cpp", "vllm", "sglang"}) {
    ServedArm arm(toy(dialect, true));
    const std::vector<reference::Token> tokens = {2, 5, 1, 1, 6};
    const auto scores = arm->score(tokens, 3);
    ASSERT_EQ(scores.size(), tokens.size()) << dialect;
    EXPECT_TRUE(scores[0].empty());
    for (std::size_t i = 1; i < tokens.size(); ++i) {
      const auto law =
          law_of(dialect,
                 request_of({tokens.begin(), tokens.begin() + static_cast<std::ptrdiff_t>(i)}, 1));
      bool has_own = false;
      for (const auto& [token, logprob] : scores[i]) {
        EXPECT_NEAR(logprob, std::log(law[static_cast<std::size_t>(token)]), 1e-5);
        has_own = has_own || token == tokens[i];
      }
      EXPECT_TRUE(has_own) << dialect << " " << i;
      EXPECT_GE(scores[i].size(), 3u);
    }
  }
  ServedArm arm(toy("openai", true));
  EXPECT_TRUE(arm->score({2, 5, 1}, 3).empty()) << "that API has no logprobs of prompts";
}

TEST(EngineArms, HandsOnCountersThatMoveWithDraftsOnly) {
  for (const std::string dialect : {"llama.cpp", "sglang"}) {
    ServedArm baseline(toy(dialect, false)), speculative(toy(dialect, true));
    const auto without = baseline->complete(request_of({1, 2}, 20)).counters;
    const auto with = speculative->complete(request_of({1, 2}, 20)).counters;
    ASSERT_TRUE(without && with) << dialect;
    EXPECT_EQ(without->drafted, 0);
    EXPECT_EQ(without->emitted, 20);
    EXPECT_GT(with->drafted, 0);
    EXPECT_LE(with->accepted, with->drafted);
    EXPECT_EQ(with->emitted, 20);
  }
  ServedArm arm(toy("vllm", true));
  const std::string name = "vllm:spec_decode_num_draft_tokens_total";
  const double before = arm->facts().counters.at(name);
  EXPECT_FALSE(arm->complete(request_of({1, 2}, 20)).counters) << "vLLM tells in /metrics only";
  EXPECT_GT(arm->facts().counters.at(name), before);
}

TEST(EngineArms, SwitchesDraftsOffRequestByRequestWhereTheEngineTakesThat) {
  ServedArm arm(toy("llama.cpp", true), "auto", true);
  EXPECT_EQ(arm->complete(request_of({1, 2}, 20)).counters->drafted, 0);
  for (const char* dialect : {"vllm", "sglang", "openai"}) {
    ServedArm other(toy(dialect, true), "auto", true);
    try {
      other->complete(request_of({1, 2}, 4));
      FAIL() << dialect;
    } catch (const Error& error) {
      EXPECT_EQ(error.place(), "speculation");
      EXPECT_THAT(error.message(), HasSubstr("second server"));
    }
  }
}

TEST(EngineArms, HoldsAnswersToAGrammar) {
  for (const std::string dialect : {"vllm", "sglang"}) {
    ToySettings settings = toy(dialect, true);
    settings.eos = 7;
    ServedArm arm(settings);
    SamplingRequest request = request_of({1, 2}, 12);
    request.grammar = "(ab|cd){2}e?";
    request.ignores_end = false;
    for (int seed = 0; seed < 20; ++seed) {
      request.seed = seed;
      const Completion done = arm->complete(request);
      ASSERT_EQ(done.end, CompletionEnd::kStop) << done.failure;
      EXPECT_TRUE(std::regex_match(done.text, std::regex(request.grammar))) << done.text;
    }
  }
}

TEST(EngineArms, SpeaksToTheEngineThatIsThereAndToNoOther) {
  ServedArm wrong(toy("sglang", true), "llama.cpp");
  try {
    wrong->facts();
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kInput);
    EXPECT_THAT(error.what(), HasSubstr("is no llama.cpp (it answers as sglang)"));
  }
  ServedArm general(toy("vllm", true), "openai");
  EXPECT_EQ(general->facts().engine, "openai");
  EXPECT_EQ(general->complete(request_of({1, 2}, 4)).text.size(), 4u);
}

TEST(EngineArms, SendsMessagesToAChatAndReadsTheBytesOfItsAnswer) {
  ServedArm arm(toy("openai", true), "openai-chat");
  SamplingRequest request;
  request.prompt_text = "abc";
  request.max_tokens = 6;
  request.seed = 4;
  const Completion done = arm->complete(request);
  ASSERT_EQ(done.failure, "");
  EXPECT_EQ(std::string(done.token_ids.begin(), done.token_ids.end()), done.text);
  // One message that says it all, and two that say it in parts, are one prompt to this toy.
  request.prompt_text =
      R"([{"role": "system", "content": "ab"}, {"role": "user", "content": "c"}])";
  EXPECT_EQ(arm->complete(request).text, done.text);
  request.prompt_text.clear();
  request.prompt = {0, 1, 2};
  EXPECT_THROW(arm->complete(request), Error);
  EXPECT_FALSE(arm->capabilities().takes_token_ids);
  EXPECT_FALSE(arm->capabilities().returns_token_ids);
}

TEST(EngineArms, KeepsTheOrderOfRequestsWithManyInFlight) {
  ServedArm arm(toy("llama.cpp", true));
  const auto engine = tools::engines::two_arms(arm.shared(), arm.shared(), 16);
  std::vector<SamplingRequest> requests;
  for (int i = 0; i < 200; ++i) requests.push_back(request_of({i % 8, i / 25}, 1 + i % 5));
  const auto completions = engine->generate(Arm::kSpeculative, requests);
  for (std::size_t i = 0; i < requests.size(); ++i) {
    EXPECT_EQ(completions[i].token_ids.size(), static_cast<std::size_t>(requests[i].max_tokens));
    EXPECT_EQ(completions[i].token_ids, arm->complete(requests[i]).token_ids);
  }
}

TEST(EngineArms, SaysWhichFieldTheEngineRefuses) {
  ServedArm arm(toy("vllm", true));
  SamplingRequest request = request_of({1, 2}, 4);
  request.sampling.min_p = 0.1;  // vLLM has it, but not with speculation
  try {
    arm->complete(request);
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.place(), "request");
    EXPECT_THAT(error.message(), HasSubstr("min_p"));
  }
  request = request_of({1, 2}, 400);
  try {
    arm->complete(request);
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.place(), "max_tokens");
    EXPECT_THAT(error.message(), HasSubstr("256"));
  }
}

TEST(EngineArms, TurnsTextsIntoIdsAndBackWhereTheServerDoes) {
  ServedArm arm(toy("llama.cpp", true));
  const auto ids = arm->tokenize("abd");
  ASSERT_TRUE(ids);
  EXPECT_EQ(*ids, (std::vector<reference::Token>{0, 1, 3}));
  EXPECT_EQ(arm->detokenize(*ids), "abd");
  ServedArm other(toy("openai", true));
  EXPECT_FALSE(other->tokenize("abd"));
}

}  // namespace
}  // namespace draftproof::tests
