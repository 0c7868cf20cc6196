// The server in this process, over loopback. Goal: what comes out of a socket is what the engine
// emitted, whatever clients do. Method: a service of a toy on a free port, real clients; two arms
// with equal seeds and greedy requests say what must be equal.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <thread>

#include "reference/error.h"
#include "tools/engines/http.h"
#include "tools/serve/served_toy.h"

namespace draftproof::tests {
namespace {

using testing::HasSubstr;
using tools::http::Client;
using tools::http::Reply;
using tools::serve::Json;
using tools::serve::Service;
using tools::serve::ToySettings;
using namespace std::chrono_literals;

class Served {
 public:
  explicit Served(const ToySettings& settings, const tools::http::ServerOptions& http = {}) {
    auto options = tools::serve::served_toy(settings);
    options.http = http;
    options.http.port = 0;
    service_ = std::make_unique<Service>(std::move(options));
    client_ = std::make_unique<Client>("127.0.0.1", service_->port());
  }

  Service& service() { return *service_; }
  Client& client() { return *client_; }
  int port() const { return service_->port(); }
  Json post(const std::string& path, const Json& body) {
    const Reply reply = client_->post(path, body.dump());
    EXPECT_EQ(reply.status, 200) << reply.body;
    return Json::parse(reply.body);
  }

 private:
  std::unique_ptr<Service> service_;
  std::unique_ptr<Client> client_;
};

ToySettings hashed(const std::string& dialect = "llama.cpp") {
  ToySettings settings;
  settings.toy = "hashed";
  settings.dialect = dialect;
  return settings;
}

Json neutral(const std::vector<int>& prompt, int count) {
  return {{"prompt", prompt},   {"n_predict", count},    {"samplers", {"temperature"}},
          {"temperature", 1.0}, {"return_tokens", true}, {"seed", 3}};
}

/// Waits until no request is left and no page is held.
bool becomes_idle(const Service& service) {
  for (int i = 0; i < 400; ++i) {
    if (service.totals().unfinished == 0 && service.pages_in_use().live == 0) return true;
    std::this_thread::sleep_for(5ms);
  }
  return false;
}

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

/// A request that runs until it is cancelled, as far as a test is concerned.
ToySettings endless() {
  ToySettings settings = hashed();
  settings.context_max = 1 << 14;
  settings.request_max = 2;
  return settings;
}

TEST(Serve, LetsGoOfAStreamWhoseClientHangsUp) {
  Served served(endless());
  Json body = neutral({0}, -1);
  body["stream"] = true;
  int pieces = 0;
  served.client().post_streaming("/completion", body.dump(), [&](auto) { return ++pieces < 3; });
  EXPECT_EQ(pieces, 3);
  EXPECT_TRUE(becomes_idle(served.service()));
  EXPECT_LT(served.service().totals().completion_tokens, (1 << 14) - 1);
}

TEST(Serve, LetsGoOfAnAnswerWhoseClientGivesUp) {
  Served served(endless());
  Client impatient("127.0.0.1", served.port(), {.connect_seconds_max = 5, .read_seconds_max = 1});
  const std::string body = neutral({0}, -1).dump();
  EXPECT_THROW(impatient.post("/completion", body), Error);
  EXPECT_TRUE(becomes_idle(served.service()));
}

TEST(Serve, AsksToComeAgainWhenItIsFull) {
  for (const auto& [dialect, status] : {std::pair{"llama.cpp", 503}, {"openai", 429}}) {
    ToySettings settings = hashed(dialect);
    settings.unfinished_max = 1;
    Served served(settings);
    const bool is_openai = std::string(dialect) == "openai";
    const Json body = {{"prompt", {{0}, {1}}}};
    const Reply reply =
        served.client().post(is_openai ? "/v1/completions" : "/completion", body.dump());
    EXPECT_EQ(reply.status, status);
    EXPECT_EQ(reply.retry_after, "1");
    EXPECT_TRUE(Json::parse(reply.body).contains("error"));
  }
}

TEST(Serve, StaysUpWhateverIsSent) {
  tools::http::ServerOptions http;
  http.payload_bytes_max = 1 << 16;
  Served served(hashed("vllm"), http);
  const std::string deep(1 << 15, '[');
  const std::vector<std::pair<std::string, int>> bodies = {
      {"", 400},
      {"null", 400},
      {"{\"prompt\":", 400},
      {deep, 400},
      {"{\"prompt\":" + deep, 400},
      {"{\"prompt\":\"\xc3\x28\"}", 400},
      {std::string("{\"prompt\":[0]}\0x", 16), 400},
      {"{\"prompt\":[0],\"temperature\":1e400}", 400},
      {"{\"prompt\":[0],\"temperature\":NaN}", 400},
      {"{\"prompt\":[0],\"max_tokens\":-1}", 400},
      {"{\"prompt\":[0],\"max_tokens\":9223372036854775808}", 400},
      {"{\"prompt\":[0],\"max_tokens\":\"16\"}", 400},
      {"{\"prompt\":[99]}", 400},
      {"{\"prompt\":[]}", 400},
      {"{\"prompt\":[0],\"model\":\"other\"}", 404},
      {"{\"prompt\":[0],\"\":1}", 400},
      {std::string(1 << 17, 'x'), 413}};
  for (const auto& [body, status] : bodies) {
    Client own("127.0.0.1", served.port());
    const Reply reply = own.post("/v1/completions", body);
    EXPECT_EQ(reply.status, status) << body.substr(0, 60);
    EXPECT_EQ(Json::parse(reply.body)["error"]["code"], status) << reply.body;
  }
  for (const char* path : {"/nothing", "/v1/completions", "/v1/%00", "/../../etc"}) {
    const Reply reply = served.client().get(path);
    EXPECT_EQ(reply.status, 404) << path;
    EXPECT_TRUE(Json::parse(reply.body).contains("error")) << path;
  }
  EXPECT_EQ(served.client().get("/" + std::string(8000, 'a')).status, 404);
  const Json good = served.post("/v1/completions", {{"prompt", {0}}, {"max_tokens", 4}});
  EXPECT_EQ(good["usage"]["completion_tokens"], 4);
  EXPECT_TRUE(becomes_idle(served.service()));
}

TEST(Serve, StopsWithRequestsInWork) {
  Served served(endless());
  std::thread waiting([port = served.port()] {
    Client own("127.0.0.1", port);
    const Reply reply = own.post("/completion", neutral({0}, -1).dump());
    EXPECT_EQ(reply.status, 200);
    EXPECT_EQ(Json::parse(reply.body)["stop_type"], "none");
  });
  while (served.service().totals().unfinished == 0) std::this_thread::sleep_for(1ms);
  served.service().stop(0ms);
  waiting.join();
  EXPECT_THROW(Client("127.0.0.1", served.port()).get("/health"), Error);
}

TEST(Serve, FinishesWhatItHasWhenThereIsTime) {
  Served served(hashed());
  std::thread waiting([port = served.port()] {
    Client own("127.0.0.1", port);
    const Json out = Json::parse(own.post("/completion", neutral({0}, 200).dump()).body);
    EXPECT_EQ(out["tokens"].size(), 200u);
  });
  while (served.service().totals().unfinished == 0 &&
         served.service().totals().completion_tokens == 0)
    std::this_thread::sleep_for(1ms);
  served.service().stop(20s);
  waiting.join();
}

TEST(Serve, TakesAPortOnce) {
  Served served(hashed());
  tools::http::ServerOptions taken;
  taken.port = served.port();
  auto options = tools::serve::served_toy(hashed());
  options.http = taken;
  try {
    const Service second(std::move(options));
    FAIL() << "two servers on one port";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("127.0.0.1:" + std::to_string(taken.port)));
    EXPECT_THAT(error.what(), HasSubstr("--port 0"));
  }
}

}  // namespace
}  // namespace draftproof::tests
