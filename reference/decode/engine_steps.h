// Engine steps: the hand-overs of an engine, one function each, each right here. An engine is right
// because all of them are; a fault of a real engine is one of them done wrong
// (fixtures/state_faults override one function a fault), and so is named by the hand-over that it
// is in. Faults that are in a cache override a function of kv::PagedCache instead.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "reference/decode/engine_state.h"
#include "reference/history.h"

namespace draftproof::reference::decode {

/// Why a request leaves the device.
enum class Leave : std::uint8_t { kFinished, kPreempted, kCancelled };

/// How much of what an iteration emitted belongs to the request.
struct Cut {
  std::size_t count = 0;
  FinishReason finish = FinishReason::kNone;
  friend bool operator==(const Cut&, const Cut&) = default;
};

class EngineSteps {
 public:
  virtual ~EngineSteps() = default;

  // Rows of ragged batches.
  /// The first row of an entry among the rows of its frame.
  virtual int row_start(const Frame& frame, std::size_t entry) const;
  /// The entry whose sampling, penalties and masks a row is adjusted with.
  virtual std::size_t owner_of_row(const EngineState& state, const Frame& frame, std::size_t entry,
                                   int row) const;
  /// The row of the frame's logits that is judged as its row `row`: itself.
  virtual int gathered_row(const Frame& frame, int row) const;
  /// The adapter that a row is computed with.
  virtual int adapter_of_row(const EngineState& state, const Frame& frame, std::size_t entry,
                             int row) const;
  /// The row of the frame that an emitted token's logprobs are read from.
  virtual int logprob_row(const Frame& frame, std::size_t entry, std::size_t emitted) const;
  /// The raw and the processed logprob of `token` in one row.
  virtual OutputToken logprobs(const Row& raw, const Row& adjusted, Token token,
                               const RequestSpec& spec, const Preset& preset) const;

  /// What is reported of an emitted token: what was read of its row.
  virtual OutputToken reported(const Entry& entry, std::size_t emitted, OutputToken token) const;

  // Feeding the target.
  /// KV length that a launch runs with: the device's own, whatever the host thought.
  virtual int launch_length(const EngineState& state, const Entry& entry) const;
  /// How many of `length` committed cells the fed tokens attend to: all.
  virtual int seen_length(const Entry& entry, int length) const;
  /// What a fed token is told: the length and its depth, 0 for the first.
  virtual int position(const Entry& entry, int length, std::size_t fed) const;
  /// The fed tokens that one of them attends to, itself last: its ancestors.
  virtual std::vector<int> visible(const Entry& entry, std::size_t fed) const;
  /// The slot that a fed token's cell is written to, behind the committed ones.
  virtual int slot_of(const Entry& entry, std::size_t fed) const;
  /// Rows that only fill a graph: nothing may be written for them.
  virtual void write_padding(EngineState& state, const Frame& frame, int count) const;
  /// The chunk of a prompt's tokens, from `begin` on, with `room` tokens at most.
  virtual std::vector<Token> chunk(const DeviceRequest& device, int begin, int room) const;

  // Judging.
  /// What the rule is handed: the draft as it was made.
  virtual Proposal proposal(const EngineState& state, const Entry& entry) const;
  /// The history that a row is adjusted with; node -1: the first row.
  virtual History history(const DeviceRequest& device, const Entry& entry, int node) const;
  /// The mask of a row; none where no grammar is in force.
  virtual std::optional<std::vector<bool>> mask(const HostRequest& host,
                                                const DeviceRequest& device, const Entry& entry,
                                                int node) const;
  /// What the coins of a request's verification are keyed by.
  virtual std::uint32_t coin_position(const DeviceRequest& device) const;
  virtual std::uint64_t seed(const HostRequest& host, const EngineConfig& config) const;

  // Keeping what was accepted.
  /// Offsets of temporary slots of the target's cache to keep: the pending token's and those of
  /// accepted nodes.
  virtual std::vector<int> kept(const Entry& entry) const;
  virtual void commit_target(EngineState& state, const Entry& entry) const;
  virtual void commit_recurrent(EngineState& state, const Entry& entry) const;
  /// Keeps the cells of accepted tokens in the draft's cache.
  virtual void commit_draft(EngineState& state, const Entry& entry) const;
  /// The tokens that the draft's cache has to be fed before it drafts.
  virtual std::vector<Token> backlog(const EngineState& state, const DeviceRequest& device) const;
  /// What the cell of a backlog token, the draft's cache being `length` long, is told.
  virtual int draft_position(const DeviceRequest& device, int length) const;
  /// How many cells of the draft's cache a draft attends to: all committed ones.
  virtual int draft_launch_length(const EngineState& state, RequestId id) const;
  /// Emitted tokens enter the request: tokens, processor, grammar.
  virtual void take_emitted(const HostRequest& host, DeviceRequest& device, const Entry& entry,
                            std::span<const Token> emitted) const;
  /// Called for drafts too, by engines that record what they should not: right engines do nothing.
  virtual void observe_draft(DeviceRequest& device, const Draft& draft) const;
  /// What waits for a verification when nothing was drafted: nothing.
  virtual Draft without_draft(const EngineState& state, const DeviceRequest& device) const;
  /// What the first verification behind a prefill judges besides its last row: nothing.
  virtual Draft first_draft(const EngineState& state, const DeviceRequest& device) const;

  // Prefixes.
  /// The committed tokens whose pages may be found again: those with cells, never a draft.
  virtual std::vector<Token> published(const EngineState& state, const DeviceRequest& device,
                                       const Entry& entry) const;
  /// Finds the prefix of a request's tokens in both caches.
  virtual void attach(EngineState& state, DeviceRequest& device) const;

  // The host's side.
  /// The request that an entry's results belong to; none: it ended or was preempted, and they are
  /// dropped.
  virtual HostRequest* resolve(EngineState& state, const Frame& frame, std::size_t entry) const;
  /// The host's KV length behind a commit.
  virtual int length_behind_commit(const HostRequest& host, const Entry& entry) const;
  /// What a request owes to frames in flight behind a commit.
  virtual int placeholders_behind_commit(const HostRequest& host, const Entry& entry) const;
  virtual Cut cut(const HostRequest& host, const Entry& entry) const;
  virtual void count(Metrics& metrics, const Entry& entry, const Cut& cut) const;
  /// What a draft of `count` tokens costs until it is verified.
  virtual BudgetUse draft_cost(const EngineState& state, const DeviceRequest& device,
                               int count) const;
  /// What the launch of an entry costs, in tokens fed, rows kept, pages and cells.
  virtual BudgetUse launch_cost(const EngineState& state, const Entry& entry, int vocab_size) const;
  /// A draft that was made for other tokens than the request has now.
  virtual bool is_stale(const DeviceRequest& device, const Draft& draft) const;
  /// How many tokens may be drafted for a request that may still emit `room` ones.
  virtual int draft_room(const HostRequest& host, const EngineConfig& config, int room) const;
  /// A draft that will not be verified: its pages go back.
  virtual void drop_draft(EngineState& state, RequestId id) const;
  /// Moves a request's cells to host memory; brings them back, false when pages do not suffice.
  virtual void park(EngineState& state, RequestId id) const;
  virtual bool unpark(EngineState& state, RequestId id) const;
  /// Gives back everything that a request holds, on the device or offloaded.
  virtual void leave(EngineState& state, RequestId id, Leave why) const;
};
using EngineStepsPtr = std::shared_ptr<const EngineSteps>;

/// Every step right.
EngineStepsPtr right_steps();

}  // namespace draftproof::reference::decode
