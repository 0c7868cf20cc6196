// The twin: a request that never drafted. After any history every piece of an engine's state must
// equal that of a decoder that was given the same tokens one by one, and that decoder is so plain
// that it needs no machine: everything it would hold is a function of the request and the tokens
// emitted so far, written down here once more and apart from the engine.
//
// Two boundaries. After an emission the last token is pending: emitted, not yet fed; so
//   tokens == target KV length + 1,  tokens == draft KV length + backlog.
// After a feed (a draft was made, or a prompt's chunk was computed) the draft's backlog is empty.
// Which one a check looks at is part of every divergence. "KV length == tokens" holds at neither.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_set>
#include <utility>
#include <vector>

#include "properties/state/serial_decoder.h"
#include "properties/state/track.h"
#include "reference/decode/engine.h"
#include "reference/decode/ledger.h"
#include "reference/verifier.h"

namespace draftproof::properties::state {

/// What a divergence is about; each is one check, and faults name the one that finds them.
enum class StateCheck : std::uint8_t {
  kPages,        ///< free + live + cached == total, holders, poison, index (first_fault of a cache)
  kLeak,         ///< an engine without running requests holds live pages, slots or drafts
  kTargetCells,  ///< length and contents of the target's cells
  kDraftCells,   ///< the same of the draft's, and the backlog
  kRecurrent,    ///< recurrent state
  kPrefix,       ///< what can be found again by its contents is what was committed
  kRows,         ///< rows that a verification was handed: the model's, adjusted and owned rightly
  kProposal,     ///< the draft that was verified is the draft that was made, of this context, and
                 ///< drawn from the rows it reports
  kDecision,     ///< what the rule decides on the twin's rows with the twin's coins
  kCoins,        ///< the ledger: no address decides twice
  kOutput,       ///< tokens emitted, and where the request ended
  kFinish,       ///< the reason
  kProcessor,    ///< penalties' history
  kGrammar,      ///< grammar state, and that the output obeys the grammar
  kLogprobs,     ///< raw and processed
  kMetrics,      ///< counters and their identities
  kLengths,      ///< the host's mirrors, placeholders, counters >= 0
  kBudget,       ///< what a step cost by the engine's count, recounted, and against the limits
  kPhases,       ///< phases, queues and transitions fit together
};
inline constexpr std::size_t kStateCheckCount = 19;
/// "pages", "leak", "target cells", ...
std::string_view to_string(StateCheck check);

enum class Boundary : std::uint8_t { kAfterEmit, kAfterFeed };

struct Divergence {
  StateCheck check = StateCheck::kPages;
  Boundary boundary = Boundary::kAfterEmit;
  reference::decode::RequestId request = 0;  ///< 0: of no request
  std::string expected, observed;            ///< with numbers

  friend bool operator==(const Divergence&, const Divergence&) = default;
};
/// "target cells of request 1 after emit: expected ..., observed ..."
std::string to_string(const Divergence& divergence);

/// The twins of all requests of one engine. Hand it every verification (Engine::observe) and ask
/// it behind every call of the engine. Copies are twins of a copied engine.
class Twin {
 public:
  /// Of every `sample_period`-th request every verification is replayed, of the others only what
  /// was emitted is followed. Above 1 nothing is said of prefixes, and memory does not grow with
  /// the tokens of requests that were forgotten.
  explicit Twin(std::shared_ptr<const reference::decode::EngineConfig> config,
                int sample_period = 1);

  /// To be called by the observer of the engine.
  void verified(const reference::decode::VerificationRecord& record);
  /// The first thing that differs, checks in the order above; what verified() found comes first.
  /// What was found once is answered for ever.
  std::optional<Divergence> check(const reference::decode::Engine& engine, Boundary boundary);
  /// The same for long runs: pages by their counts, leaks, lengths, outputs, logprobs, metrics,
  /// budgets and phases; no cells, no prefixes, no state of the device, no cost of waiting drafts,
  /// and no second look at output that a light check has compared before.
  std::optional<Divergence> check_light(const reference::decode::Engine& engine,
                                        Boundary boundary = Boundary::kAfterEmit);

  /// Verifications that were replayed so far.
  std::int64_t replayed_count() const { return replayed_count_; }

 protected:
  using EngineState = reference::decode::EngineState;
  using HostRequest = reference::decode::HostRequest;
  using DeviceRequest = reference::decode::DeviceRequest;
  using RequestId = reference::decode::RequestId;
  using Finding = std::optional<Divergence>;

  /// How long the target's cells are that `track` is due.
  virtual int target_length_due(const Track& track) const;

 private:
  struct Handed {
    reference::decode::VerificationRecord record;
    bool is_whole = true;  ///< with its rows: it is replayed
  };

  // twin.cpp
  Finding first_of(const EngineState& state, bool is_light);
  void follow(const EngineState& state);
  void adopt(const EngineState& state);
  void settle_commits(const EngineState& state);
  void remember(const EngineState& state);
  void begin_epoch(Track& track, int epoch);
  void take(Track& track, const std::vector<reference::decode::OutputToken>& emitted);
  void commit(RequestId id, Track& track, const Judged& judged);
  Divergence differs(StateCheck check, RequestId request, std::string expected,
                     std::string observed) const;

  // twin_verification.cpp
  void judge(const Handed& handed);
  Finding replay(const reference::decode::VerificationRecord& record, Track& track, Judged& judged);
  Finding context_of(const reference::decode::VerificationRecord& record, const Track& track) const;
  Finding rows_of(const reference::decode::VerificationRecord& record, const Track& track,
                  std::vector<reference::Row>& raw, std::vector<reference::Row>& adjusted) const;
  Finding proposal_of(const reference::decode::VerificationRecord& record,
                      const Track& track) const;
  Finding draws_of(const reference::decode::VerificationRecord& record, const Track& track,
                   const reference::Coins& coins) const;
  Finding addresses_of(const reference::decode::VerificationRecord& record, Track& track) const;
  Finding ledger_of(const reference::decode::VerificationRecord& record,
                    const std::vector<reference::CoinAddress>& reads);

  // twin_cells.cpp
  Finding pages(const EngineState& state, bool is_light) const;
  Finding leaks(const EngineState& state) const;
  Finding target_cells(const EngineState& state) const;
  Finding draft_cells(const EngineState& state) const;
  Finding draft_length(RequestId id, const Track& track, const DeviceRequest& device,
                       int length) const;
  Finding waiting_cells(RequestId id, const Track& track, const DeviceRequest& device,
                        const reference::kv::PagedCache& cache) const;
  Finding cells_of(StateCheck check, RequestId id, const reference::kv::PagedCache& cache,
                   reference::kv::SequenceId sequence,
                   std::span<const reference::Token> tokens) const;
  Finding recurrent(const EngineState& state) const;
  Finding prefixes(const EngineState& state) const;
  Finding prefix_in(const reference::kv::PagedCache& cache, const std::string& name,
                    RequestId request, std::vector<reference::Token> tokens) const;

  // twin_output.cpp
  Finding proposals(const EngineState& state) const;
  Finding outputs(const EngineState& state) const;
  Finding finishes(const EngineState& state) const;
  Finding processors(const EngineState& state) const;
  Finding grammars(const EngineState& state) const;
  Finding logprobs(const EngineState& state) const;

  // twin_accounting.cpp
  Finding metrics(const EngineState& state) const;
  Finding lengths(const EngineState& state) const;
  Finding budgets(const EngineState& state) const;
  Finding phases(const EngineState& state) const;
  Finding phase_of(RequestId id, const HostRequest& host, const EngineState& state) const;
  void recount(const reference::decode::VerificationRecord& record, const Track& track);

  const Track& track_of(RequestId id) const { return tracks_.at(id); }
  /// What requests hold, on the device or, with their cells offloaded, beside it.
  static std::vector<std::pair<RequestId, const DeviceRequest*>> held_by(const EngineState& state);
  static const DeviceRequest* held_by(const EngineState& state, RequestId id);

  SerialDecoder serial_;
  std::shared_ptr<reference::Verifier> verifier_;
  int sample_period_ = 1;
  Boundary boundary_ = Boundary::kAfterEmit;
  std::int64_t replayed_count_ = 0;
  std::vector<Handed> handed_;
  std::map<RequestId, Track> tracks_;
  reference::decode::Ledger ledger_;
  /// Hashes of all prefixes that some request has committed; rejected continuations, the last few.
  std::unordered_set<std::uint64_t> committed_;
  std::vector<std::pair<RequestId, std::vector<reference::Token>>> probes_;
  /// What the frame of the last record cost at least, and the largest of each so far.
  reference::decode::BudgetUse cost_, cost_max_;
  std::int64_t cost_frame_ = -1;
  Finding found_;
};

/// The checker that everybody writes first: "KV length == tokens". It must report a right engine.
class NaiveTwin final : public Twin {
 public:
  using Twin::Twin;

 protected:
  int target_length_due(const Track& track) const override;
};

}  // namespace draftproof::properties::state
