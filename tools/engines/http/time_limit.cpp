#include "tools/engines/http/time_limit.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <map>
#include <mutex>
#include <thread>
#include <utility>

namespace draftproof::tools::http {

namespace {
using Clock = std::chrono::steady_clock;
constexpr double kSecondsMax = 1e8;  ///< years, which the clock has room for
}  // namespace

struct TimeLimit::Entry {
  /// All of this process, the earliest first, and the thread that looks after them.
  class Queue {
   public:
    using Place = std::multimap<Clock::time_point, Entry*>::iterator;

    Place add(Clock::time_point due, Entry& entry) {
      const std::lock_guard lock(mutex_);
      if (due < wakes_) changed_.notify_one();
      return entries_.emplace(due, &entry);
    }
    void remove(Entry& entry) {
      const std::lock_guard lock(mutex_);
      if (!entry.is_over) entries_.erase(entry.place);
    }  // whoever is over has a thread of its own, which the entry waits for

   private:
    void watch(const std::stop_token& stop) {
      std::unique_lock lock(mutex_);
      while (!stop.stop_requested()) {
        if (!entries_.empty() && entries_.begin()->first <= Clock::now()) {
          Entry& entry = *entries_.begin()->second;
          entries_.erase(entries_.begin());
          entry.is_over = true;
          // A call may take its time to be ended: a library that shakes hands holds its socket.
          entry.ender = std::jthread(entry.end);
          continue;
        }
        // Most calls end in time, and a later limit than the one that is slept for wakes nobody.
        wakes_ = entries_.empty() ? Clock::now() + std::chrono::hours(1) : entries_.begin()->first;
        changed_.wait_until(lock, stop, wakes_,
                            [&] { return !entries_.empty() && entries_.begin()->first < wakes_; });
      }
    }

    std::mutex mutex_;
    std::condition_variable_any changed_;
    std::multimap<Clock::time_point, Entry*> entries_;
    Clock::time_point wakes_ = Clock::time_point::max();
    std::jthread thread_{
        [this](const std::stop_token& stop) { watch(stop); }};  // the last to begin
  };
  static Queue& queue() {
    static Queue queue;
    return queue;
  }

  std::function<void()> end;
  std::atomic<bool> is_over{false};
  Queue::Place place;
  std::jthread ender;  ///< begun under the queue's lock, and behind it never touched by the queue
};

TimeLimit::TimeLimit(double seconds, std::function<void()> end)
    : entry_(std::make_unique<Entry>()) {
  entry_->end = std::move(end);
  const std::chrono::duration<double> delay(std::min(seconds, kSecondsMax));
  const auto ticks = std::chrono::duration_cast<Clock::duration>(delay);
  entry_->place = Entry::queue().add(Clock::now() + ticks, *entry_);
}

TimeLimit::~TimeLimit() { Entry::queue().remove(*entry_); }

bool TimeLimit::is_over() const { return entry_->is_over; }

}  // namespace draftproof::tools::http
