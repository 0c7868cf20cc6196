// Engine host: the one thread that an engine lives on. Others hand orders in and wait for
// completions; one who stops waiting cancels. An engine that breaks (a fault was asked for by name)
// fails the orders that it held and is replaced, so that the server stays up.
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "reference/decode/engine.h"
#include "reference/model/spelling.h"
#include "tools/serve/completion.h"

namespace draftproof::tools::serve {

/// More orders than the host takes, or a host that stops: the client may come again.
class Busy : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// The engine broke while it held the order: no fault of the client.
class EngineFailure : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

struct HostOptions {
  reference::decode::EngineConfig config;
  reference::decode::EngineStepsPtr steps = reference::decode::right_steps();
  reference::decode::CacheFactory make_cache = {};
  reference::model::Spelling spelling;
  int unfinished_max = 1024;  ///< orders that wait or run; more are refused
};

/// What all orders so far added up to.
struct Totals {
  std::int64_t prompt_tokens = 0;
  std::int64_t completion_tokens = 0;
  std::int64_t verifications = 0;
  std::int64_t drafts = 0;
  std::int64_t drafted = 0;
  std::int64_t accepted = 0;                     ///< of drafted ones, those cut later included
  std::vector<std::int64_t> accepted_histogram;  ///< verifications by accepted drafted tokens
  std::map<FinishReason, std::int64_t> finished;
  int unfinished = 0;

  /// Of drafted tokens at depth 0, 1, ...: how many were accepted.
  std::vector<std::int64_t> accepted_by_position() const;
};

/// What the caches hold between two steps.
struct PagesInUse {
  int live = 0;
  int total = 0;
};

struct Job;

class EngineHost {
 private:
  class Loop;

 public:
  /// An order in work. Cancels it when destroyed before it is done.
  class Ticket {
   public:
    Ticket(std::shared_ptr<Job> job, std::shared_ptr<Loop> loop);
    Ticket(Ticket&&) = default;
    Ticket& operator=(Ticket&&) = delete;
    ~Ticket();

    /// Waits until it is done, at most so long. Throws EngineFailure.
    bool wait(std::chrono::milliseconds time_max) const;
    /// Waits until there are more than `token_count` tokens to show, or it is done.
    bool wait_for_more(std::size_t token_count, std::chrono::milliseconds time_max) const;
    /// What may be shown so far: everything when it is done.
    Completion so_far() const;

   private:
    std::shared_ptr<Job> job_;
    std::shared_ptr<Loop> loop_;
  };

  /// Throws Error(kInput) as validate(config).
  explicit EngineHost(HostOptions options);
  EngineHost(const EngineHost&) = delete;
  ~EngineHost();  ///< stop(0)

  const HostOptions& options() const { return options_; }

  /// All or none. Throws Error(kInput) as validate(spec, config), Busy.
  std::vector<Ticket> submit(std::vector<Order> orders);

  Totals totals() const;
  /// Of the target's cache, as the last step left it.
  PagesInUse pages_in_use() const;

  /// Takes no order any longer, lets those it has finish for so long, cancels the rest.
  void stop(std::chrono::milliseconds grace);

 private:
  HostOptions options_;
  std::shared_ptr<Loop> loop_;
};

}  // namespace draftproof::tools::serve
