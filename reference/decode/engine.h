// The engine: continuous batching with speculation over paged caches, in as few lines as it takes
// to have every piece of state that real engines hand over. One step drafts, verifies and commits;
// each of the three can be called on its own, in any order that an engine could see, so that an
// explorer can interleave them with arrivals, cancels, preemptions and cache hits.
//
//   submit ──► waiting ──► prefilling ──► drafting ──► verifying ──► drafting ...  ──► finished
//                 ▲                          └──► falling back ──► drafting
//                 └── preempted from any of them; finished from any by cancel
// A request that resumes feeds its tokens again, all but the pending one, and is then drafted for
// as it would have been: a seed says the same whether it was preempted or not.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "reference/decode/engine_config.h"
#include "reference/decode/engine_state.h"
#include "reference/decode/engine_steps.h"
#include "reference/decode/request.h"
#include "reference/verifier.h"

namespace draftproof::reference::decode {

/// What one verification was handed and decided, for whoever checks it.
struct VerificationRecord {
  std::int64_t frame = 0;
  RequestId id = 0;
  int epoch = 0;
  bool is_prefill = false;
  std::vector<Token> context;  ///< prompt and emitted tokens before it, as the device had them
  Draft draft;                 ///< as the source made it; empty when there was none
  Request judged;              ///< what the rule was handed: proposal, rows, coin addresses
  std::vector<Row> rows;       ///< the model's own rows
  std::uint64_t seed = 0;      ///< of its coins
  RequestOutcome outcome;
};

/// How a cache is made; faults of caches hand in their own.
using CacheFactory =
    std::function<std::unique_ptr<kv::PagedCache>(const kv::CacheConfig&, bool is_draft)>;

/// Copies are engines of their own. Not for use by several threads at a time.
class Engine {
 public:
  /// Throws Error(kInput) as validate(config).
  explicit Engine(EngineConfig config, EngineStepsPtr steps = right_steps(),
                  CacheFactory make_cache = {});
  Engine(const Engine& other);
  Engine& operator=(const Engine&) = delete;
  ~Engine();

  const EngineConfig& config() const { return *config_; }
  const EngineState& state() const { return state_; }

  /// Throws Error(kInput) as validate(spec, config), and when queue_max requests wait.
  RequestId submit(RequestSpec spec);
  /// Ends a request with what it has emitted. False when it is not there or has finished.
  bool cancel(RequestId id);
  /// Takes everything of a running request from the device; it waits, and resumes by feeding its
  /// tokens again, or with its cells where the engine offloads. False when it is not running.
  bool preempt(RequestId id);
  /// Gives up cached prefixes of both caches.
  void evict_prefixes();

  /// Admits, and drafts for the requests that are to be drafted for, as far as gates and budget go.
  void draft();
  /// Launches one frame: admits, prefills, verifies. False when there was nothing to launch.
  /// Requests with a frame in flight take part only in an asynchronous engine, and at most two
  /// frames are in flight there, one elsewhere; false when they are.
  bool verify();
  /// Commits the oldest frame in flight. False when there is none.
  bool commit();
  /// draft, verify, commit; asynchronous: draft, verify, then the commit of the frame before. False
  /// when it neither launched nor committed a frame, which a right engine does only when idle.
  bool step();

  const HostRequest& request(RequestId id) const;
  bool is_idle() const;  ///< nothing waits, runs or is in flight
  /// Forgets finished requests, whose output has been fetched.
  void forget(RequestId id);

  /// Called at every verification, as soon as it was judged; copies of an engine have none.
  void observe(std::function<void(const VerificationRecord&)> observer) {
    observer_ = std::move(observer);
  }

  /// Everything that may influence a later step, page numbers made canonical.
  std::uint64_t state_hash() const;

 private:
  std::shared_ptr<const EngineConfig> config_;
  std::shared_ptr<const Contract> contract_;
  std::shared_ptr<Verifier> verifier_;
  EngineStepsPtr steps_;
  EngineState state_;
  std::function<void(const VerificationRecord&)> observer_;

  void enter(HostRequest& host, Phase phase);
  void finish(HostRequest& host, FinishReason reason);
  // engine_schedule.cpp
  std::vector<RequestId> running_in_order() const;
  void admit();
  void open_on_device(HostRequest& host);
  bool make_room(RequestId id, int slots);
  std::optional<Entry> entry_of(HostRequest& host, Frame& frame);
  std::optional<Entry> prefill_of(HostRequest& host, Frame& frame);
  std::optional<Entry> decode_of(HostRequest& host, Frame& frame);
  void add(Frame& frame, Entry entry);
  // engine_launch.cpp
  void launch(Frame& frame);
  void feed(Frame& frame, std::size_t entry);
  void adjust(Frame& frame, std::size_t entry);
  void judge(Frame& frame);
  void keep(Frame& frame, std::size_t entry);
  // engine_draft.cpp
  int room_of(const HostRequest& host) const;
  draft::GateReason gate_of(const HostRequest& host) const;
  BudgetUse launch_of(RequestId id, int drafted) const;
  bool draft_for(HostRequest& host, BudgetUse& planned);
  bool feed_backlog(DeviceRequest& device);
  Draft make_draft(const HostRequest& host, DeviceRequest& device, int count);
  // engine_commit.cpp
  void commit_entry(const Frame& frame, std::size_t entry);
};

}  // namespace draftproof::reference::decode
