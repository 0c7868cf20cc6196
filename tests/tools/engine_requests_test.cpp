// What a request becomes in the words of each engine. Goal: every sampling field is said, in the
// engine's spelling, and what has no word is refused at its field. Method: bodies, compared with
// what the engines' own sources name.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>

#include "reference/error.h"
#include "tools/engines/dialects/dialect.h"

namespace draftproof::tests {
namespace engine_requests {
namespace {

using properties::SamplingRequest;
using tools::engines::Dialect;
using tools::engines::Json;
using tools::engines::Session;

constexpr double kNone = -std::numeric_limits<double>::infinity();

const Session kSession = {
    .model = "served", .vocab_size = 16, .context_max = 64, .adapters = {"/lora/a.gguf"}};

/// Every field that the dialect has a word for, each another value than the usual one.
SamplingRequest full() {
  SamplingRequest request;
  request.prompt = {1, 2, 3};
  request.prompt_text = "abc";
  request.max_tokens = 9;
  request.sampling = {.temperature = 0.75, .top_k = 5, .top_p = 0.5, .min_p = 0.25};
  request.adjustments.penalties = {.repetition = 1.5, .frequency = 0.5, .presence = 0.25};
  request.seed = 77;
  request.ignores_end = false;
  return request;
}

Json body_of(const Dialect& dialect, const SamplingRequest& request) {
  return dialect.call(request, kSession).body;
}

std::string refused_at(const Dialect& dialect, const SamplingRequest& request,
                       const Session& session = kSession) {
  try {
    dialect.call(request, session);
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kInput);
    EXPECT_GT(error.message().size(), 10u) << "a remedy belongs to it";
    return error.place();
  }
  return "";
}

TEST(EngineRequests, SayEverySamplingFieldOfLlamaCpp) {
  SamplingRequest request = full();
  request.logprob_count = 4;
  request.uses_prefix_cache = false;
  request.adjustments.penalties.last_n = 12;
  request.adjustments.logit_bias = {{2, 1.5}, {3, kNone}};
  request.adapter = "a.gguf";
  request.grammar = "[ab]+";
  const Json body = body_of(tools::engines::llama_cpp_dialect(), request);
  const Json wanted = {{"prompt", {1, 2, 3}},
                       {"n_predict", 9},
                       {"temperature", 0.75},
                       {"top_k", 5},
                       {"top_p", 0.5},
                       {"min_p", 0.25},
                       {"samplers", {"penalties", "top_k", "top_p", "min_p", "temperature"}},
                       {"repeat_penalty", 1.5},
                       {"repeat_last_n", 12},
                       {"frequency_penalty", 0.5},
                       {"presence_penalty", 0.25},
                       {"seed", 77},
                       {"ignore_eos", false},
                       {"n_probs", 4},
                       {"cache_prompt", false},
                       {"return_tokens", true},
                       {"logit_bias", {{2, 1.5}, {3, false}}},
                       {"lora", {{{"id", 0}, {"scale", 1.0}}}},
                       {"grammar", "root ::= [ab]+"}};
  for (const auto& [name, value] : wanted.items()) EXPECT_EQ(body.value(name, Json()), value);
  EXPECT_FALSE(body.contains("speculative.n_max"));
  request.seed.reset();
  EXPECT_EQ(body_of(tools::engines::llama_cpp_dialect(), request)["seed"], -1);
  request.adjustments.logit_bias.clear();
  request.adjustments.allowed_ids = {{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13}};
  EXPECT_EQ(body_of(tools::engines::llama_cpp_dialect(), request)["logit_bias"],
            (Json{{14, false}, {15, false}}));
}

TEST(EngineRequests, SayEverySamplingFieldOfVllm) {
  SamplingRequest request = full();
  request.logprob_count = 4;
  request.adjustments.logit_bias = {{2, 1.5}};
  request.adjustments.allowed_ids = {{1, 2}};
  request.adjustments.min_tokens = 2;
  request.adjustments.end_tokens = {0};
  request.stop_token_ids = {7};
  request.grammar = "[ab]+";
  request.adapter = "sql-lora";
  request.is_streamed = true;
  Session session = kSession;
  session.salt = "grain";
  request.uses_prefix_cache = false;
  const Json body = tools::engines::vllm_dialect().call(request, session).body;
  const Json wanted = {{"prompt", {1, 2, 3}},
                       {"model", "sql-lora"},
                       {"max_tokens", 9},
                       {"n", 1},
                       {"temperature", 0.75},
                       {"top_k", 5},
                       {"top_p", 0.5},
                       {"min_p", 0.25},
                       {"repetition_penalty", 1.5},
                       {"frequency_penalty", 0.5},
                       {"presence_penalty", 0.25},
                       {"seed", 77},
                       {"ignore_eos", false},
                       {"min_tokens", 2},
                       {"stop_token_ids", {7}},
                       {"allowed_token_ids", {1, 2}},
                       {"logit_bias", {{"2", 1.5}}},
                       {"logprobs", 4},
                       {"return_token_ids", true},
                       {"return_tokens_as_token_ids", true},
                       {"structured_outputs", {{"regex", "[ab]+"}}},
                       {"cache_salt", "grain"},
                       {"stream", true},
                       {"stream_options", {{"include_usage", true}}}};
  for (const auto& [name, value] : wanted.items())
    EXPECT_EQ(body.value(name, Json()), value) << name;
}

TEST(EngineRequests, SayEverySamplingFieldOfSglang) {
  SamplingRequest request = full();
  request.logprob_count = 4;
  request.adjustments.logit_bias = {{2, 1.5}};
  request.adjustments.min_tokens = 2;
  request.adjustments.end_tokens = {0};
  request.stop_token_ids = {7};
  request.grammar = "[ab]+";
  request.adapter = "sql-lora";
  const Json body = body_of(tools::engines::sglang_dialect(), request);
  EXPECT_EQ(body["input_ids"], Json({1, 2, 3}));
  EXPECT_EQ(body["lora_path"], "sql-lora");
  EXPECT_EQ(body["return_logprob"], true);
  EXPECT_EQ(body["top_logprobs_num"], 4);
  const Json wanted = {{"max_new_tokens", 9},
                       {"temperature", 0.75},
                       {"top_k", 5},
                       {"top_p", 0.5},
                       {"min_p", 0.25},
                       {"repetition_penalty", 1.5},
                       {"frequency_penalty", 0.5},
                       {"presence_penalty", 0.25},
                       {"sampling_seed", 77},
                       {"ignore_eos", false},
                       {"min_new_tokens", 2},
                       {"stop_token_ids", {7}},
                       {"logit_bias", {{"2", 1.5}}},
                       {"regex", "[ab]+"}};
  for (const auto& [name, value] : wanted.items())
    EXPECT_EQ(body["sampling_params"].value(name, Json()), value) << name;
  request.sampling.top_k = 0;
  EXPECT_EQ(body_of(tools::engines::sglang_dialect(), request)["sampling_params"]["top_k"], -1);
  EXPECT_EQ(refused_at(tools::engines::sglang_dialect(), request), "");
  request.ignores_end = true;
  EXPECT_EQ(refused_at(tools::engines::sglang_dialect(), request), "stop_token_ids")
      << "with ignore_eos it looks at none, and answers run on behind one";
}

TEST(EngineRequests, SayEverySamplingFieldOfTensorrtLlmAndNoOther) {
  SamplingRequest request = full();
  request.adjustments.min_tokens = 2;
  request.adjustments.end_tokens = {0};
  request.stop_token_ids = {7};
  request.grammar = "[ab]+";
  const Json body = body_of(tools::engines::tensorrt_llm_dialect(), request);
  const Json wanted = {{"model", "served"},
                       {"prompt", {1, 2, 3}},
                       {"top_k", 5},
                       {"min_p", 0.25},
                       {"repetition_penalty", 1.5},
                       {"seed", 77},
                       {"min_tokens", 2},
                       {"stop_token_ids", {7}},
                       {"detokenize", false},
                       {"response_format", {{"type", "regex"}, {"regex", "[ab]+"}}}};
  for (const auto& [name, value] : wanted.items())
    EXPECT_EQ(body.value(name, Json()), value) << name;
  // The protocol forbids what it does not name.
  for (const char* other : {"return_token_ids", "allowed_token_ids", "cache_salt"})
    EXPECT_FALSE(body.contains(other)) << other;
}

TEST(EngineRequests, SayEverySamplingFieldOfTgi) {
  SamplingRequest request = full();
  request.sampling.min_p = 0;
  request.adjustments.penalties.presence = 0;
  request.logprob_count = 4;
  request.adapter = "sql-lora";
  request.grammar = "[ab]+";
  const Json body = body_of(tools::engines::tgi_dialect(), request);
  EXPECT_EQ(body["inputs"], "abc");
  const Json wanted = {{"do_sample", true},
                       {"max_new_tokens", 9},
                       {"temperature", 0.75},
                       {"top_k", 5},
                       {"top_p", 0.5},
                       {"repetition_penalty", 1.5},
                       {"frequency_penalty", 0.5},
                       {"seed", 77},
                       {"details", true},
                       {"top_n_tokens", 4},
                       {"adapter_id", "sql-lora"},
                       {"grammar", {{"type", "regex"}, {"value", "[ab]+"}}}};
  for (const auto& [name, value] : wanted.items())
    EXPECT_EQ(body["parameters"].value(name, Json()), value) << name;
  request.sampling.temperature = 0;
  EXPECT_EQ(body_of(tools::engines::tgi_dialect(), request)["parameters"]["do_sample"], false);
  request.is_streamed = true;
  EXPECT_EQ(tools::engines::tgi_dialect().call(request, kSession).path, "/generate_stream");
}

/// A thing to ask for, and which engines refuse it where.
struct Wish {
  const char* place;
  std::function<void(SamplingRequest&)> add;
  std::vector<std::string> refusing;
};

TEST(EngineRequests, AreRefusedAtTheFieldThatAProtocolLacks) {
  const std::vector<std::string> all = {"llama.cpp", "vllm",   "sglang",     "tensorrt-llm",
                                        "tgi",       "openai", "openai-chat"};
  const std::vector<Wish> wishes = {
      {"adjustments.bad_words",
       [](auto& r) {
         r.adjustments.bad_words = {{1, 2}};
       },
       all},
      {"adjustments.grammar_mask", [](auto& r) { r.adjustments.grammar_mask.emplace(16, true); },
       all},
      {"sampling.temperature", [](auto& r) { r.sampling.temperature = -kNone; }, all},
      {"max_tokens", [](auto& r) { r.max_tokens = 0; }, all},
      {"seed", [](auto& r) { r.seed = std::uint64_t{1} << 63; }, all},
      {"prompt", [](auto& r) { r.prompt.clear(), r.prompt_text.clear(); }, all},
      {"stop_token_ids",
       [](auto& r) { r.stop_token_ids = {7}; },
       {"llama.cpp", "sglang", "tgi", "openai", "openai-chat"}},
      {"adjustments.min_tokens",
       [](auto& r) { r.adjustments.min_tokens = 2; },
       {"llama.cpp", "tgi", "openai", "openai-chat"}},
      {"adjustments.allowed_ids",
       [](auto& r) { r.adjustments.allowed_ids = {{1}}; },
       {"sglang", "tensorrt-llm", "tgi", "openai", "openai-chat"}},
      {"adjustments.logit_bias",
       [](auto& r) {
         r.adjustments.logit_bias = {{1, kNone}};
       },
       {"vllm", "sglang", "tensorrt-llm", "tgi", "openai", "openai-chat"}},
      {"adjustments.penalties.last_n",
       [](auto& r) { r.adjustments.penalties.last_n = 4; },
       {"vllm", "sglang", "tensorrt-llm", "tgi", "openai", "openai-chat"}},
      {"sampling.top_k", [](auto& r) { r.sampling.top_k = 4; }, {"openai", "openai-chat"}},
      {"sampling.min_p", [](auto& r) { r.sampling.min_p = 0.5; }, {"tgi", "openai", "openai-chat"}},
      {"grammar", [](auto& r) { r.grammar = "a"; }, {"openai", "openai-chat"}},
      {"uses_prefix_cache",
       [](auto& r) { r.uses_prefix_cache = false; },
       {"tensorrt-llm", "tgi", "openai", "openai-chat"}},
      {"adapter", [](auto& r) { r.adapter = "b"; }, {"llama.cpp", "tensorrt-llm"}}};
  for (const Wish& wish : wishes) {
    for (const Dialect* dialect : tools::engines::all_dialects()) {
      SamplingRequest request;
      request.prompt = {1, 2, 3};
      request.prompt_text = "abc";
      EXPECT_EQ(refused_at(*dialect, request), "") << dialect->info().name;
      wish.add(request);
      const bool is_refusing =
          std::count(wish.refusing.begin(), wish.refusing.end(), dialect->info().name) > 0;
      EXPECT_EQ(refused_at(*dialect, request), is_refusing ? wish.place : "")
          << dialect->info().name << " " << wish.place;
    }
  }
}

TEST(EngineRequests, AreRefusedWhereIdsOrRoomDoNotFit) {
  SamplingRequest request;
  request.prompt = {1, 16};
  for (const Dialect* dialect : tools::engines::all_dialects()) {
    if (dialect->info().name.starts_with("openai")) continue;  // the vocabulary is not known
    EXPECT_EQ(refused_at(*dialect, request), "prompt") << dialect->info().name;
  }
  request.prompt = {1, -1};
  EXPECT_EQ(refused_at(tools::engines::vllm_dialect(), request), "prompt");
  request.prompt = {1};
  request.max_tokens = 64;
  EXPECT_EQ(refused_at(tools::engines::vllm_dialect(), request), "max_tokens");
  request.max_tokens = 63;
  EXPECT_EQ(refused_at(tools::engines::vllm_dialect(), request), "");
  request.seed = 0xffffffff;  // llama.cpp would draw one of its own
  EXPECT_EQ(refused_at(tools::engines::llama_cpp_dialect(), request), "seed");
}

}  // namespace
}  // namespace engine_requests
}  // namespace draftproof::tests
