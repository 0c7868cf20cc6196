// Answers of engines that lie, refuse or are others. Goal: each is told in a sentence that names
// the place and the remedy; what the engine did wrong is a completion that failed, what is wrong
// with the request, the address or the key is an Error. Method: servers made by hand, one fault
// each; the same server without the fault is answered.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <mutex>

#include "tests/tools/fake_engine.h"

namespace draftproof::tests {
namespace {

using properties::FailureCause;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

TEST(EngineAnswers, AreAnsweredWhereNothingIsWrong) {
  const Completion done = completed([](const Request&) { return says(llama_answer()); });
  EXPECT_EQ(done.end, CompletionEnd::kLength) << done.failure;
  EXPECT_EQ(done.token_ids, (std::vector<reference::Token>{3, 4, 5}));
}

/// One change of a right answer, and what is said of it.
struct Wrong {
  const char* name;
  std::function<void(Json&)> change;
  const char* told;
  FailureCause cause = FailureCause::kEngine;
};

TEST(EngineAnswers, FailTheCompletionAtThePlaceOfWhatCannotBe) {
  const std::vector<Wrong> wrongs = {
      {"negative id",
       [](Json& a) {
         a["tokens"] = {3, -5, 4};
       },
       "tokens[1] is -5"},
      {"huge id",
       [](Json& a) {
         a["tokens"] = {3, 4, 99999999999};
       },
       "tokens[2] is 99999999999"},
      {"id outside",
       [](Json& a) {
         a["tokens"] = {16, 3, 4};
       },
       "outside of the ids 0 to 15"},
      {"real id",
       [](Json& a) {
         a["tokens"] = {3.5, 3, 4};
       },
       "tokens[0] is 3.5"},
      {"text for ids", [](Json& a) { a["tokens"] = "abc"; }, "tokens is \"abc\""},
      {"no tokens", [](Json& a) { a.erase("tokens"); }, "tokens is missing"},
      {"empty tokens", [](Json& a) { a["tokens"] = Json::array(); }, "return_tokens was sent"},
      {"no stop type", [](Json& a) { a.erase("stop_type"); }, "stop_type is missing"},
      {"odd stop type", [](Json& a) { a["stop_type"] = "none"; }, "without a reason"},
      {"too few tokens",
       [](Json& a) {
         a["tokens"] = {3, 4};
       },
       "context was full after 2 of 3"},
      {"negative count", [](Json& a) { a["timings"]["draft_n"] = -1; }, "timings.draft_n is -1"},
      {"half a count", [](Json& a) { a["tokens_predicted"] = 2.5; }, "tokens_predicted is 2.5"},
      {"timings of another kind", [](Json& a) { a["timings"] = {1}; }, "timings"},
      {"settings of another kind", [](Json& a) { a["generation_settings"] = 3; },
       "generation_settings is no object"},
      {"an error in place of an answer",
       [](Json& a) {
         a = {{"error", {{"message", "broke"}}}};
       },
       "the engine says: broke"},
      {"null", [](Json& a) { a = nullptr; }, "no answer of this protocol",
       FailureCause::kTransport},
      {"a number", [](Json& a) { a = 3; }, "no answer of this protocol", FailureCause::kTransport},
      {"an array", [](Json& a) { a = Json::array({a}); }, "no answer of this protocol",
       FailureCause::kTransport},
      {"nothing", [](Json& a) { a = Json::object(); }, "generation_settings is missing",
       FailureCause::kTransport}};
  for (const Wrong& wrong : wrongs) {
    Json answer = llama_answer();
    wrong.change(answer);
    const Completion done = completed([&](const Request&) { return says(answer); });
    EXPECT_EQ(done.end, CompletionEnd::kFailed) << wrong.name;
    EXPECT_EQ(done.failure_cause, wrong.cause) << wrong.name;
    EXPECT_THAT(done.failure, HasSubstr(wrong.told)) << wrong.name;
    EXPECT_EQ(done.failure.find('\n'), std::string::npos);
  }
}

TEST(EngineAnswers, FailTheCompletionWhoseBodyIsNoJson) {
  std::string nan = llama_answer().dump();
  nan.replace(nan.find("[3,4,5]"), 7, "[3,NaN,5]");
  for (const std::string& body :
       {std::string("{\"tokens\": [3,"), nan, std::string("\xff\xfe\x00garbage", 10),
        std::string(1 << 16, '['), std::string()}) {
    const Completion done = completed([&](const Request&) { return Response{.body = body}; });
    EXPECT_EQ(done.end, CompletionEnd::kFailed) << body.substr(0, 20);
    EXPECT_THAT(done.failure, HasSubstr("no JSON"));
    EXPECT_EQ(done.failure_cause, FailureCause::kTransport);
    EXPECT_NO_THROW(Json(done.failure).dump()) << "a report could not be written";
    EXPECT_LT(done.failure.size(), 1000u);
  }
}

TEST(EngineAnswers, FailTheCompletionOnTheServersOwnError) {
  const Completion done = completed([](const Request&) {
    return Response{.status = 500, .body = R"({"error": {"message": "out of pages"}})"};
  });
  EXPECT_EQ(done.failure, "HTTP 500: out of pages");
  EXPECT_EQ(done.failure_cause, FailureCause::kEngine);
  ASSERT_TRUE(done.timing);
  EXPECT_GT(done.timing->ended, 0);
}

TEST(EngineAnswers, BlameNoEngineForWhatAGatewayBeforeItSays) {
  for (const int status : {502, 504, 524}) {
    const Completion done = completed([&](const Request&) {
      return Response{.status = status, .body = R"({"error": "upstream"})"};
    });
    EXPECT_EQ(done.end, CompletionEnd::kFailed);
    EXPECT_EQ(done.failure_cause, FailureCause::kTransport) << status;
  }
}

TEST(EngineAnswers, AreRefusedWhereTheEchoIsAnother) {
  const std::vector<std::pair<std::string, Json>> echoes = {
      {"temperature", 0.8}, {"top_k", 40}, {"seed", 6}, {"samplers", {"top_k", "temperature"}}};
  for (const auto& [field, value] : echoes) {
    Json answer = llama_answer();
    answer["generation_settings"][field] = value;
    const Error error = error_of([&] { completed([&](const Request&) { return says(answer); }); });
    EXPECT_EQ(error.kind(), ErrorKind::kInput);
    EXPECT_EQ(error.place(), field);
    EXPECT_THAT(error.message(), HasSubstr("says that it used " + value.dump()));
  }
  // Rounded to 32 bits is no difference.
  SamplingRequest request = three_tokens();
  request.sampling.temperature = 0.7;
  Json answer = llama_answer();
  answer["generation_settings"]["temperature"] = static_cast<double>(0.7f);
  EXPECT_EQ(completed([&](const Request&) { return says(answer); }, request).failure, "");
}

TEST(EngineAnswers, AreLeftWhenTheySayThatTheyAreOthersThanBefore) {
  FakeEngine engine([&](const Request& in) {
    Json answer = llama_answer();
    if (Json::parse(in.body)["prompt"][0] == 9) answer["model"] = "second.gguf";
    return says(answer);
  });
  const auto arm = tools::engines::http_client(options_for(engine.url()));
  EXPECT_EQ(arm->facts().model, "first.gguf");
  EXPECT_EQ(arm->complete(three_tokens()).failure, "");
  EXPECT_EQ(arm->complete(three_tokens()).failure, "");
  SamplingRequest other = three_tokens();
  other.prompt = {9};
  EXPECT_THROW(arm->complete(other), tools::engines::AnotherEngine);
  EXPECT_THAT(error_of([&] { arm->complete(other); }).what(),
              AllOf(HasSubstr("\"second.gguf\" now"), HasSubstr("\"first.gguf\" before")));
  engine.model = "third.gguf";
  EXPECT_THROW(arm->facts(), tools::engines::AnotherEngine);
  EXPECT_THAT(error_of([&] { arm->facts(); }).what(),
              AllOf(HasSubstr("\"third.gguf\" now"), HasSubstr("\"first.gguf\" before")));
}

TEST(EngineAnswers, SayWhatToMendWhenTheyRefuse) {
  const auto refusal = [](int status, const char* message) {
    return error_of([&] {
      completed([&](const Request&) {
        return Response{.status = status, .body = Json{{"error", {{"message", message}}}}.dump()};
      });
    });
  };
  EXPECT_EQ(refusal(401, "no key").place(), "api-key-env");
  EXPECT_EQ(refusal(403, "wrong key").place(), "api-key-env");
  EXPECT_EQ(refusal(404, "Not Found").place(), "engine");
  EXPECT_EQ(refusal(404, "The model `x` does not exist").place(), "model");
  EXPECT_EQ(refusal(400, "top_k: too small").place(), "request");
  EXPECT_THAT(refusal(400, "top_k: too small").message(), HasSubstr("top_k: too small"));
  const Error elsewhere = error_of([] {
    completed([](const Request&) {
      return Response{.status = 307, .headers = {{"Location", "https://other.example/"}}};
    });
  });
  EXPECT_THAT(elsewhere.message(), HasSubstr("https://other.example/"));
  const Error page = error_of([] {
    completed([](const Request&) {
      return Response{.type = "text/html", .body = "<html><title>Login</title></html>"};
    });
  });
  EXPECT_THAT(page.message(), AllOf(HasSubstr("web page"), HasSubstr("Login")));
}

TEST(EngineAnswers, AreNotTakenForEnginesWhenTheyAreNone) {
  const auto page = [](const Request&) {
    return Response{.type = "text/html", .body = "<html></html>"};
  };
  const tools::http::Server server({}, {{"GET", "/props", page}},
                                   [](int, const std::string& message) { return message; });
  const auto arm =
      tools::engines::http_client(options_for("http://127.0.0.1:" + std::to_string(server.port())));
  const Error error = error_of([&] { arm->complete(three_tokens()); });
  EXPECT_EQ(error.kind(), ErrorKind::kInput);
  EXPECT_THAT(error.what(), HasSubstr("nothing there answers as an engine"));
}

TEST(EngineAnswers, SayThatTheModelIsLoading) {
  const auto loading = [](const Request&) {
    return Response{.status = 503, .body = R"({"error": {"message": "Loading model"}})"};
  };
  const tools::http::Server server({}, {{"GET", "/props", loading}},
                                   [](int, const std::string& message) { return message; });
  const auto arm =
      tools::engines::http_client(options_for("http://127.0.0.1:" + std::to_string(server.port())));
  const Error error = error_of([&] { arm->facts(); });
  EXPECT_EQ(error.kind(), ErrorKind::kEnvironment);
  EXPECT_THAT(error.message(), HasSubstr("not ready yet (HTTP 503: Loading model)"));
}

/// A gateway that fails for a moment says nothing of who stands behind it: no run ends for good.
TEST(EngineAnswers, TakeNoGatewayForAnotherEngine) {
  const auto gateway = [](const Request&) {
    return Response{.status = 502, .body = R"({"error": "upstream"})"};
  };
  const tools::http::Server server({}, {{"GET", "/props", gateway}},
                                   [](int, const std::string& message) { return message; });
  const auto arm =
      tools::engines::http_client(options_for("http://127.0.0.1:" + std::to_string(server.port())));
  const Error error = error_of([&] { arm->facts(); });
  EXPECT_EQ(error.kind(), ErrorKind::kEnvironment);
  EXPECT_THAT(error.message(), HasSubstr("is not reached (HTTP 502: upstream)"));
}

TEST(EngineAnswers, NeverTellAKey) {
  ::setenv("DRAFTPROOF_TEST_KEY", "sk-sesame-9731", 1);
  std::mutex mutex;
  std::string seen;
  RawServer server([&](const std::string& request) {
    const std::lock_guard lock(mutex);
    seen += request;
    const std::string body = R"({"error": {"message": "Incorrect key: sk-sesame-9731"}})";
    return "HTTP/1.1 401 Unauthorized\r\nConnection: close\r\nContent-Length: " +
           std::to_string(body.size()) + "\r\n\r\n" + body;
  });
  ClientOptions options = options_for(server.url());
  options.api_key_env = "DRAFTPROOF_TEST_KEY";
  const Error error =
      error_of([&] { tools::engines::http_client(options)->complete(three_tokens()); });
  EXPECT_EQ(error.place(), "api-key-env");
  EXPECT_THAT(error.what(),
              AllOf(HasSubstr("Incorrect key: $DRAFTPROOF_TEST_KEY"), Not(HasSubstr("sesame"))));
  server.stop();
  EXPECT_THAT(seen, HasSubstr("Authorization: Bearer sk-sesame-9731"));

  FakeEngine right([](const Request&) { return says(llama_answer()); });
  options.url = right.url();
  EXPECT_THAT(tools::engines::http_client(options)->curl_of(three_tokens()),
              AllOf(HasSubstr("Bearer $DRAFTPROOF_TEST_KEY\""), HasSubstr("\"prompt\":[1,2]"),
                    Not(HasSubstr("sesame"))));
  options.api_key_env = "DRAFTPROOF_TEST_NO_KEY";
  EXPECT_EQ(error_of([&] { tools::engines::http_client(options); }).place(), "api-key-env");
}

TEST(EngineAnswers, AreRefusedAsOptionsThatMakeNoSense) {
  const auto place_of = [](const std::function<void(ClientOptions&)>& change) {
    ClientOptions options = options_for("http://127.0.0.1:1");
    change(options);
    return error_of([&] { tools::engines::http_client(options); }).place();
  };
  EXPECT_EQ(place_of([](auto& o) { o.url = "127.0.0.1:8000"; }), "url");
  EXPECT_EQ(place_of([](auto& o) { o.engine = "vlm"; }), "engine");
  EXPECT_EQ(place_of([](auto& o) { o.read_timeout_s = 0; }), "read-timeout");
  EXPECT_EQ(place_of([](auto& o) { o.connect_timeout_s = -1; }), "connect-timeout");
  EXPECT_EQ(place_of([](auto& o) { o.retry.attempt_max = 0; }), "retry");
  EXPECT_EQ(place_of([](auto& o) { o.requests_per_second_max = -1; }), "requests-per-second");
  EXPECT_EQ(place_of([](auto& o) { o.connection_max = 0; }), "connections");
}

}  // namespace
}  // namespace draftproof::tests
