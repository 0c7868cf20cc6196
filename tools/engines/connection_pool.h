// Connection pool: calls of several threads to one server. Keeps connections between calls, no more
// of them than allowed, spaces requests out, and asks again where nothing was lost by it: the
// server said that it is busy (429, 503), or the connection ended before an answer began. What
// began to be answered is never asked again: an answer that broke off is an observation.
#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "tools/engines/http.h"

namespace draftproof::tools::engines {

struct PoolOptions {
  http::ClientOptions client = {};
  int attempt_max = 4;
  double first_delay_s = 0.2;   ///< doubles
  double retry_after_max = 60;  ///< seconds that a server's Retry-After is waited for, at most
  double requests_per_second_max = 0;  ///< 0: no limit
  int connection_max = 64;
};

/// Seconds of the steady clock: the origin of Completion::timing, of all clients of this process.
double steady_seconds();

class ConnectionPool {
 public:
  /// Preconditions: attempt_max, connection_max > 0.
  ConnectionPool(const http::Url& url, const PoolOptions& options);

  struct Answer {
    http::Reply reply;
    double sent = 0;  ///< of the attempt that was answered
    double ended = 0;
  };
  /// Several threads may call. The last attempt's reply whatever its status. Throws
  /// http::ConnectionError of the last attempt.
  Answer get(const std::string& path);
  Answer post(const std::string& path, const std::string& body);
  Answer post_streaming(const std::string& path, const std::string& body,
                        const std::function<bool(std::string_view)>& receive);
  const http::Url& url() const { return url_; }

 private:
  using Call = std::function<http::Reply(http::Client&)>;
  class Lease;
  Answer call(const Call& call);
  Answer attempt(const Call& call);
  void wait_for_turn();

  http::Url url_;
  PoolOptions options_;
  std::mutex mutex_;
  std::condition_variable freed_;
  std::vector<std::unique_ptr<http::Client>> idle_;
  int open_count_ = 0;
  std::chrono::steady_clock::time_point next_turn_ = {};
};

}  // namespace draftproof::tools::engines
