#include "tools/engines/connection_pool.h"

#include <algorithm>
#include <cstdlib>
#include <thread>
#include <utility>

namespace draftproof::tools::engines {
namespace {

using Clock = std::chrono::steady_clock;
using Seconds = std::chrono::duration<double>;

Clock::duration ticks_of(double seconds) {
  return std::chrono::duration_cast<Clock::duration>(Seconds(seconds));
}

/// The delay that a server asks for; dates are not read (RFC 9110, 10.2.3 has both).
double asked_delay(const http::Reply& reply, double usual, double most) {
  if (reply.retry_after.empty()) return usual;
  char* end = nullptr;
  const double seconds = std::strtod(reply.retry_after.c_str(), &end);
  if (end == reply.retry_after.c_str() || !(seconds >= 0)) return usual;
  return std::min(seconds, most);
}

}  // namespace

double steady_seconds() { return Seconds(Clock::now().time_since_epoch()).count(); }

/// A connection for the time of one attempt.
class ConnectionPool::Lease {
 public:
  explicit Lease(ConnectionPool& pool) : pool_(pool) {
    std::unique_lock lock(pool_.mutex_);
    pool_.freed_.wait(lock, [&] {
      return !pool_.idle_.empty() || pool_.open_count_ < pool_.options_.connection_max;
    });
    if (!pool_.idle_.empty()) {
      // The one that was used last is the least likely to have been closed meanwhile.
      client_ = std::move(pool_.idle_.back());
      pool_.idle_.pop_back();
      return;
    }
    ++pool_.open_count_;
    lock.unlock();
    client_ = std::make_unique<http::Client>(pool_.url_, pool_.options_.client);
  }
  Lease(const Lease&) = delete;
  ~Lease() {
    {
      const std::lock_guard lock(pool_.mutex_);
      if (client_) {
        pool_.idle_.push_back(std::move(client_));
      } else {
        --pool_.open_count_;
      }
    }
    pool_.freed_.notify_one();
  }
  http::Client& client() { return *client_; }

 private:
  ConnectionPool& pool_;
  std::unique_ptr<http::Client> client_;
};

ConnectionPool::ConnectionPool(const http::Url& url, const PoolOptions& options)
    : url_(url), options_(options) {
  DRAFTPROOF_CHECK(options.attempt_max > 0 && options.connection_max > 0);
}

void ConnectionPool::wait_for_turn() {
  if (!(options_.requests_per_second_max > 0)) return;
  Clock::time_point turn;
  {
    const std::lock_guard lock(mutex_);
    turn = std::max(Clock::now(), next_turn_);
    next_turn_ = turn + ticks_of(1 / options_.requests_per_second_max);
  }
  std::this_thread::sleep_until(turn);
}

ConnectionPool::Answer ConnectionPool::attempt(const Call& call) {
  wait_for_turn();
  Lease lease(*this);
  Answer answer;
  answer.sent = steady_seconds();
  answer.reply = call(lease.client());
  answer.ended = steady_seconds();
  return answer;
}

ConnectionPool::Answer ConnectionPool::call(const Call& call) {
  using Stage = http::ConnectionError::Stage;
  double delay = options_.first_delay_s;
  for (int left = options_.attempt_max - 1;; --left, delay *= 2) {
    double pause = delay;
    try {
      Answer answer = attempt(call);
      const int status = answer.reply.status;
      if ((status != 429 && status != 503) || left == 0) return answer;
      pause = asked_delay(answer.reply, delay, options_.retry_after_max);
    } catch (const http::ConnectionError& error) {
      const bool is_safe =
          error.stage() == Stage::kNotConnected || error.stage() == Stage::kNoAnswer;
      if (!is_safe || left == 0) throw;
    }
    std::this_thread::sleep_for(ticks_of(pause));
  }
}

ConnectionPool::Answer ConnectionPool::get(const std::string& path) {
  return call([&](http::Client& client) { return client.get(path); });
}

ConnectionPool::Answer ConnectionPool::post(const std::string& path, const std::string& body) {
  return call([&](http::Client& client) { return client.post(path, body); });
}

ConnectionPool::Answer ConnectionPool::post_streaming(
    const std::string& path, const std::string& body,
    const std::function<bool(std::string_view)>& receive) {
  return call([&](http::Client& client) { return client.post_streaming(path, body, receive); });
}

}  // namespace draftproof::tools::engines
