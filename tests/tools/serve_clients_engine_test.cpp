// What clients do to a server over loopback: hang up, come in crowds, send what is no request, stay
// while it stops or while its engine breaks. Goal: it stays up, lets go of what nobody waits for,
// and answers the next one. Method: a service of a toy in this process.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <stdexcept>
#include <thread>

#include "reference/error.h"
#include "tests/tools/served_service.h"

namespace draftproof::tests {
namespace {

using testing::HasSubstr;
using namespace std::chrono_literals;

/// A request that runs until it is cancelled, as far as a test is concerned.
ToySettings endless() {
  ToySettings settings = hashed();
  settings.context_max = 1 << 14;
  settings.request_max = 2;
  return settings;
}

TEST(ServeClients, LetsGoOfAStreamWhoseClientHangsUp) {
  Served served(endless());
  Json body = neutral({0}, -1);
  body["stream"] = true;
  int pieces = 0;
  served.client().post_streaming("/completion", body.dump(), [&](auto) { return ++pieces < 3; });
  EXPECT_EQ(pieces, 3);
  EXPECT_TRUE(becomes_idle(served.service()));
  EXPECT_LT(served.service().totals().completion_tokens, (1 << 14) - 1);
}

TEST(ServeClients, LetsGoOfAnAnswerWhoseClientGivesUp) {
  Served served(endless());
  Client impatient("127.0.0.1", served.port(), {.connect_seconds_max = 5, .read_seconds_max = 1});
  const std::string body = neutral({0}, -1).dump();
  EXPECT_THROW(impatient.post("/completion", body), Error);
  EXPECT_TRUE(becomes_idle(served.service()));
}

TEST(ServeClients, AsksToComeAgainWhenItIsFull) {
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

TEST(ServeClients, StaysUpWhateverIsSent) {
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

class ThrowingSource final : public tools::http::Source {
  Piece next() override { throw std::logic_error("broken"); }
};

TEST(ServeClients, AreToldOfTemperaturesThatCouldOnlyBeAnsweredWrongly) {
  const auto status_of = [](const ToySettings& settings, double temperature) {
    Served served(settings);
    Json body = neutral({1, 2}, 4);
    body["temperature"] = temperature;
    return served.client().post("/completion", body.dump()).status;
  };
  EXPECT_EQ(status_of(hashed(), 1e-6), 400);
  EXPECT_EQ(status_of(hashed(), 1e-5), 200);
  EXPECT_EQ(status_of(hashed(), 0), 200);
  ToySettings greedy = hashed();
  greedy.rule = "greedy";
  EXPECT_EQ(status_of(greedy, 1), 400);
  EXPECT_EQ(status_of(greedy, 0), 200);
}

TEST(ServeClients, LosesNoMoreThanTheConnectionWhereABodyThrows) {
  using tools::http::Request;
  using tools::http::Response;
  const auto throws = [](const Request&) -> Response {
    return {.source = std::make_shared<ThrowingSource>()};
  };
  const auto answers = [](const Request&) -> Response { return {.body = "{}"}; };
  tools::http::Server server({}, {{"GET", "/throws", throws}, {"GET", "/answers", answers}},
                             [](int, const std::string& message) { return message; });
  Client client("127.0.0.1", server.port());
  EXPECT_THROW(client.get("/throws"), Error);
  EXPECT_EQ(client.get("/answers").body, "{}");
}

/// Breaks at requests whose prompt begins with token 5.
class BrokenAtFive : public reference::decode::EngineSteps {
 public:
  reference::decode::Cut cut(const reference::decode::HostRequest& host,
                             const reference::decode::Entry& entry) const override {
    DRAFTPROOF_CHECK(host.spec.prompt.front() != 5);
    return EngineSteps::cut(host, entry);
  }
};

TEST(ServeClients, FailsWhatABrokenEngineHeldAndGoesOnWithAnother) {
  Served served(hashed(), {}, std::make_shared<BrokenAtFive>());
  const Reply reply = served.client().post("/completion", neutral({5}, 4).dump());
  EXPECT_EQ(reply.status, 500);
  EXPECT_THAT(reply.body, HasSubstr("the engine broke"));
  Json body = neutral({5}, 4);
  body["stream"] = true;
  std::string events;
  served.client().post_streaming("/completion", body.dump(), [&](auto bytes) {
    events += bytes;
    return true;
  });
  EXPECT_THAT(events, HasSubstr("\"error\""));
  EXPECT_EQ(served.post("/completion", neutral({4}, 4))["tokens"].size(), 4u);
  EXPECT_TRUE(becomes_idle(served.service()));
}

/// Every launch costs more than the budget.
class Unaffordable : public reference::decode::EngineSteps {
 public:
  reference::decode::BudgetUse launch_cost(const reference::decode::EngineState&,
                                           const reference::decode::Entry&, int) const override {
    reference::decode::BudgetUse cost;
    cost.verify_rows = 1 << 30;
    return cost;
  }
};

TEST(ServeClients, AreToldOfAnEngineThatGetsNowhere) {
  Served served(hashed(), {}, std::make_shared<Unaffordable>());
  for (int i = 0; i < 3; ++i) {
    const Reply reply = served.client().post("/completion", neutral({0}, 4).dump());
    EXPECT_EQ(reply.status, 500);
    EXPECT_THAT(reply.body, HasSubstr("makes no progress"));
  }
}

TEST(ServeClients, StopsWithRequestsInWork) {
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

TEST(ServeClients, FinishesWhatItHasWhenThereIsTime) {
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

TEST(ServeClients, TakesAPortOnce) {
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
