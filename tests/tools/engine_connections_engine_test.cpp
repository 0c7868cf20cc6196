// Connections to engines that stall, hang up, break off or have no room. Goal: a request is asked
// again only where nothing is lost by it, nobody waits for ever, and what began and broke is a
// completion that failed. Method: servers made by hand, down to their bytes; the same server
// without the fault is answered.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>

#include "tests/tools/fake_engine.h"

namespace draftproof::tests {
namespace {

using namespace std::chrono_literals;
using properties::FailureCause;
using testing::AllOf;
using testing::HasSubstr;

TEST(EngineConnections, AreAskedAgainWhileTheyAreBusyAndNotForEver) {
  for (const int status : {429, 503}) {
    std::atomic<int> busy{2};
    FakeEngine engine([&](const Request&) {
      if (busy-- <= 0) return says(llama_answer());
      return Response{.status = status, .body = "{}", .headers = {{"Retry-After", "0"}}};
    });
    EXPECT_EQ(completed(engine).failure, "");
    EXPECT_EQ(engine.calls, 3);
    busy = 1000;
    engine.calls = 0;
    const Error error = error_of([&] { completed(engine); });
    EXPECT_EQ(error.kind(), ErrorKind::kEnvironment);
    EXPECT_THAT(error.message(), AllOf(HasSubstr("4 attempts"), HasSubstr("concurrency")));
    EXPECT_EQ(engine.calls, 4);
  }
}

TEST(EngineConnections, AreNotAskedAgainForWhatTheyRefuseOrBegan) {
  for (const int status : {400, 401, 404, 422, 500}) {
    FakeEngine engine([&](const Request&) { return Response{.status = status, .body = "{}"}; });
    const auto arm = tools::engines::http_client(options_for(engine.url()));
    try {
      arm->complete(three_tokens());
    } catch (const Error&) {
    }
    EXPECT_EQ(engine.calls, 1) << status;
  }
}

TEST(EngineConnections, AreGoneWhenNobodyListens) {
  std::string url;
  {
    const FakeEngine engine([](const Request&) { return says(llama_answer()); });
    url = engine.url();
  }
  const Error error =
      error_of([&] { tools::engines::http_client(options_for(url))->complete(three_tokens()); });
  EXPECT_EQ(error.kind(), ErrorKind::kEnvironment);
  EXPECT_THAT(error.what(), AllOf(HasSubstr(url), HasSubstr("is the server running")));
}

/// A llama.cpp by bytes: its pages are right, and /completion answers as `complete` says.
std::string by_bytes(const std::string& request, const std::function<std::string()>& complete) {
  if (request.starts_with("POST /completion")) return complete();
  const std::string body = request.starts_with("GET /props")
                               ? R"({"default_generation_settings": {"n_ctx": 64}})"
                               : "{}";
  return http_answer(body, body.size());
}

TEST(EngineConnections, AreAskedAgainWhenTheyHangUpWithoutAWord) {
  std::atomic<int> calls{0};
  RawServer server([&](const std::string& request) {
    return by_bytes(request, [&] {
      if (++calls < 3) return std::string();
      const std::string body = llama_answer().dump();
      return http_answer(body, body.size());
    });
  });
  const auto arm = tools::engines::http_client(options_for(server.url()));
  EXPECT_EQ(arm->complete(three_tokens()).failure, "");
  EXPECT_EQ(calls, 3);
  calls = -1000;
  EXPECT_THAT(arm->complete(three_tokens()).failure, HasSubstr("ended before an answer"));
}

TEST(EngineConnections, FailTheCompletionThatBreaksOffAndAreNotAskedAgain) {
  std::atomic<int> calls{0};
  RawServer server([&](const std::string& request) {
    return by_bytes(request, [&] {
      ++calls;
      return http_answer(llama_answer().dump(), 100000);
    });
  });
  const auto arm = tools::engines::http_client(options_for(server.url()));
  const Completion done = arm->complete(three_tokens());
  EXPECT_EQ(done.end, CompletionEnd::kFailed);
  EXPECT_THAT(done.failure, HasSubstr("in the middle of the answer"));
  EXPECT_EQ(done.failure_cause, FailureCause::kTransport);
  EXPECT_EQ(calls, 1);
}

std::string llama_events(int count) {
  std::string events;
  for (int i = 0; i < count; ++i)
    events +=
        tools::http::event(Json{{"content", "a"}, {"tokens", {3 + i}}, {"stop", false}}.dump());
  return events;
}

TEST(EngineConnections, FailTheStreamThatStopsShort) {
  SamplingRequest request = three_tokens();
  request.is_streamed = true;
  Json last = llama_answer({});
  last["content"] = "";
  last["tokens_predicted"] = 3;
  const std::string whole = llama_events(3) + tools::http::event(last.dump());
  const auto streamed = [&](const std::string& events, std::size_t length) {
    RawServer server([&](const std::string& asked) {
      return by_bytes(asked, [&] { return http_answer(events, length, "text/event-stream"); });
    });
    return tools::engines::http_client(options_for(server.url()))->complete(request);
  };
  const Completion right = streamed(whole, whole.size());
  EXPECT_EQ(right.failure, "");
  EXPECT_EQ(right.token_ids, (std::vector<reference::Token>{3, 4, 5}));
  EXPECT_EQ(right.text, "aaa");
  ASSERT_TRUE(right.timing);
  EXPECT_EQ(right.timing->token_counts, (std::vector<int>{1, 1, 1}));

  const std::string two = llama_events(2);
  const std::string garbage = two + "data: {\"tokens\": [\n\n";
  const std::string error = two + "data: {\"error\": {\"message\": \"device lost\"}}\n\n";
  const std::string page = "<html>nothing</html>", done = "data: [DONE]\n\n";
  struct Short {
    std::string events;
    std::size_t length;
    const char* told;
    FailureCause cause;
  };
  for (const Short& each :
       {Short{two, two.size(), "before its last event, after 2 pieces", FailureCause::kTransport},
        Short{two, 100000, "in the middle of the answer", FailureCause::kTransport},
        Short{"", 0, "no event", FailureCause::kTransport},
        Short{garbage, garbage.size(), "no JSON", FailureCause::kTransport},
        Short{page, page.size(), "<html>", FailureCause::kTransport},
        Short{done, done.size(), "no event", FailureCause::kEngine},
        Short{error, error.size(), "in the middle of its answer: device lost",
              FailureCause::kEngine}}) {
    const Completion completion = streamed(each.events, each.length);
    EXPECT_THAT(completion.failure, HasSubstr(each.told));
    EXPECT_EQ(completion.failure_cause, each.cause) << each.told;
  }
}

TEST(EngineConnections, FailTheCompletionThatTakesLongerThanAnybodyWaits) {
  std::atomic<bool> is_over{false};
  FakeEngine engine([&](const Request&) {
    while (!is_over) std::this_thread::sleep_for(5ms);
    return says(llama_answer());
  });
  ClientOptions options = options_for(engine.url());
  options.read_timeout_s = 0.2;
  const Completion done = tools::engines::http_client(options)->complete(three_tokens());
  EXPECT_THAT(done.failure, AllOf(HasSubstr("no answer within 0.2 s"), HasSubstr("read timeout")));
  EXPECT_EQ(done.failure_cause, FailureCause::kTransport);
  EXPECT_EQ(engine.calls, 1) << "whoever was late once is late again";
  is_over = true;
}

TEST(EngineConnections, SeeNoMoreConnectionsThanAreAllowed) {
  std::atomic<int> now{0}, most{0};
  FakeEngine engine([&](const Request&) {
    const int count = ++now;
    for (int seen = most; seen < count && !most.compare_exchange_weak(seen, count);) {
    }
    std::this_thread::sleep_for(2ms);
    --now;
    return says(llama_answer());
  });
  ClientOptions options = options_for(engine.url());
  options.connection_max = 3;
  const std::shared_ptr<ArmClient> arm = tools::engines::http_client(options);
  const auto both = tools::engines::two_arms(arm, arm, 12);
  const auto done =
      both->generate(properties::Arm::kBaseline, std::vector<SamplingRequest>(60, three_tokens()));
  EXPECT_EQ(done.size(), 60u);
  EXPECT_LE(most, 3);
  EXPECT_GT(most, 1) << "they run together";
}

TEST(EngineConnections, EndACallOfManyWithTheErrorOfOne) {
  FakeEngine engine([](const Request& in) {
    if (Json::parse(in.body)["prompt"][0] == 9) return Response{.status = 400, .body = "{}"};
    return says(llama_answer());
  });
  const std::shared_ptr<ArmClient> arm = tools::engines::http_client(options_for(engine.url()));
  const auto both = tools::engines::two_arms(arm, arm, 4);
  std::vector<SamplingRequest> requests(40, three_tokens());
  EXPECT_EQ(both->generate(properties::Arm::kBaseline, requests).size(), 40u);
  requests[20].prompt = {9};
  EXPECT_EQ(error_of([&] { both->generate(properties::Arm::kBaseline, requests); }).place(),
            "request");
}

TEST(EngineConnections, CarryInOneBodyWhatDiffersInItsPromptOnly) {
  FakeEngine engine([](const Request& in) {
    const Json body = Json::parse(in.body);
    if (body["prompt"][0].is_number()) return says(llama_answer());
    Json answers = Json::array();
    for (const Json& prompt : body["prompt"]) answers.push_back(llama_answer({prompt[0], 4, 5}));
    return says(answers);
  });
  const std::shared_ptr<ArmClient> arm = tools::engines::http_client(options_for(engine.url()));
  const auto both = tools::engines::two_arms_together(arm, arm);
  std::vector<SamplingRequest> requests(5, three_tokens());
  for (int i = 0; i < 5; ++i) requests[static_cast<std::size_t>(i)].prompt = {i};
  const auto done = both->generate(properties::Arm::kSpeculative, requests);
  EXPECT_EQ(engine.calls, 1);
  for (int i = 0; i < 5; ++i)
    EXPECT_EQ(done.at(static_cast<std::size_t>(i)).token_ids.at(0), i) << "out of order";
  requests[2].sampling.top_k = 3;
  EXPECT_THROW(both->generate(properties::Arm::kSpeculative, requests), Error) << "echo";
  engine.calls = 0;
  requests[2] = three_tokens();
  requests[2].logprob_count = 0;
  EXPECT_EQ(both->generate(properties::Arm::kSpeculative, requests).size(), 5u);
  EXPECT_EQ(engine.calls, 3) << "two, one, two";
}

TEST(EngineConnections, AreGivenTooFewAnswersOnlyAsFailures) {
  FakeEngine engine([](const Request&) { return says(Json::array({llama_answer()})); });
  const std::shared_ptr<ArmClient> arm = tools::engines::http_client(options_for(engine.url()));
  const auto done = arm->complete_together({three_tokens(), three_tokens()});
  ASSERT_EQ(done.size(), 2u);
  for (const Completion& each : done) EXPECT_EQ(each.failure, "1 answers to 2 prompts");
}

TEST(EngineConnections, WaitAsLongAsTheServerSaysAndNoLonger) {
  std::atomic<int> busy{1};
  FakeEngine engine([&](const Request&) {
    if (busy-- <= 0) return says(llama_answer());
    return Response{.status = 503, .body = "{}", .headers = {{"Retry-After", "0"}}};
  });
  ClientOptions options = options_for(engine.url());
  options.retry.first_delay_s = 3600;
  EXPECT_EQ(tools::engines::http_client(options)->complete(three_tokens()).failure, "");
}

TEST(EngineConnections, LeaveTimeBetweenRequestsWhereThatIsAsked) {
  FakeEngine engine([](const Request&) { return says(llama_answer()); });
  ClientOptions options = options_for(engine.url());
  options.requests_per_second_max = 200;
  const auto arm = tools::engines::http_client(options);
  arm->facts();
  const double first = arm->complete(three_tokens()).timing->sent;
  for (int i = 0; i < 9; ++i) arm->complete(three_tokens());
  // Ten more turns of 5 ms behind one that began before `first`; never less, however slow it is.
  EXPECT_GE(arm->complete(three_tokens()).timing->sent + 0.005, first + 0.050);
}

}  // namespace
}  // namespace draftproof::tests
