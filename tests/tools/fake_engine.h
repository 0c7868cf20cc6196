// Fake engines: servers that answer whatever a test wants, in the words of llama.cpp, and one that
// speaks bytes, for what no HTTP library would send.
#pragma once

#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>
#include <vector>

#include "reference/error.h"
#include "tools/engines/client.h"
#include "tools/engines/http.h"

namespace draftproof::tests {

using Json = nlohmann::json;
using properties::Completion;
using properties::CompletionEnd;
using properties::SamplingRequest;
using tools::engines::ArmClient;
using tools::engines::ClientOptions;
using tools::http::Request;
using tools::http::Response;

/// An answer of llama.cpp's to three tokens.
inline Json llama_answer(const std::vector<int>& tokens = {3, 4, 5}) {
  return {{"content", "abc"},
          {"tokens", tokens},
          {"model", "first.gguf"},
          {"tokens_predicted", tokens.size()},
          {"stop", true},
          {"stop_type", "limit"},
          {"generation_settings", {{"temperature", 1.0}, {"top_k", 0}, {"seed", 5}}},
          {"timings", Json::object()}};
}

/// Serves /props and /v1/models as llama.cpp does, and `complete` at /completion.
class FakeEngine {
 public:
  explicit FakeEngine(tools::http::Handler complete)
      : server_({}, routes(std::move(complete)), [](int, const std::string& message) {
          return Json{{"error", {{"message", message}}}}.dump();
        }) {}
  std::string url() const { return "http://127.0.0.1:" + std::to_string(server_.port()); }

  std::atomic<const char*> model{"first.gguf"};  ///< what /props says
  std::atomic<int> calls{0};                     ///< of /completion

 private:
  std::vector<tools::http::Route> routes(tools::http::Handler complete) {
    const auto props = [this](const tools::http::Request&) {
      return tools::http::Response{.body = Json{
                                       {"default_generation_settings", {{"n_ctx", 64}}},
                                       {"model_path", model.load()},
                                       {"build_info",
                                        "b1"}}.dump()};
    };
    const auto models = [](const tools::http::Request&) {
      return tools::http::Response{.body = R"({"data":[{"id":"m","meta":{"n_vocab":16}}]})"};
    };
    const auto health = [](const tools::http::Request&) {
      return tools::http::Response{.body = "{}"};
    };
    const auto counted = [this, complete = std::move(complete)](const tools::http::Request& in) {
      ++calls;
      return complete(in);
    };
    return {{"GET", "/props", props},
            {"GET", "/v1/models", models},
            {"GET", "/health", health},
            {"POST", "/completion", counted}};
  }

  tools::http::Server server_;
};

/// Accepts connections one after the other, reads a request's head and body, writes what `answer`
/// says to it, and closes. The requests as they came are kept.
class RawServer {
 public:
  using Answer = std::function<std::string(const std::string& request)>;
  explicit RawServer(Answer answer) : answer_(std::move(answer)) {
    socket_ = ::socket(AF_INET, SOCK_STREAM, 0);
    sockaddr_in address = {};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    ::bind(socket_, reinterpret_cast<sockaddr*>(&address), sizeof(address));
    ::listen(socket_, 64);
    socklen_t size = sizeof(address);
    ::getsockname(socket_, reinterpret_cast<sockaddr*>(&address), &size);
    port_ = ntohs(address.sin_port);
    thread_ = std::thread([this] { serve(); });
  }
  RawServer(const RawServer&) = delete;
  ~RawServer() { stop(); }
  std::string url() const { return "http://127.0.0.1:" + std::to_string(port_); }
  void stop() {
    if (!thread_.joinable()) return;
    is_stopping_ = true;
    ::shutdown(socket_, SHUT_RDWR);
    thread_.join();
    ::close(socket_);
  }

 private:
  void serve() {
    while (!is_stopping_) {
      const int peer = ::accept(socket_, nullptr, nullptr);
      if (peer < 0) return;
      std::string request;
      std::size_t wanted = std::string::npos;
      char buffer[4096];
      while (request.size() < wanted) {
        const auto count = ::recv(peer, buffer, sizeof(buffer), 0);
        if (count <= 0) break;
        request.append(buffer, static_cast<std::size_t>(count));
        const std::size_t head = request.find("\r\n\r\n");
        if (head == std::string::npos) continue;
        const std::size_t length = request.find("Content-Length: ");
        wanted = head + 4 + (length < head ? std::stoul(request.substr(length + 16)) : 0);
      }
      const std::string bytes = answer_(request);
      ::send(peer, bytes.data(), bytes.size(), MSG_NOSIGNAL);
      ::close(peer);
    }
  }

  Answer answer_;
  int socket_ = -1;
  int port_ = 0;
  std::atomic<bool> is_stopping_{false};
  std::thread thread_;
};

/// An HTTP answer with a length, which may be a lie.
inline std::string http_answer(const std::string& body, std::size_t length,
                               const std::string& type = "application/json") {
  return "HTTP/1.1 200 OK\r\nContent-Type: " + type +
         "\r\nContent-Length: " + std::to_string(length) + "\r\nConnection: close\r\n\r\n" + body;
}

inline ClientOptions options_for(const std::string& url) {
  ClientOptions options;
  options.url = url;
  options.retry.first_delay_s = 0.001;
  options.read_timeout_s = 5;
  return options;
}

inline SamplingRequest three_tokens() {
  SamplingRequest request;
  request.prompt = {1, 2};
  request.max_tokens = 3;
  request.seed = 5;
  return request;
}

inline Response says(const Json& body) { return {.body = body.dump()}; }

inline Completion completed(const FakeEngine& engine,
                            const SamplingRequest& request = three_tokens()) {
  return tools::engines::http_client(options_for(engine.url()))->complete(request);
}

/// What a fake that answers this way comes to.
inline Completion completed(const std::function<Response(const Request&)>& answer,
                            const SamplingRequest& request = three_tokens()) {
  const FakeEngine engine(answer);
  return completed(engine, request);
}

template <typename Action>
Error error_of(const Action& action) {
  try {
    action();
  } catch (const Error& error) {
    return error;
  }
  ADD_FAILURE() << "no error";
  return Error(ErrorKind::kInput, "none");
}

}  // namespace draftproof::tests
