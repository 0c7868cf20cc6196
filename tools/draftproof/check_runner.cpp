#include "tools/draftproof/check_runner.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <exception>
#include <map>
#include <memory>
#include <mutex>
#include <thread>

#include "reference/error.h"

namespace draftproof::tools {
namespace {

using report::CheckResult;
using Results = std::vector<CheckResult>;
using Clock = std::chrono::steady_clock;

/// Shared with the workers by ownership: an abandoned worker may outlive the call.
struct Exchange {
  std::vector<CheckJob> jobs;
  RunnerOptions options;
  std::mutex mutex;
  std::condition_variable changed;
  std::deque<report::Event> events;      // started and progress, in the order they happened
  std::map<std::size_t, Results> ready;  // results not yet reported
  std::size_t next_job = 0;
  unsigned workers_left = 0;
  std::atomic<bool> ends_early{false};

  bool stopped() const { return ends_early || options.interrupted() || options.is_time_up(); }
};

Results failed(CheckResult blank, std::string CheckResult::*field, const std::string& message) {
  blank.verdict.kind = oracle::VerdictKind::kInconclusive;
  blank.verdict.evidence = message;
  blank.*field = message;
  return {blank};
}

Results results_of(const CheckJob& job, const CheckContext& context) {
  const auto begin = Clock::now();
  Results results;
  try {
    results = job.run(context);
    // Without a result the check would vanish from the run, and nothing would be held against it.
    DRAFTPROOF_CHECK(!results.empty(), job.blank.id);
  } catch (const Error& error) {
    results = failed(job.blank, &CheckResult::world_error, error.what());
  } catch (const std::exception& error) {
    results = failed(job.blank, &CheckResult::internal_error, error.what());
  } catch (...) {
    results = failed(job.blank, &CheckResult::internal_error, "an exception of no known type");
  }
  const double seconds = std::chrono::duration<double>(Clock::now() - begin).count();
  for (CheckResult& result : results) {
    if (result.verdict.seconds == 0) {
      result.verdict.seconds = seconds / static_cast<double>(results.size());
    }
  }
  return results;
}

Results not_run(CheckResult blank) {
  blank.verdict.kind = oracle::VerdictKind::kInconclusive;
  blank.verdict.evidence = "not run: the time limit was reached before it began";
  return {blank};
}

CheckContext context_of(const std::shared_ptr<Exchange>& exchange, std::size_t index) {
  CheckContext context;
  context.stopped = [exchange] { return exchange->stopped(); };
  context.progress = [exchange, index](std::uint64_t done, std::uint64_t of) {
    {
      const std::lock_guard lock(exchange->mutex);
      exchange->events.push_back(report::CheckProgress{index, done, of});
    }
    exchange->changed.notify_one();
  };
  return context;
}

void work(const std::shared_ptr<Exchange>& exchange) {
  std::unique_lock lock(exchange->mutex);
  while (exchange->next_job < exchange->jobs.size() && !exchange->ends_early &&
         !exchange->options.interrupted()) {
    const std::size_t index = exchange->next_job++;
    const CheckJob& job = exchange->jobs[index];
    exchange->events.push_back(report::CheckStarted{index, job.blank.id});
    lock.unlock();
    Results results = exchange->options.is_time_up() ? not_run(job.blank)
                                                     : results_of(job, context_of(exchange, index));
    lock.lock();
    exchange->ready[index] = std::move(results);
    exchange->changed.notify_one();
  }
  --exchange->workers_left;
  exchange->changed.notify_one();
}

bool is_violated(const Results& results) {
  return std::any_of(results.begin(), results.end(), [](const CheckResult& result) {
    return result.verdict.kind == oracle::VerdictKind::kViolated;
  });
}

/// The calling thread's side: takes what the workers left and hands it to the reporter.
class Dispatcher {
 public:
  Dispatcher(std::shared_ptr<Exchange> exchange, report::Reporter& reporter)
      : exchange_(std::move(exchange)), reporter_(reporter) {}

  RunnerEnd run() {
    std::optional<Clock::time_point> interrupted_at;
    while (true) {
      const bool is_done = take();
      report();
      if (exchange_->options.interrupted() && !interrupted_at) interrupted_at = Clock::now();
      if (is_done) return interrupted_at ? RunnerEnd::kInterrupted : RunnerEnd::kComplete;
      if (interrupted_at && seconds_since(*interrupted_at) > exchange_->options.grace_seconds) {
        return RunnerEnd::kAbandoned;
      }
    }
  }

 private:
  static double seconds_since(Clock::time_point begin) {
    return std::chrono::duration<double>(Clock::now() - begin).count();
  }

  /// Waits a moment for news; true when every worker has left.
  bool take() {
    std::unique_lock lock(exchange_->mutex);
    // A signal handler cannot notify, so the wait is short.
    exchange_->changed.wait_for(lock, std::chrono::milliseconds(50), [&] {
      return !exchange_->events.empty() || !exchange_->ready.empty() ||
             exchange_->workers_left == 0;
    });
    for (auto& event : exchange_->events) events_.push_back(std::move(event));
    exchange_->events.clear();
    for (auto& [index, results] : exchange_->ready) pending_[index] = std::move(results);
    exchange_->ready.clear();
    return exchange_->workers_left == 0;
  }

  void report() {
    for (const auto& event : events_) reporter_.on(event);
    events_.clear();
    while (!is_closed_ && pending_.contains(next_)) {
      const Results results = std::move(pending_[next_]);
      for (const CheckResult& result : results) {
        reporter_.on(report::CheckFinished{next_, result});
      }
      ++next_;
      if (exchange_->options.stops_at_violation && is_violated(results)) {
        exchange_->ends_early = true;
        is_closed_ = true;
      }
    }
  }

  std::shared_ptr<Exchange> exchange_;
  report::Reporter& reporter_;
  std::vector<report::Event> events_;
  std::map<std::size_t, Results> pending_;
  std::size_t next_ = 0;
  bool is_closed_ = false;
};

}  // namespace

RunnerEnd run_checks(const std::vector<CheckJob>& jobs, const RunnerOptions& options,
                     report::Reporter& reporter) {
  const auto exchange = std::make_shared<Exchange>();
  exchange->jobs = jobs;
  exchange->options = options;
  const auto job_count = static_cast<unsigned>(std::max<std::size_t>(1, jobs.size()));
  exchange->workers_left = std::clamp(options.workers, 1u, job_count);
  std::vector<std::thread> threads;
  const unsigned thread_count = exchange->workers_left;
  for (unsigned i = 0; i < thread_count; ++i) threads.emplace_back(work, exchange);
  const RunnerEnd end = Dispatcher(exchange, reporter).run();
  for (std::thread& thread : threads) {
    if (end == RunnerEnd::kAbandoned) {
      thread.detach();
    } else {
      thread.join();
    }
  }
  return end;
}

}  // namespace draftproof::tools
