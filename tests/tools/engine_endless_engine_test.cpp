// Engines that are slow, that drip, and that never end. Goal: a call is over after a bounded time
// and a bounded number of bytes whatever comes, says why, and what is slow but ends in time is
// answered. Method: servers by bytes that send a piece again and again; limits of fractions of a
// second.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <future>

#include "tests/tools/fake_engine.h"

namespace draftproof::tests {
namespace engine_endless {
namespace {

using namespace std::chrono_literals;
using testing::AllOf;
using testing::HasSubstr;
using tools::http::ConnectionError;

constexpr double kRead = 0.3;  ///< seconds without a byte

/// Reads what comes, sends `head`, and `piece` every `pause` for as long as somebody listens, at
/// most `count_max` times. Connections one after the other.
class Dripper {
 public:
  Dripper(std::string head, std::string piece, std::chrono::milliseconds pause,
          int count_max = 1 << 30)
      : head_(std::move(head)), piece_(std::move(piece)), pause_(pause), count_max_(count_max) {
    socket_ = ::socket(AF_INET, SOCK_STREAM, 0);
    sockaddr_in address = {};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    ::bind(socket_, reinterpret_cast<sockaddr*>(&address), sizeof(address));
    ::listen(socket_, 8);
    socklen_t size = sizeof(address);
    ::getsockname(socket_, reinterpret_cast<sockaddr*>(&address), &size);
    port_ = ntohs(address.sin_port);
    thread_ = std::thread([this] { serve(); });
  }
  Dripper(const Dripper&) = delete;
  ~Dripper() {
    is_stopping_ = true;
    ::shutdown(socket_, SHUT_RDWR);
    thread_.join();
    ::close(socket_);
  }
  int port() const { return port_; }

 private:
  void serve() {
    while (!is_stopping_) {
      const int peer = ::accept(socket_, nullptr, nullptr);
      if (peer < 0) return;
      char buffer[65536];
      ::recv(peer, buffer, sizeof(buffer), 0);
      bool is_heard = ::send(peer, head_.data(), head_.size(), MSG_NOSIGNAL) >= 0;
      for (int i = 0; i < count_max_ && is_heard && !is_stopping_; ++i) {
        if (pause_ > 0ms) std::this_thread::sleep_for(pause_);
        is_heard = ::send(peer, piece_.data(), piece_.size(), MSG_NOSIGNAL) >= 0;
      }
      ::close(peer);
    }
  }

  std::string head_, piece_;
  std::chrono::milliseconds pause_;
  int count_max_, socket_ = -1, port_ = 0;
  std::atomic<bool> is_stopping_{false};
  std::thread thread_;
};

/// The reply, or the error's text; `stage` of it.
std::string told(const Dripper& server, const tools::http::ClientOptions& options,
                 std::optional<ConnectionError::Stage>& stage, bool is_streaming = false) {
  tools::http::Client client("127.0.0.1", server.port(), options);
  stage.reset();
  try {
    if (is_streaming)
      return client.post_streaming("/x", "{}", [](std::string_view) { return true; }).body;
    return client.post("/x", "{}").body;
  } catch (const ConnectionError& error) {
    stage = error.stage();
    return error.message();
  }
}

tools::http::ClientOptions limits() {
  return {.read_seconds_max = kRead, .reads_max = 2};  // 0.6 s in all
}

const std::string kOk = "HTTP/1.1 200 OK\r\nConnection: close\r\n";
/// "a\r\n" once and again: a chunk of one byte.
const std::string kChunked = kOk + "Transfer-Encoding: chunked\r\n\r\n";

TEST(EngineEndless, DripsAreCutOffWhereverTheyAre) {
  struct Drip {
    const char* where;
    std::string head, piece;
    ConnectionError::Stage stage;
  };
  using Stage = ConnectionError::Stage;
  std::vector<std::future<void>> calls;
  for (const Drip& each :
       {Drip{"status line", "H", "T", Stage::kTimeout},
        Drip{"head", kOk + "X: ", "x", Stage::kTimeout},
        Drip{"body with a length", kOk + "Content-Length: 1000000\r\n\r\n", "x", Stage::kBroken},
        Drip{"body without a length", kOk + "\r\n", "x", Stage::kBroken},
        Drip{"chunks", kChunked, "1\r\nx\r\n", Stage::kBroken},
        Drip{"length of a chunk", kChunked, "0", Stage::kBroken}}) {
    for (const bool is_streaming : {false, true})
      calls.push_back(std::async(std::launch::async, [each, is_streaming] {
        const Dripper server(each.head, each.piece, 10ms);
        std::optional<Stage> stage;
        EXPECT_THAT(told(server, limits(), stage, is_streaming),
                    AllOf(HasSubstr("had not ended after 0.6 s"), HasSubstr("read timeout")))
            << each.where;
        EXPECT_EQ(stage, each.stage) << each.where;
      }));
  }
}

TEST(EngineEndless, SlowAnswersThatEndInTimeAreWhole) {
  Dripper server(kOk + "Content-Length: 8\r\n\r\n", "x", 20ms, 8);
  std::optional<ConnectionError::Stage> stage;
  tools::http::ClientOptions patient = limits();
  patient.read_seconds_max = 30;
  EXPECT_EQ(told(server, patient, stage), "xxxxxxxx");
  EXPECT_EQ(stage, std::nullopt);
}

TEST(EngineEndless, SilenceIsToldAsSilence) {
  Dripper server(kOk + "Content-Length: 8\r\n\r\nxx", "", 10ms);
  std::optional<ConnectionError::Stage> stage;
  EXPECT_THAT(told(server, limits(), stage), HasSubstr("nothing more came within 0.3 s"));
  EXPECT_EQ(stage, ConnectionError::Stage::kBroken);
}

TEST(EngineEndless, FloodsEndAtTheirSize) {
  Dripper server(kOk + "\r\n", std::string(4096, 'x'), 0ms);
  tools::http::ClientOptions small = limits();
  small.read_seconds_max = 30;
  small.body_bytes_max = 1 << 20;
  for (const bool is_streaming : {false, true}) {
    std::optional<ConnectionError::Stage> stage;
    EXPECT_EQ(told(server, small, stage, is_streaming), "the answer is too large");
    EXPECT_EQ(stage, ConnectionError::Stage::kBroken);
  }
}

/// From outside: an engine whose every answer drips is one whose completions fail, each in time.
TEST(EngineEndless, CompletionsThatDripFailAndAreNotAskedAgain) {
  std::atomic<int> calls{0};
  std::atomic<bool> is_over{false};
  class Drops final : public tools::http::Source {
   public:
    explicit Drops(const std::atomic<bool>& is_over) : is_over_(is_over) {}
    Piece next() override {
      std::this_thread::sleep_for(20ms);
      return {.bytes = " ", .is_broken = is_over_};
    }

   private:
    const std::atomic<bool>& is_over_;
  };
  FakeEngine engine([&](const Request&) {
    ++calls;
    return Response{.source = std::make_shared<Drops>(is_over)};
  });
  ClientOptions options = options_for(engine.url());
  options.read_timeout_s = kRead;  // ten of them in all
  const auto arm = tools::engines::http_client(options);
  for (const bool is_streamed : {false, true}) {
    SamplingRequest request = three_tokens();
    request.is_streamed = is_streamed;
    calls = 0;
    const Completion done = arm->complete(request);
    EXPECT_EQ(done.end, CompletionEnd::kFailed);
    EXPECT_THAT(done.failure, HasSubstr("had not ended after 3.0 s"));
    EXPECT_EQ(calls, 1);
  }
  is_over = true;
}

}  // namespace
}  // namespace engine_endless
}  // namespace draftproof::tests
