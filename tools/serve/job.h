// Jobs: an order in work, between the engine's thread, which fills its completion, and the threads
// that wait for it. Tokens become texts here, and texts stop requests.
#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <string>
#include <utility>

#include "reference/decode/engine_state.h"
#include "reference/model/spelling.h"
#include "tools/serve/completion.h"
#include "tools/serve/text_stops.h"

namespace draftproof::tools::serve {

/// Verifications with a draft so far.
std::int64_t drafts_of(const reference::decode::HostRequest& host);

/// What is not said to be one thread's is under the mutex.
struct Job {
  using Clock = std::chrono::steady_clock;

  explicit Job(Order from) : order(std::move(from)), stops(order.stop_texts) {}

  const Order order;
  const TextStops stops;
  const Clock::time_point arrival = Clock::now();

  mutable std::mutex mutex;
  mutable std::condition_variable changed;
  Completion completion;
  std::size_t shown = 0;  ///< tokens that no text stop can take back
  std::string failure;    ///< empty: none
  bool is_over = false;   ///< done or failed

  // The engine's thread only.
  Clock::time_point start;
  Clock::time_point first_token;
  std::size_t taken = 0;  ///< tokens of the engine's output that were looked at

  /// Takes what the engine has emitted since. True when there is nothing more to take.
  bool take(const reference::decode::HostRequest& host, const reference::model::Spelling& spelling);
  /// Tells whoever waits; from here on nothing changes.
  void finish(const reference::decode::HostRequest& host);
  void fail(const std::string& message);

 private:
  bool add(const OutputToken& token, const std::string& text);
  bool is_stop_token(const reference::decode::HostRequest& host, std::size_t index) const;
};

}  // namespace draftproof::tools::serve
