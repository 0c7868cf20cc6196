// `draftproof serve` as a user runs it: a line when it is ready, answers on the port that the line
// names, and an end by signal.
#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <nlohmann/json.hpp>

#include "tests/end_to_end/command.h"
#include "tests/end_to_end/server_process.h"

namespace draftproof::tests {
namespace {

using testing::HasSubstr;
using testing::MatchesRegex;

/// The whole answer to one request.
std::string answer(int port, const std::string& request) {
  const int socket = ::socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<std::uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  std::string all;
  if (::connect(socket, reinterpret_cast<sockaddr*>(&address), sizeof(address)) == 0 &&
      ::write(socket, request.data(), request.size()) > 0) {
    std::array<char, 4096> bytes{};
    for (ssize_t n = 0; (n = ::read(socket, bytes.data(), bytes.size())) > 0;)
      all.append(bytes.data(), static_cast<std::size_t>(n));
  }
  ::close(socket);
  return all;
}

std::string post(int port, const std::string& path, const std::string& body) {
  return answer(port, "POST " + path +
                          " HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: " +
                          std::to_string(body.size()) + "\r\n\r\n" + body);
}

TEST(ServeCommand, SaysWhereItListensAnswersThereAndStopsByTerm) {
  ServerProcess server({"--toy", "hashed", "--dialect", "vllm", "--speculation", "off"});
  EXPECT_THAT(server.line(), MatchesRegex("listening on http://127\\.0\\.0\\.1:[0-9]+ dialect vllm "
                                          "toy hashed speculation off"));
  const std::string reply = post(server.port(), "/v1/completions",
                                 R"({"prompt":[0],"max_tokens":3,"return_token_ids":true})");
  EXPECT_THAT(reply, HasSubstr("200 OK"));
  const auto body = nlohmann::json::parse(reply.substr(reply.find("\r\n\r\n") + 4));
  EXPECT_EQ(body["choices"][0]["token_ids"].size(), 3u);
  EXPECT_EQ(server.stop(SIGTERM), 0);
}

TEST(ServeCommand, AnswersWholeWhateverRangeIsAskedFor) {
  const ServerProcess server({"--dialect", "llama.cpp"});
  const auto ranged = [&](const std::string& start, const std::string& range) {
    return answer(server.port(), start + " HTTP/1.1\r\nHost: x\r\nConnection: close\r\n" + range +
                                     "Content-Length: 0\r\n\r\n");
  };
  for (const char* start : {"GET /health", "GET /props", "POST /completion"}) {
    const std::string whole = ranged(start, "");
    EXPECT_THAT(whole, HasSubstr("\r\n\r\n{")) << "no answer to compare with";
    for (const char* bytes : {"0-0", "2-5", "-3", "0-0,2-3", "9999-"})
      EXPECT_EQ(ranged(start, std::string("Range: bytes=") + bytes + "\r\n"), whole)
          << start << ' ' << bytes;
    EXPECT_THAT(ranged(start, "Range: bytes=5-2\r\n"), HasSubstr("leave it out")) << "no range";
  }
}

TEST(ServeCommand, EndsInterruptedByInt) {
  ServerProcess server({});
  EXPECT_THAT(server.line(), HasSubstr("dialect llama.cpp toy markov speculation on"));
  EXPECT_EQ(server.stop(SIGINT), 130);
}

TEST(ServeCommand, CannotStartOnATakenPort) {
  const ServerProcess server({});
  const CommandResult second = draftproof({"serve", "--port", std::to_string(server.port())});
  EXPECT_EQ(second.exit_code, 3);
  EXPECT_EQ(second.out, "");
  EXPECT_EQ(lines_in(second.err), 1u);
  EXPECT_THAT(second.err, HasSubstr("--port 0"));
}

TEST(ServeCommand, RefusesWhatItDoesNotKnow) {
  const std::vector<std::pair<std::vector<std::string>, std::string>> wrong = {
      {{"--toy", "gpt"}, "--toy"},
      {{"--dialect", "tgi"}, "--dialect"},
      {{"--bug", "no_such_bug"}, "--bug"},
      {{"--speculation", "maybe"}, "--speculation"},
      {{"--port", "65536"}, "--port"},
      {{"--seed", "-1"}, "--seed"},
      {{"--rule", "magic"}, "--rule: unknown rule 'magic'"},
      {{"--draft-length", "0"}, "--draft-length: is 0"},
      {{"--host", ""}, "--host: is empty"},
      {{"--host", "no.such.host.invalid"}, "no.such.host.invalid"}};
  for (const auto& [words, place] : wrong) {
    std::vector<std::string> arguments = {"serve"};
    arguments.insert(arguments.end(), words.begin(), words.end());
    const CommandResult result = draftproof(arguments);
    EXPECT_EQ(result.exit_code, 3) << place;
    EXPECT_EQ(result.out, "") << place;
    EXPECT_THAT(result.err, HasSubstr(place));
    EXPECT_EQ(lines_in(result.err), 1u) << result.err;
  }
}

}  // namespace
}  // namespace draftproof::tests
