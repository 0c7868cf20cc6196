// What dialects write. Goal: the fields that clients of the real engines read, with what happened
// in them. Method: completions made by hand in, JSON out; a stream must say what the whole does.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "tests/tools/served_world.h"
#include "tools/engines/http.h"

namespace draftproof::tests {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using tools::serve::Completion;
using tools::serve::FinishReason;
using tools::serve::Json;
using tools::serve::Totals;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// What a world of eight tokens answers in a dialect's words.
Json answer_of(const std::string& dialect, const std::string& body,
               const std::vector<Completion>& done = {completion_of_two()},
               std::size_t endpoint = 0) {
  ServedWorld world(eight_tokens(dialect));
  return world.read(body, endpoint)->answer(done);
}

/// The payloads of a stream that shows one token, then all.
std::vector<std::string> stream_of(ServedWorld& world, const std::string& body,
                                   const Completion& done, std::size_t endpoint = 0) {
  const auto exchange = world.read(body, endpoint);
  Completion first = done;
  first.tokens.resize(1);
  first.text_offsets.resize(1);
  first.text.resize(done.text_offsets[1]);
  first.finish = FinishReason::kNone;
  tools::http::EventReader reader;
  return reader.add(exchange->piece(0, first, 0) + exchange->piece(0, done, 1) +
                    exchange->last_piece({done}));
}

std::string page(ServedWorld& world, const std::string& path, const Totals& totals = {}) {
  for (const auto& each : world.options.dialect.pages)
    if (each.path == path) return each.body(world.served, totals);
  return "no such page";
}

Completion stopped_by_text() {
  Completion done = completion_of_two();
  done.finish = FinishReason::kStop;
  done.stop_text = "d";
  return done;
}

Completion ended_by(FinishReason finish, reference::Token token) {
  Completion done = completion_of_two();
  done.finish = finish;
  done.stop_token = token;
  return done;
}

TEST(LlamaAnswers, CarryIdsProbabilitiesTimingsAndAnEcho) {
  const Json out = answer_of(
      "llama.cpp", R"({"prompt":[0],"return_tokens":true,"n_probs":2,"seed":5,"n_predict":2})");
  EXPECT_EQ(out["content"], "bc");
  EXPECT_EQ(out["tokens"], Json({1, 2}));
  EXPECT_EQ(out["stop"], true);
  EXPECT_EQ(out["stop_type"], "limit");
  EXPECT_EQ(out["truncated"], false);
  EXPECT_EQ(out["tokens_predicted"], 2);
  EXPECT_EQ(out["tokens_evaluated"], 1);
  EXPECT_EQ(out["timings"]["draft_n"], 2);
  EXPECT_EQ(out["timings"]["draft_n_accepted"], 1);
  EXPECT_EQ(out["generation_settings"]["seed"], 5);
  EXPECT_EQ(out["generation_settings"]["temperature"], 0.8);
  EXPECT_EQ(out["generation_settings"]["speculative.n_max"], 3);
  const Json& second = out["completion_probabilities"][1];
  EXPECT_EQ(second["id"], 2);
  EXPECT_EQ(second["token"], "c");
  EXPECT_EQ(second["bytes"], Json({99}));
  EXPECT_EQ(second["logprob"], -1.0);
  EXPECT_EQ(second["top_logprobs"][0]["id"], 1);
}

TEST(LlamaAnswers, SayWhatStopped) {
  const auto said = [&](const Completion& done) {
    return answer_of("llama.cpp", R"({"prompt":[0]})", {done});
  };
  EXPECT_EQ(said(stopped_by_text())["stop_type"], "word");
  EXPECT_EQ(said(stopped_by_text())["stopping_word"], "d");
  EXPECT_EQ(said(ended_by(FinishReason::kEos, 7))["stop_type"], "eos");
  Completion full = completion_of_two();
  full.finish = FinishReason::kContext;
  EXPECT_EQ(said(full)["truncated"], true);
  EXPECT_EQ(said(completion_of_two())["tokens"], Json::array());
}

TEST(LlamaAnswers, HaveNoDraftCountersWithoutADraft) {
  Completion done = completion_of_two();
  done.metrics.drafted = done.metrics.accepted = 0;
  EXPECT_FALSE(answer_of("llama.cpp", R"({"prompt":[0]})", {done})["timings"].contains("draft_n"));
}

TEST(LlamaAnswers, AreAnArrayForSeveralPrompts) {
  const Json out =
      answer_of("llama.cpp", R"({"prompt":[[0],[1]]})", {completion_of_two(), completion_of_two()});
  ASSERT_TRUE(out.is_array());
  EXPECT_EQ(out[1]["index"], 1);
}

TEST(LlamaAnswers, StreamOneEventATokenAndThenTheEndWithoutAMarker) {
  ServedWorld world(eight_tokens("llama.cpp"));
  const auto events =
      stream_of(world, R"({"prompt":[0],"stream":true,"n_probs":1})", completion_of_two());
  ASSERT_EQ(events.size(), 3u);
  EXPECT_EQ(Json::parse(events[0])["content"], "b");
  EXPECT_EQ(Json::parse(events[1])["tokens"], Json({2}));
  EXPECT_EQ(Json::parse(events[1])["completion_probabilities"][0]["id"], 2);
  EXPECT_EQ(Json::parse(events[2])["stop"], true);
  EXPECT_EQ(Json::parse(events[2])["content"], "");
}

TEST(LlamaAnswers, WriteZeroProbabilityAsTheServerDoes) {
  Completion done = completion_of_two();
  done.tokens[0].raw_logprob = -kInfinity;
  const Json out = answer_of("llama.cpp", R"({"prompt":[0],"n_probs":1})", {done});
  EXPECT_EQ(out["completion_probabilities"][0]["logprob"],
            static_cast<double>(std::numeric_limits<float>::lowest()));
}

TEST(LlamaPages, SayWhatIsServed) {
  ServedWorld world(eight_tokens("llama.cpp"));
  EXPECT_EQ(page(world, "/health"), R"({"status":"ok"})");
  const Json props = Json::parse(page(world, "/props"));
  EXPECT_EQ(props["total_slots"], 64);
  EXPECT_EQ(props["default_generation_settings"]["params"]["top_k"], 40);
  Totals totals;
  totals.unfinished = 1;
  const Json slots = Json::parse(page(world, "/slots", totals));
  EXPECT_EQ(slots.size(), 64u);
  EXPECT_EQ(slots[0]["is_processing"], true);
  EXPECT_EQ(slots[1]["is_processing"], false);
  const auto& forms = world.options.dialect.forms;
  EXPECT_EQ(forms[0].answer({{"content", "ba"}}, world.served)["tokens"], Json({1, 0}));
  EXPECT_EQ(forms[1].answer({{"tokens", {1, 0}}}, world.served)["content"], "ba");
}

TEST(VllmAnswers, CarryIdsLogprobsAndUsage) {
  const Json out = answer_of("vllm", R"({"prompt":[0],"logprobs":2,"return_token_ids":true})");
  const Json& choice = out["choices"][0];
  EXPECT_EQ(out["object"], "text_completion");
  EXPECT_EQ(choice["text"], "bc");
  EXPECT_EQ(choice["finish_reason"], "length");
  EXPECT_EQ(choice["stop_reason"], nullptr);
  EXPECT_EQ(choice["token_ids"], Json({1, 2}));
  EXPECT_EQ(choice["prompt_token_ids"], Json({0}));
  EXPECT_EQ(choice["logprobs"]["tokens"], Json({"b", "c"}));
  EXPECT_EQ(choice["logprobs"]["token_logprobs"], Json({-0.5, -1.0}));
  EXPECT_EQ(choice["logprobs"]["text_offset"], Json({0, 1}));
  EXPECT_EQ(choice["logprobs"]["top_logprobs"][0], Json({{"b", -0.5}, {"c", -1.5}}));
  EXPECT_EQ(out["usage"],
            Json({{"prompt_tokens", 1}, {"completion_tokens", 2}, {"total_tokens", 3}}));
}

TEST(VllmAnswers, NameTokensByIdWhereAsked) {
  const Json out =
      answer_of("vllm", R"({"prompt":[0],"logprobs":1,"return_tokens_as_token_ids":true})");
  EXPECT_EQ(out["choices"][0]["logprobs"]["tokens"], Json({"token_id:1", "token_id:2"}));
  EXPECT_EQ(out["choices"][0]["token_ids"], nullptr);
}

TEST(VllmAnswers, SayWhatStopped) {
  const auto said = [&](const Completion& done) {
    return answer_of("vllm", R"({"prompt":[0]})", {done})["choices"][0];
  };
  EXPECT_EQ(said(stopped_by_text())["stop_reason"], "d");
  EXPECT_EQ(said(ended_by(FinishReason::kStop, 2))["stop_reason"], 2);
  EXPECT_EQ(said(ended_by(FinishReason::kEos, 7))["stop_reason"], nullptr);
  EXPECT_EQ(said(ended_by(FinishReason::kEos, 7))["finish_reason"], "stop");
}

TEST(VllmAnswers, CountAPromptOfSeveralChoicesOnce) {
  const Completion one = completion_of_two();
  const Json out = answer_of("vllm", R"({"prompt":[[0],[1]],"n":2})", {one, one, one, one});
  EXPECT_EQ(out["usage"]["prompt_tokens"], 2);
  EXPECT_EQ(out["usage"]["completion_tokens"], 8);
  EXPECT_EQ(out["choices"][3]["index"], 3);
}

TEST(VllmAnswers, ShowPromptLogprobsByIdWithANullForTheFirst) {
  Completion done = completion_of_two();
  done.prompt = {0, 3};
  done.prompt_logprobs = {{3, -2.0, -2.0, {{1, -0.5}}}};
  const Json list = answer_of("vllm", R"({"prompt":[0,3],"prompt_logprobs":1})",
                              {done})["choices"][0]["prompt_logprobs"];
  EXPECT_EQ(list[0], nullptr);
  EXPECT_EQ(list[1]["3"]["logprob"], -2.0);
  EXPECT_EQ(list[1]["1"]["rank"], 1);
  EXPECT_EQ(list[1]["1"]["decoded_token"], "b");
}

TEST(VllmAnswers, StreamChunksUsageAndAMarker) {
  ServedWorld world(eight_tokens("vllm"));
  const auto events = stream_of(
      world,
      R"({"prompt":[0],"stream":true,"stream_options":{"include_usage":true},"logprobs":0,)"
      R"("return_token_ids":true})",
      completion_of_two());
  ASSERT_EQ(events.size(), 4u);
  const Json first = Json::parse(events[0])["choices"][0];
  const Json second = Json::parse(events[1])["choices"][0];
  EXPECT_EQ(first["text"], "b");
  EXPECT_EQ(first["finish_reason"], nullptr);
  EXPECT_EQ(first["prompt_token_ids"], Json({0}));
  EXPECT_EQ(second["text"], "c");
  EXPECT_EQ(second["token_ids"], Json({2}));
  EXPECT_EQ(second["logprobs"]["text_offset"], Json({1}));
  EXPECT_EQ(second["finish_reason"], "length");
  EXPECT_EQ(Json::parse(events[2])["usage"]["total_tokens"], 3);
  EXPECT_EQ(events[3], "[DONE]");
}

TEST(VllmPages, CountSpeculationWhereItIsOnOnly) {
  ServedWorld on(eight_tokens("vllm"));
  Totals totals;
  totals.drafts = 4;
  totals.drafted = 12;
  totals.accepted = 5;
  totals.accepted_histogram = {3, 3, 1};
  totals.finished[FinishReason::kLength] = 2;
  const std::string text = page(on, "/metrics", totals);
  EXPECT_THAT(text, HasSubstr("vllm:spec_decode_num_drafts_total{engine=\"0\","
                              "model_name=\"toy-hashed\"} 4.0\n"));
  EXPECT_THAT(text, HasSubstr("position=\"0\"} 4.0\n"));
  EXPECT_THAT(text, HasSubstr("position=\"1\"} 1.0\n"));
  EXPECT_THAT(text, HasSubstr("position=\"2\"} 0.0\n"));
  EXPECT_THAT(text, HasSubstr("finished_reason=\"length\"} 2.0\n"));
  EXPECT_EQ(Json::parse(page(on, "/server_info"))["vllm_config"]["speculative_config"]["method"],
            "draft_model");
  tools::serve::ToySettings settings = eight_tokens("vllm");
  settings.is_speculative = false;
  ServedWorld off(settings);
  EXPECT_THAT(page(off, "/metrics", totals), testing::Not(HasSubstr("spec_decode")));
  EXPECT_EQ(Json::parse(page(off, "/server_info"))["vllm_config"]["speculative_config"], nullptr);
  EXPECT_EQ(Json::parse(page(off, "/v1/models"))["data"][0]["id"], "toy-hashed");
}

TEST(SglangAnswers, CarryIdsLogprobsAndCountersOfSpeculation) {
  const Json out = answer_of(
      "sglang", R"({"input_ids":[0],"return_logprob":true,"top_logprobs_num":1,"rid":"x"})");
  EXPECT_EQ(out["text"], "bc");
  EXPECT_EQ(out["output_ids"], Json({1, 2}));
  const Json& meta = out["meta_info"];
  EXPECT_EQ(meta["id"], "x");
  EXPECT_EQ(meta["finish_reason"], Json({{"type", "length"}, {"length", 2}}));
  EXPECT_EQ(meta["completion_tokens"], 2);
  EXPECT_EQ(meta["output_token_logprobs"], Json({{-0.5, 1, nullptr}, {-1.0, 2, nullptr}}));
  EXPECT_EQ(meta["output_top_logprobs"][0][0], Json({-0.5, 1, nullptr}));
  EXPECT_EQ(meta["spec_verify_ct"], 2);
  EXPECT_EQ(meta["spec_accept_length"], 1.0);
  EXPECT_EQ(meta["spec_accept_rate"], 0.5);
  EXPECT_EQ(meta["spec_num_correct_drafts"], 1);
  EXPECT_EQ(meta["spec_num_proposed_drafts"], 2);
}

TEST(SglangAnswers, SayWhatMatched) {
  const auto said = [&](const Completion& done) {
    return answer_of("sglang", R"({"input_ids":[0]})", {done})["meta_info"]["finish_reason"];
  };
  EXPECT_EQ(said(stopped_by_text()), Json({{"type", "stop"}, {"matched", "d"}}));
  EXPECT_EQ(said(ended_by(FinishReason::kEos, 7)), Json({{"type", "stop"}, {"matched", 7}}));
}

TEST(SglangAnswers, StreamTheWholeSoFarAndAMarker) {
  ServedWorld world(eight_tokens("sglang"));
  const auto events = stream_of(world, R"({"input_ids":[0],"stream":true})", completion_of_two());
  ASSERT_EQ(events.size(), 3u);
  EXPECT_EQ(Json::parse(events[0])["text"], "b");
  EXPECT_EQ(Json::parse(events[0])["meta_info"]["finish_reason"], nullptr);
  EXPECT_EQ(Json::parse(events[1])["text"], "bc");
  EXPECT_EQ(Json::parse(events[1])["output_ids"], Json({1, 2}));
  EXPECT_EQ(events[2], "[DONE]");
}

TEST(OpenaiAnswers, ChatSaysAMessageAndStreamsDeltas) {
  ServedWorld world(eight_tokens("openai"));
  const std::string body =
      R"({"messages":[{"role":"user","content":"a"}],"logprobs":true,"top_logprobs":1)";
  const Json out = answer_of("openai", body + "}", {completion_of_two()}, 1);
  EXPECT_EQ(out["object"], "chat.completion");
  EXPECT_EQ(out["choices"][0]["message"], Json({{"role", "assistant"}, {"content", "bc"}}));
  EXPECT_EQ(out["choices"][0]["logprobs"]["content"][1]["logprob"], -1.0);
  EXPECT_FALSE(out["choices"][0].contains("token_ids"));
  const auto events = stream_of(world, body + R"(,"stream":true})", completion_of_two(), 1);
  ASSERT_EQ(events.size(), 3u);
  EXPECT_EQ(Json::parse(events[0])["object"], "chat.completion.chunk");
  EXPECT_EQ(Json::parse(events[1])["choices"][0]["delta"]["content"], "c");
  EXPECT_EQ(events[2], "[DONE]");
}

TEST(DialectErrors, HaveTheShapeOfTheirEngine) {
  const auto error = [](const char* name, int status) {
    return Json::parse(tools::serve::dialect(name).error(status, "why"))["error"];
  };
  EXPECT_EQ(error("llama.cpp", 400),
            Json({{"code", 400}, {"message", "why"}, {"type", "invalid_request_error"}}));
  EXPECT_EQ(error("llama.cpp", 503)["type"], "unavailable_error");
  EXPECT_EQ(error("vllm", 404)["type"], "NotFoundError");
  EXPECT_EQ(error("vllm", 404)["code"], 404);
  EXPECT_EQ(error("sglang", 400), Json({{"message", "why"}}));
  EXPECT_EQ(error("openai", 400)["type"], "invalid_request_error");
  EXPECT_THROW(tools::serve::dialect("tgi"), Error);
}

}  // namespace
}  // namespace draftproof::tests
