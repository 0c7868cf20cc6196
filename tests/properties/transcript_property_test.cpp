// Transcripts: whatever was observed reads back as the same value, and a line that says something
// we would not read is refused by name instead of being half understood.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>

#include "properties/random.h"
#include "properties/transcript.h"
#include "reference/error.h"

namespace draftproof::properties {
namespace {

using ::testing::HasSubstr;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// Doubles of every size, subnormal and infinite ones too.
double any_number(Random& random) {
  switch (random.below(6)) {
    case 0:
      return -kInfinity;
    case 1:
      return -std::ldexp(random.unit(), -1060);
    case 2:
      return static_cast<double>(random.between(-3, 3));
    default:
      return std::ldexp(random.unit() - 0.5, random.between(-70, 70));
  }
}

template <class Value, class Make>
std::vector<Value> some(Random& random, Make make) {
  std::vector<Value> list(random.below(4));
  for (Value& each : list) each = make();
  return list;
}

SamplingRequest any_request(Random& random) {
  const auto token = [&] { return static_cast<reference::Token>(random.below(1 << 18)); };
  const auto tokens = [&] { return some<reference::Token>(random, token); };
  SamplingRequest request;
  request.prompt = tokens();
  request.prompt.push_back(token());
  request.sampling = {std::fabs(any_number(random)), random.between(-1, 50), random.unit(),
                      random.unit()};
  if (random.once_in(2)) {
    auto& adjustments = request.adjustments;
    adjustments.penalties = {1 + random.unit(), random.unit(), -random.unit(), {}};
    if (random.once_in(2)) adjustments.penalties.last_n = random.between(-1, 64);
    adjustments.logit_bias = some<reference::TokenBias>(random, [&] {
      return reference::TokenBias{token(), any_number(random)};
    });
    if (random.once_in(2)) adjustments.allowed_ids = tokens();
    adjustments.bad_words = some<std::vector<reference::Token>>(random, tokens);
    adjustments.min_tokens = random.between(0, 3);
    adjustments.end_tokens = tokens();
    if (random.once_in(2)) adjustments.grammar_mask = std::vector<bool>{true, false, true};
  }
  request.max_tokens = random.between(0, 99);
  if (random.once_in(2)) request.seed = random.bits();
  request.logprob_count = random.between(-1, 5);
  request.ignores_end = random.once_in(2);
  request.stop_token_ids = tokens();
  if (random.once_in(2)) request.grammar = "a|\"\\n\xC3\xA9";
  if (random.once_in(2)) request.prompt_text = "line\nbreak \x01";
  if (random.once_in(2)) request.adapter = "adapter";
  request.is_streamed = random.once_in(2);
  request.uses_prefix_cache = random.once_in(2);
  return request;
}

Completion any_completion(Random& random) {
  const auto token = [&] { return static_cast<reference::Token>(random.between(-2, 1 << 18)); };
  const auto number = [&] { return any_number(random); };
  Completion completion;
  completion.token_ids = some<reference::Token>(random, token);
  completion.end = static_cast<CompletionEnd>(random.below(3));
  if (random.once_in(2)) completion.failure = "HTTP 500: \"broken\"";
  if (random.once_in(3)) completion.failure_cause = FailureCause::kTransport;
  if (random.once_in(2)) completion.counters = {random.between(-1, 9), random.between(0, 9), 3};
  completion.logprobs = some<double>(random, number);
  completion.top_logprobs = some<std::vector<TokenLogprob>>(random, [&] {
    return some<TokenLogprob>(random, [&] { return TokenLogprob{token(), number()}; });
  });
  completion.steps = some<VerifyStep>(random, [&] {
    return VerifyStep{some<reference::Token>(random, token), random.between(0, 3),
                      some<double>(random, number), some<double>(random, number)};
  });
  if (random.once_in(2)) completion.text = "\xE2\x82\xAC and a tab\t";
  if (random.once_in(2)) completion.finish_reason = "eos_token";
  if (random.once_in(2))
    completion.timing = {number(), number(), number(), some<double>(random, number),
                         some<int>(random, [&] { return random.between(0, 4); })};
  return completion;
}

Transcript any_transcript(Random& random) {
  Transcript transcript;
  transcript.key = {static_cast<Arm>(random.below(2)), "t0.7-k8/two words", random.bits(),
                    random.once_in(3) ? kScoreRepeat : static_cast<std::uint32_t>(random.below(3))};
  transcript.request = any_request(random);
  transcript.completion = any_completion(random);
  transcript.logprob_kind = static_cast<LogprobKind>(random.below(3));
  return transcript;
}

TEST(Transcript, ReadsBackAsTheSameValue) {
  Random random(11);
  for (int i = 0; i < 2000; ++i) {
    const Transcript transcript = any_transcript(random);
    const std::string line = line_of(transcript);
    EXPECT_EQ(line.find('\n'), std::string::npos);
    ASSERT_EQ(transcript_from(line, "line 1"), transcript) << line;
    EXPECT_EQ(line_of(transcript_from(line, "line 1")), line);
  }
}

TEST(Transcript, WritesProbabilityZeroAsAWord) {
  Transcript transcript;
  transcript.key.case_id = "a";
  transcript.request.prompt = {1};
  transcript.completion.token_ids = {7};
  transcript.completion.logprobs = {-kInfinity};
  transcript.logprob_kind = LogprobKind::kRaw;
  EXPECT_THAT(line_of(transcript),
              HasSubstr(R"("logprobs":[{"id":7,"logprob":"-inf","kind":"raw"}])"));
}

constexpr const char* kLeast =
    R"({"schema":"draftproof/transcript/1","arm":"speculative","case":"a/b","trial":3,)"
    R"("prompt_token_ids":[1,2],"token_ids":[5],"finish_reason":"length",)"
    R"("sampling":{"temperature":0.7,"max_tokens":1}})";

TEST(Transcript, NeedsNoMoreThanWhatEveryEngineTells) {
  const Transcript transcript = transcript_from(kLeast, "");
  EXPECT_EQ(transcript.key, (TrialKey{Arm::kSpeculative, "a/b", 3, 0}));
  EXPECT_EQ(transcript.completion.end, CompletionEnd::kLength);
  EXPECT_FALSE(transcript.completion.counters);
  EXPECT_FALSE(transcript.request.seed);
}

struct Refusal {
  const char* name;
  std::string from, to, complaint;
};

class RefusedTranscript : public ::testing::TestWithParam<Refusal> {};

TEST_P(RefusedTranscript, SaysWhichFieldAndWhatItMayBe) {
  std::string line = kLeast;
  const auto at = line.find(GetParam().from);
  ASSERT_NE(at, std::string::npos);
  line.replace(at, GetParam().from.size(), GetParam().to);
  try {
    transcript_from(line, "FILE:4");
    FAIL() << "was read: " << line;
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("FILE:4: "));
    EXPECT_THAT(error.what(), HasSubstr(GetParam().complaint));
  }
}

INSTANTIATE_TEST_SUITE_P(
    Lines, RefusedTranscript,
    ::testing::Values(
        Refusal{"UnknownField", R"("trial":3)", R"("trail":3)", "unknown field 'trail'; known: "},
        Refusal{"UnknownSampling", R"("max_tokens":1)", R"("max_tokens":1,"topk":3)",
                "sampling has the unknown field 'topk'; known: temperature, top_k"},
        Refusal{"OtherSchema", "transcript/1", "transcript/2", "draftproof/transcript/1"},
        Refusal{"WrongArm", "speculative", "draft", "known: baseline, speculative"},
        Refusal{"NoJson", "{", "[{", "one object a line"},
        Refusal{"TokenNoNumber", "[5]", "[5.5]", "token_ids[0] should be an integer"},
        Refusal{"EndNotTold", R"("finish_reason":"length")", R"("finish_reason":"eos")",
                "which of length, stop and failed"},
        Refusal{"NoPrompt", "[1,2]", "[]", "where there is no 'prompt_text'"},
        Refusal{"OtherId", R"("trial":3)", R"("trial":3,"logprobs":[{"id":4,"logprob":-1}])",
                "logprobs[0].id should be token_ids[0]"},
        Refusal{"Gap", R"("trial":3)", R"("trial":3,"logprobs":[{"id":5},{"logprob":-1}])",
                "logprobs[1] has 'logprob', which an entry before it lacks"},
        Refusal{"TwoKinds", R"("trial":3)",
                R"("trial":3,"logprobs":[{"logprob":-1,"kind":"raw"},{"logprob":-1}])",
                "logprobs[1] lacks 'kind'"},
        Refusal{"NegativeTrial", R"("trial":3)", R"("trial":-3)", "trial should be an integer"}),
    [](const auto& tested) { return tested.param.name; });

}  // namespace
}  // namespace draftproof::properties
