// What dialects make of bodies. Goal: every field means what it means in the engine, and nothing
// that a client asks for is passed over. Method: bodies in, orders or complaints out.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <map>

#include "tests/tools/served_world.h"

namespace draftproof::tests {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using tools::serve::Order;

constexpr double kBan = -std::numeric_limits<double>::infinity();

struct BadBody {
  std::string dialect;
  std::string body;
  std::string complaint;
};

/// A body that is right, with one field added.
std::string with(const std::string& dialect, const std::string& field) {
  const std::string more = field.empty() ? "" : "," + field;
  if (dialect == "sglang") return "{\"input_ids\":[0]" + more + "}";
  return "{\"prompt\":[0]" + more + "}";
}

std::string sampled(const std::string& field) {
  return "{\"input_ids\":[0],\"sampling_params\":{" + field + "}}";
}

std::string repeated(const std::string& text, std::size_t count) {
  std::string all;
  for (std::size_t i = 0; i < count; ++i) all += text;
  return all;
}

std::vector<BadBody> bad_in_every_dialect() {
  std::vector<BadBody> list;
  for (const std::string dialect : {"llama.cpp", "vllm", "sglang", "openai"}) {
    const std::string prompt = dialect == "sglang" ? "input_ids" : "prompt";
    const auto add = [&](const std::string& body, const std::string& complaint) {
      list.push_back({dialect, body, complaint});
    };
    add("", "body: is no JSON");
    add("{", "body: is no JSON");
    add("[]", "body: must be a JSON object");
    add("3", "body: must be a JSON object");
    add("{}", prompt);
    add("{\"" + prompt + "\":[]}", prompt + ": is empty");
    add("{\"" + prompt + "\":{}}", prompt);
    add("{\"" + prompt + "\":[8]}", prompt + "[0]: token 8 is outside the vocabulary of 8");
    add("{\"" + prompt + "\":[-1]}", prompt + "[0]: is -1");
    add("{\"" + prompt + "\":[0.5]}", prompt + "[0]: is 0.5; it must be an integer");
    add("{\"" + prompt + "\":[0,\"a\"]}", prompt + "[1]: is \"a\"");
    add("{\"" + prompt + "\":[9223372036854775808]}", prompt + "[0]: is 9223372036854775808");
    add("{\"" + prompt + "\":[[0],[]]}", prompt + "[1]: is empty");
    add("{\"" + prompt + "\":[" + repeated("[0],", 64) + "[0]]}", "at most 64");
    add("{\"" + prompt + "\":[" + repeated("0,", 300) + "0]}", "leaves no room");
    add("{\"" + prompt + "\":" + repeated("[", 100) + repeated("]", 100) + "}", "more than 64");
    add(with(dialect, "\"no_such_field\":1"), "no_such_field: is no field that is known here");
    add(with(dialect, "\"stream\":\"yes\""), "stream: is \"yes\"; it must be true or false");
    add(with(dialect, "\"x\":1e400"), "body: is no JSON");
    add(with(dialect, "\"x\":NaN"), "body: is no JSON");
    add(std::string("{\"") + prompt + "\":\"\xff\"}", "body: is no JSON");
  }
  return list;
}

std::vector<BadBody> bad_values() {
  const auto llama = [](const std::string& field) { return with("llama.cpp", field); };
  const auto vllm = [](const std::string& field) { return with("vllm", field); };
  return {
      {"llama.cpp", llama("\"temperature\":\"0.5\""),
       "temperature: is \"0.5\"; it must be a number"},
      {"llama.cpp", llama("\"top_p\":1.5"), "top_p: is 1.5"},
      {"llama.cpp", llama("\"n_predict\":9223372036854775808"),
       "n_predict: is 9223372036854775808"},
      {"llama.cpp", llama("\"n_predict\":0"), "n_predict: is 0"},
      {"llama.cpp", llama("\"seed\":-2"), "seed: is -2"},
      {"llama.cpp", llama("\"mirostat\":2"), "mirostat: is not modelled"},
      {"llama.cpp", llama("\"grammar\":\"root ::= x\""), "grammar: is not modelled"},
      {"llama.cpp", llama("\"samplers\":[\"temperature\",\"top_k\"]"), "out of order"},
      {"llama.cpp", llama("\"samplers\":[\"bogus\"]"), "samplers: has bogus"},
      {"llama.cpp", llama("\"logit_bias\":[[8,1]]"), "logit_bias.8: is no id in [0, 8)"},
      {"llama.cpp", llama("\"logit_bias\":{\"007\":1}"), "logit_bias.007: is no id in [0, 8)"},
      {"llama.cpp", llama("\"json_schema\":{\"const\":\"" + repeated("a", 1 << 16) + "\"}"),
       "json_schema: has more than 65536 bytes"},
      {"llama.cpp", llama("\"stop\":[\"\"]"), "stop[0]: must have 1 to 256 bytes"},
      {"llama.cpp", llama("\"stop\":[" + repeated("\"a\",", 1000000) + "\"a\"]"), "at most 16"},
      {"vllm", vllm("\"max_tokens\":0"), "max_tokens: is 0"},
      {"vllm", vllm("\"max_tokens\":9223372036854775807"), "has room for 255"},
      {"vllm", vllm("\"temperature\":-1"), "temperature: is -1"},
      {"vllm", vllm("\"top_p\":0"), "top_p: is 0"},
      {"vllm", vllm("\"n\":65"), "n: is 65"},
      {"vllm", vllm("\"logprobs\":21"), "logprobs: is 21"},
      {"vllm", vllm("\"echo\":true"), "echo: is not modelled"},
      {"vllm", vllm("\"model\":\"gpt\""), "404 model: there is none of this name"},
      {"vllm", vllm("\"stop_token_ids\":[8]"), "stop_token_ids[0]: token 8 is outside"},
      {"vllm", vllm("\"allowed_token_ids\":[]"), "allowed_token_ids: is empty"},
      {"vllm", vllm("\"allowed_token_ids\":[" + repeated("0,", 8) + "0]"),
       "allowed_token_ids: has 9 ids; at most 8 are taken"},
      {"vllm", vllm("\"min_p\":0.1"), "min_p: is not yet supported with speculative decoding"},
      {"vllm", vllm("\"logit_bias\":{\"0\":1}"), "logit_bias: is not yet supported"},
      {"vllm", vllm("\"stream_options\":{}"), "stream_options: is for streams"},
      {"vllm", vllm("\"structured_outputs\":{}"), "structured_outputs: must say one thing"},
      {"vllm", vllm("\"structured_outputs\":{\"regex\":\"(\"}"), "structured_outputs.regex: "},
      {"vllm", vllm("\"response_format\":{\"type\":\"xml\"}"), "response_format.type: must be"},
      {"sglang", sampled("\"bogus\":1"), "sampling_params.bogus: is no field"},
      {"sglang", sampled("\"top_k\":0"), "sampling_params.top_k: is 0"},
      {"sglang", sampled("\"max_new_tokens\":500"), "sampling_params.max_new_tokens: is 500"},
      {"sglang", sampled("\"ebnf\":\"x\""), "sampling_params.ebnf: is not modelled"},
      {"sglang", "{\"input_ids\":[0],\"text\":\"a\"}", "give either input_ids or text"},
      {"sglang", "{\"text\":\"a?\"}", "text: no token of this model spells what stands at byte 1"},
      {"openai", with("openai", "\"temperature\":2.5"), "temperature: is 2.5"},
      {"openai", with("openai", "\"top_k\":3"), "top_k: is no field"},
      {"openai", with("openai", "\"logprobs\":6"), "logprobs: is 6"},
  };
}

void expect_complaints(const std::vector<BadBody>& list) {
  std::map<std::string, std::unique_ptr<ServedWorld>> worlds;
  for (const BadBody& bad : list) {
    auto& world = worlds[bad.dialect];
    if (!world) world = std::make_unique<ServedWorld>(eight_tokens(bad.dialect));
    EXPECT_THAT(world->complaint(bad.body), HasSubstr(bad.complaint))
        << bad.dialect << ' ' << bad.body.substr(0, 80);
  }
}

TEST(DialectRequests, RefusesWhatNoDialectTakesByAComplaintThatNamesTheField) {
  expect_complaints(bad_in_every_dialect());
}

TEST(DialectRequests, RefusesWhatOneDialectDoesNotTakeByAComplaintThatNamesTheField) {
  expect_complaints(bad_values());
}

TEST(DialectRequests, TakesTheLeastBodyOfEveryDialect) {
  for (const std::string dialect : {"llama.cpp", "vllm", "sglang", "openai"}) {
    ServedWorld world(eight_tokens(dialect));
    EXPECT_EQ(world.complaint(with(dialect, "")), "") << dialect;
    EXPECT_THAT(world.order(with(dialect, "")).spec.prompt, ElementsAre(0)) << dialect;
    EXPECT_EQ(world.order(with(dialect, "")).spec.eos, 7) << dialect;
  }
}

TEST(DialectRequests, ListsTheKnownFieldsWhereOneIsUnknown) {
  ServedWorld world(eight_tokens("openai"));
  EXPECT_THAT(world.complaint(R"({"prompt":[0],"max_token":3})"), HasSubstr("max_tokens"));
}

TEST(DialectRequests, HasTheDefaultsOfEachEngine) {
  const reference::Sampling neutral;
  EXPECT_EQ(ServedWorld(eight_tokens("llama.cpp")).order(with("llama.cpp", "")).spec.sampling,
            (reference::Sampling{0.8, 40, 0.95, 0.05}));
  EXPECT_EQ(ServedWorld(eight_tokens("vllm")).order(with("vllm", "")).spec.sampling, neutral);
  const Order sglang = ServedWorld(eight_tokens("sglang")).order(with("sglang", ""));
  EXPECT_EQ(sglang.spec.sampling, (reference::Sampling{1, -1, 1, 0}));
  EXPECT_EQ(sglang.spec.max_tokens, 128);
  EXPECT_EQ(ServedWorld(eight_tokens("vllm")).order(with("vllm", "")).spec.max_tokens, 16);
}

TEST(DialectRequests, LlamaSwitchesOffWhatItsSamplersLeaveOut) {
  ServedWorld world(eight_tokens("llama.cpp"));
  const Order order = world.order(
      R"({"prompt":"ab","samplers":["temperature"],"temperature":0.5,"top_k":3,"min_p":0.1,)"
      R"("repeat_penalty":2,"n_probs":100,"seed":4,"n_predict":5,"speculative.n_max":0})");
  EXPECT_THAT(order.spec.prompt, ElementsAre(0, 1));
  EXPECT_EQ(order.spec.sampling, (reference::Sampling{0.5, 0, 1, 0}));
  EXPECT_EQ(order.spec.adjustments.penalties, reference::Penalties{});
  EXPECT_EQ(order.spec.logprob_count, 8);
  EXPECT_EQ(order.spec.seed, 4u);
  EXPECT_EQ(order.spec.max_tokens, 5);
  EXPECT_FALSE(order.spec.is_speculative);
}

TEST(DialectRequests, LlamaBansTheEndTokenWhereVllmRunsOnBehindIt) {
  const Order llama =
      ServedWorld(eight_tokens("llama.cpp"))
          .order(with("llama.cpp", R"("ignore_eos":true,"logit_bias":[[1,false]])"));
  ASSERT_EQ(llama.spec.adjustments.logit_bias.size(), 2u);
  EXPECT_EQ(llama.spec.adjustments.logit_bias[0], (reference::TokenBias{1, kBan}));
  EXPECT_EQ(llama.spec.adjustments.logit_bias[1], (reference::TokenBias{7, kBan}));
  const Order vllm = ServedWorld(eight_tokens("vllm")).order(with("vllm", R"("ignore_eos":true)"));
  EXPECT_TRUE(vllm.spec.adjustments.logit_bias.empty());
  EXPECT_FALSE(vllm.spec.eos);
}

TEST(DialectRequests, VllmReadsEveryFieldThatChangesALaw) {
  tools::serve::ToySettings settings = eight_tokens("vllm");
  settings.is_speculative = false;
  ServedWorld world(settings);
  const Order order = world.order(
      R"({"model":"toy-hashed","prompt":[0,1],"temperature":0.5,"top_k":3,"top_p":0.9,)"
      R"("min_p":0.1,"repetition_penalty":1.5,"frequency_penalty":0.5,"presence_penalty":-0.5,)"
      R"("logit_bias":{"2":1.5},"allowed_token_ids":[1,2],"bad_words":["ab"],"min_tokens":2,)"
      R"("stop":"ba","include_stop_str_in_output":true,"seed":-3,"max_tokens":7,"logprobs":0,)"
      R"("prompt_logprobs":1})");
  EXPECT_EQ(order.spec.sampling, (reference::Sampling{0.5, 3, 0.9, 0.1}));
  EXPECT_EQ(order.spec.adjustments.penalties, (reference::Penalties{1.5, 0.5, -0.5, {}}));
  EXPECT_EQ(order.spec.adjustments.logit_bias.at(0), (reference::TokenBias{2, 1.5}));
  EXPECT_THAT(order.spec.adjustments.allowed_ids.value(), ElementsAre(1, 2));
  EXPECT_THAT(order.spec.adjustments.bad_words, ElementsAre(ElementsAre(0, 1)));
  EXPECT_EQ(order.spec.adjustments.min_tokens, 2);
  EXPECT_EQ(order.stop_text_min_tokens, 2);
  EXPECT_THAT(order.stop_texts, ElementsAre("ba"));
  EXPECT_TRUE(order.keeps_stop);
  EXPECT_EQ(order.spec.seed, static_cast<std::uint64_t>(-3));
  EXPECT_EQ(order.spec.max_tokens, 7);
  EXPECT_EQ(order.spec.logprob_count, 0);
  EXPECT_EQ(order.prompt_logprob_count, 1);
}

TEST(DialectRequests, MakesOneOrderForEachPromptAndChoice) {
  ServedWorld world(eight_tokens("vllm"));
  const auto exchange = world.read(R"({"prompt":[[0],[1,2]],"n":2,"seed":10})");
  ASSERT_EQ(exchange->orders.size(), 4u);
  EXPECT_THAT(exchange->orders[1].spec.prompt, ElementsAre(0));
  EXPECT_THAT(exchange->orders[2].spec.prompt, ElementsAre(1, 2));
  EXPECT_EQ(exchange->orders[2].spec.seed, 10u);
  EXPECT_EQ(exchange->orders[3].spec.seed, 11u);
}

TEST(DialectRequests, SglangReadsItsSamplingParameters) {
  ServedWorld world(eight_tokens("sglang"));
  const tools::serve::Json body = {{"text", "abc"},
                                   {"sampling_params",
                                    {{"temperature", 1e-7},
                                     {"max_new_tokens", 4},
                                     {"stop_token_ids", {3}},
                                     {"sampling_seed", 9},
                                     {"logit_bias", {{"1", -2}}}}},
                                   {"return_logprob", true},
                                   {"top_logprobs_num", 2},
                                   {"logprob_start_len", 0}};
  const Order order = world.order(body.dump());
  EXPECT_THAT(order.spec.prompt, ElementsAre(0, 1, 2));
  EXPECT_EQ(order.spec.sampling.temperature, 0);
  EXPECT_EQ(order.spec.max_tokens, 4);
  EXPECT_THAT(order.spec.stops, ElementsAre(ElementsAre(3)));
  EXPECT_EQ(order.spec.seed, 9u);
  EXPECT_EQ(order.spec.logprob_count, 2);
  EXPECT_EQ(order.prompt_logprob_count, 2);
}

TEST(DialectRequests, SglangLooksAtNoTokenWhereItIgnoresTheEndTokenAndVllmStillStopsAtOthers) {
  const Order sglang = ServedWorld(eight_tokens("sglang"))
                           .order(sampled(R"("ignore_eos":true,"stop_token_ids":[3],"stop":"a")"));
  EXPECT_FALSE(sglang.spec.eos);
  EXPECT_TRUE(sglang.spec.stops.empty());
  EXPECT_THAT(sglang.stop_texts, ElementsAre("a"));
  const Order vllm = ServedWorld(eight_tokens("vllm"))
                         .order(with("vllm", R"("ignore_eos":true,"stop_token_ids":[3])"));
  EXPECT_THAT(vllm.spec.stops, ElementsAre(ElementsAre(3)));
}

TEST(DialectRequests, ChatReadsWhatMessagesSayOneBehindTheOther) {
  ServedWorld world(eight_tokens("openai"));
  const Order order =
      world.order(R"({"messages":[{"role":"system","content":"ab"},{"role":"user",)"
                  R"("content":[{"type":"text","text":"c"}]}],"max_completion_tokens":3})",
                  1);
  EXPECT_THAT(order.spec.prompt, ElementsAre(0, 1, 2));
  EXPECT_EQ(order.spec.max_tokens, 3);
  EXPECT_THAT(world.complaint(R"({"messages":[{"role":"robot","content":"a"}]})", 1),
              HasSubstr("messages[0].role"));
  EXPECT_THAT(world.complaint(R"({"messages":[]})", 1), HasSubstr("messages: must be an array"));
}

TEST(DialectRequests, AChoiceOfTextsBecomesAGrammar) {
  ServedWorld world(eight_tokens("vllm"));
  const Order order = world.order(with("vllm", R"("structured_outputs":{"choice":["ab","c"]})"));
  ASSERT_TRUE(order.spec.grammar);
  const auto& grammar = *order.spec.grammar;
  EXPECT_TRUE(grammar.behind(std::vector<reference::Token>{0, 1, 7}));
  EXPECT_TRUE(grammar.behind(std::vector<reference::Token>{2, 7}));
  EXPECT_FALSE(grammar.behind(std::vector<reference::Token>{1}));
}

TEST(DialectRequests, ASchemaBecomesAGrammarAndWhatItLacksIsNamed) {
  tools::serve::ToySettings settings = eight_tokens("sglang");
  settings.vocab_size = 64;
  settings.spelling = "json";
  settings.eos = 0;
  ServedWorld world(settings);
  const auto body = [](const std::string& schema) {
    return R"({"input_ids":[1],"sampling_params":{"json_schema":)" + schema + "}}";
  };
  EXPECT_TRUE(world.order(body(R"({"type":"boolean"})")).spec.grammar);
  EXPECT_TRUE(world.order(body(R"("{\"type\":\"integer\"}")")).spec.grammar);
  EXPECT_TRUE(world
                  .order(body(R"({"type":"object","properties":{"a":{"type":"null"}},)"
                              R"("required":["a"]})"))
                  .spec.grammar);
  EXPECT_THAT(world.complaint(body(R"({"type":"string","pattern":"a"})")),
              HasSubstr("sampling_params.json_schema.pattern: is no field"));
  EXPECT_THAT(world.complaint(body(R"({"type":"object","properties":{"a":{"type":"null"}}})")),
              HasSubstr("properties.a: may be left out"));
}

TEST(DialectRequests, AGrammarNeedsAnEndToken) {
  tools::serve::ToySettings settings = eight_tokens("vllm");
  settings.eos.reset();
  ServedWorld world(settings);
  EXPECT_THAT(world.complaint(with("vllm", R"("structured_outputs":{"regex":"a"})")),
              HasSubstr("serve one with --eos"));
}

}  // namespace
}  // namespace draftproof::tests
