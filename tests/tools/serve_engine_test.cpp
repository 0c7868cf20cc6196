// The server in this process, over loopback. Goal: what comes out of a socket is what the engine
// emitted. Method: a service of a toy on a free port, real clients; two arms with equal seeds and
// greedy requests say what must be equal.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cmath>
#include <thread>

#include "tests/tools/served_service.h"

namespace draftproof::tests {
namespace {

using testing::MatchesRegex;

TEST(Serve, GivesTokensAndCountsDrafts) {
  Served served(hashed());
  const Json out = served.post("/completion", neutral({0, 1, 2}, 24));
  EXPECT_EQ(out["tokens"].size(), 24u);
  EXPECT_EQ(out["content"].get<std::string>().size(), 24u);
  EXPECT_GT(out["timings"]["draft_n"], 0);
  EXPECT_LE(out["timings"]["draft_n_accepted"], out["timings"]["draft_n"]);
  const auto totals = served.service().totals();
  EXPECT_EQ(totals.completion_tokens, 24);
  EXPECT_GT(totals.drafts, 0);
  EXPECT_LE(totals.drafts, totals.verifications);
  EXPECT_LE(totals.drafted, 3 * totals.drafts);
  EXPECT_TRUE(becomes_idle(served.service()));
}

TEST(Serve, GivesTheSameGreedyTokensWithAndWithoutSpeculation) {
  for (const char* drafts : {"model", "greedy", "lookup", "tree"}) {
    ToySettings on = hashed();
    on.drafts = drafts;
    ToySettings off = on;
    off.is_speculative = false;
    Served speculative(on), baseline(off);
    Json body = neutral({0, 1, 2, 0, 1, 2}, 40);
    body["temperature"] = 0;
    const Json a = speculative.post("/completion", body);
    const Json b = baseline.post("/completion", body);
    EXPECT_EQ(a["tokens"], b["tokens"]) << drafts;
    EXPECT_TRUE(a["timings"].contains("draft_n")) << drafts;
    EXPECT_FALSE(b["timings"].contains("draft_n"));
    body["prompt"] = {0, 1, 3};
    EXPECT_NE(speculative.post("/completion", body)["tokens"], b["tokens"]) << "nothing compared";
  }
}

TEST(Serve, GivesOtherGreedyTokensWithABugThatChangesALaw) {
  Json body = neutral({0, 1, 2, 0, 1, 2}, 40);
  body["temperature"] = 0;
  Served right(hashed());
  const Json tokens = right.post("/completion", body)["tokens"];
  for (const auto& [bug, is_lossy] :
       {std::pair{"history_masked_out", true}, {"nothing_kept_for_its_contents", false}}) {
    ToySettings settings = hashed();
    settings.bug = bug;
    Served served(settings);
    EXPECT_EQ(served.post("/completion", body)["tokens"] != tokens, is_lossy) << bug;
  }
}

TEST(Serve, GivesEqualTokensForEqualSeedsAndOthersForOthers) {
  Served served(hashed());
  const Json body = neutral({0}, 30);
  const Json first = served.post("/completion", body)["tokens"];
  EXPECT_EQ(served.post("/completion", body)["tokens"], first);
  Json other = body;
  other["seed"] = 4;
  EXPECT_NE(served.post("/completion", other)["tokens"], first);
}

/// Body, endpoint and where a whole answer and an event of a stream have their text.
struct Stream {
  std::string dialect;
  std::string path;
  Json body;
  std::string whole, part;
  bool is_cumulative = false;
};

TEST(Serve, StreamsWhatItGivesAsAWhole) {
  const Json chat = {{"messages", {{{"role", "user"}, {"content", "abc"}}}},
                     {"seed", 3},
                     {"max_tokens", 30},
                     {"stop", "ab"}};
  const Json text = {{"prompt", {0, 1, 2}}, {"seed", 3}, {"max_tokens", 30}, {"stop", "ab"}};
  Json llama = neutral({0, 1, 2}, 30);
  llama["stop"] = {"ab"};
  const std::vector<Stream> streams = {
      {"llama.cpp", "/completion", llama, "/content", "/content"},
      {"vllm", "/v1/completions", text, "/choices/0/text", "/choices/0/text"},
      {"openai", "/v1/completions", text, "/choices/0/text", "/choices/0/text"},
      {"openai", "/v1/chat/completions", chat, "/choices/0/message/content",
       "/choices/0/delta/content"},
      {"sglang",
       "/generate",
       {{"input_ids", {0, 1, 2}},
        {"sampling_params", {{"sampling_seed", 3}, {"max_new_tokens", 30}, {"stop", "ab"}}}},
       "/text",
       "/text",
       true}};
  for (const Stream& each : streams) {
    Served served(hashed(each.dialect));
    const Json whole = served.post(each.path, each.body);
    Json body = each.body;
    body["stream"] = true;
    tools::http::EventReader reader;
    std::vector<std::string> events;
    const Reply reply = served.client().post_streaming(each.path, body.dump(), [&](auto bytes) {
      for (auto& event : reader.add(bytes)) events.push_back(event);
      return true;
    });
    EXPECT_EQ(reply.status, 200);
    EXPECT_EQ(reply.type, "text/event-stream");
    std::string text_of_stream;
    for (const std::string& event : events) {
      if (event == "[DONE]") continue;
      const std::string piece = Json::parse(event).at(Json::json_pointer(each.part));
      text_of_stream = each.is_cumulative ? piece : text_of_stream + piece;
    }
    EXPECT_EQ(text_of_stream, whole.at(Json::json_pointer(each.whole))) << each.path;
    EXPECT_GT(events.size(), 1u) << each.path;
    EXPECT_EQ(events.back() == "[DONE]", each.dialect != "llama.cpp") << each.path;
  }
}

TEST(Serve, CutsTextIdsAndLogprobsAlikeAtATextStop) {
  Served served(hashed("vllm"));
  Json body = {{"prompt", {0, 1, 2}},      {"seed", 1},     {"max_tokens", 60},
               {"return_token_ids", true}, {"logprobs", 0}, {"temperature", 1.0}};
  const Json free = served.post("/v1/completions", body)["choices"][0];
  const std::string text = free["text"];
  // A stop of three letters from the middle: it lies across verifications somewhere.
  const std::string stop = text.substr(20, 3);
  body["stop"] = stop;
  const Json cut = served.post("/v1/completions", body)["choices"][0];
  const std::size_t at = text.find(stop);
  EXPECT_EQ(cut["text"], text.substr(0, at));
  EXPECT_EQ(cut["token_ids"].size(), at);
  EXPECT_EQ(cut["logprobs"]["tokens"].size(), at);
  EXPECT_EQ(cut["finish_reason"], "stop");
  EXPECT_EQ(cut["stop_reason"], stop);
  body["include_stop_str_in_output"] = true;
  EXPECT_EQ(served.post("/v1/completions", body)["choices"][0]["text"], text.substr(0, at + 3));
  body["min_tokens"] = 59;
  EXPECT_NE(served.post("/v1/completions", body)["choices"][0]["text"], text.substr(0, at + 3));
  EXPECT_TRUE(becomes_idle(served.service())) << "what a text stopped must leave the engine";
}

TEST(Serve, KeepsTheIdOfAStopTokenAndTheEndTokenWithoutText) {
  ToySettings settings = hashed("vllm");
  settings.eos = 7;
  Served served(settings);
  const Json body = {{"prompt", {0}}, {"seed", 2}, {"max_tokens", 200}, {"return_token_ids", true}};
  const Json out = served.post("/v1/completions", body)["choices"][0];
  ASSERT_EQ(out["finish_reason"], "stop");
  EXPECT_EQ(out["token_ids"].back(), 7);
  EXPECT_EQ(out["text"].get<std::string>().size() + 1, out["token_ids"].size());
  Json stopped = body;
  stopped["stop_token_ids"] = {out["token_ids"][1]};
  const Json cut = served.post("/v1/completions", stopped)["choices"][0];
  EXPECT_EQ(cut["stop_reason"], out["token_ids"][1]);
  EXPECT_EQ(cut["text"].get<std::string>().size() + 1, cut["token_ids"].size());
}

TEST(Serve, ReportsLogprobsThatAreALaw) {
  Served served(hashed("sglang"));
  const Json out = served.post(
      "/generate", {{"input_ids", {0, 1}},
                    {"return_logprob", true},
                    {"top_logprobs_num", 8},
                    {"logprob_start_len", 0},
                    {"sampling_params", {{"max_new_tokens", 20}, {"temperature", 0.5}}}});
  const Json& meta = out["meta_info"];
  ASSERT_EQ(meta["output_token_logprobs"].size(), 20u);
  for (const Json& top : meta["output_top_logprobs"]) {
    double sum = 0;
    for (const Json& entry : top) sum += std::exp(entry[0].get<double>());
    EXPECT_NEAR(sum, 1, 1e-9);
  }
  EXPECT_EQ(meta["input_token_logprobs"].size(), 2u);
  EXPECT_EQ(meta["input_token_logprobs"][0][0], nullptr);
  EXPECT_LT(meta["input_token_logprobs"][1][0], 0);
}

TEST(Serve, GivesTokensTheLogprobsInAPromptThatTheyHadInAnAnswer) {
  Served served(hashed("sglang"));
  const auto meta_of = [&](const Json& ids, int count, double temperature) {
    return served
        .post("/generate",
              {{"input_ids", ids},
               {"return_logprob", true},
               {"logprob_start_len", 0},
               {"sampling_params", {{"max_new_tokens", count}, {"temperature", temperature}}}})
        .at("meta_info");
  };
  // A prompt has no temperature, so that neither has what is reported of the answer.
  const Json answered = meta_of({0, 1}, 20, 0.5)["output_token_logprobs"];
  Json ids = {0, 1};
  for (const Json& entry : answered) ids.push_back(entry[1]);
  const Json prompted = meta_of(ids, 1, 1)["input_token_logprobs"];
  ASSERT_EQ(answered.size(), 20u);
  ASSERT_EQ(prompted.size(), 22u);
  for (std::size_t i = 0; i < answered.size(); ++i)
    EXPECT_NEAR(prompted[i + 2][0].get<double>(), answered[i][0].get<double>(), 1e-9) << i;
}

TEST(Serve, WritesWhatAGrammarAllows) {
  ToySettings settings = hashed("sglang");
  settings.vocab_size = 64;
  settings.spelling = "json";
  settings.eos = 0;
  Served served(settings);
  const auto text_of = [&](const Json& structure, int seed) {
    Json sampling = {{"max_new_tokens", 200}, {"sampling_seed", seed}};
    sampling.update(structure);
    const Json out =
        served.post("/generate", {{"input_ids", {1, 2}}, {"sampling_params", sampling}});
    EXPECT_EQ(out["meta_info"]["finish_reason"]["type"], "stop");
    EXPECT_GT(out["meta_info"]["spec_num_proposed_drafts"], 0);
    return out["text"].get<std::string>();
  };
  const Json schema = {{"type", "object"},
                       {"properties", {{"on", {{"type", "boolean"}}}, {"x", {{"enum", {1, 23}}}}}},
                       {"required", {"on", "x"}}};
  for (int seed = 0; seed < 10; ++seed) {
    const Json value = Json::parse(text_of({{"json_schema", schema}}, seed));
    EXPECT_TRUE(value["on"].is_boolean());
    EXPECT_TRUE(value["x"] == 1 || value["x"] == 23);
    EXPECT_THAT(text_of({{"regex", "(ab|[c-e]){5}x"}}, seed), MatchesRegex("((ab)|[c-e]){5}x"));
  }
}

TEST(Serve, ServesEightClientsAtATimeEachItsOwn) {
  Served served(hashed());
  std::vector<Json> alone;
  for (int client = 0; client < 8; ++client) {
    Json body = neutral({client, 1}, 20);
    body["seed"] = 100 + client;
    alone.push_back(served.post("/completion", body)["tokens"]);
  }
  std::vector<std::thread> threads;
  std::atomic<int> wrong{0};
  for (int client = 0; client < 8; ++client) {
    threads.emplace_back([&, client] {
      Client own("127.0.0.1", served.port());
      Json body = neutral({client, 1}, 20);
      body["seed"] = 100 + client;
      for (int i = 0; i < 20; ++i) {
        const Reply reply = own.post("/completion", body.dump());
        if (reply.status != 200 ||
            Json::parse(reply.body)["tokens"] != alone[static_cast<std::size_t>(client)])
          ++wrong;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
  EXPECT_NE(alone[0], alone[1]);
}

}  // namespace
}  // namespace draftproof::tests
