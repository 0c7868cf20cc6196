// Engine state: everything that an engine remembers between two calls, as plain values, so that a
// copy is a second engine and an explorer can hash it. The host knows what it was told; the device
// holds caches and what a launch needs. Between a launch and its commit they differ, and most
// faults live there.
//
// Boundaries. The last emitted token is pending: emitted, not yet fed. Behind every verification
//   tokens == target KV length + 1            (prompt and emitted ones; the 1 is the pending token)
//   tokens == draft KV length + draft backlog
// before the first verification nothing is pending and tokens - KV length is what is left of the
// prompt. "KV length == tokens" would flag every correct engine.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "reference/decode/draft_source.h"
#include "reference/decode/engine_config.h"
#include "reference/decode/request.h"
#include "reference/draft/length/gates.h"
#include "reference/kv/paged_cache.h"
#include "reference/kv/recurrent_slots.h"
#include "reference/outcome.h"

namespace draftproof::reference::decode {

enum class Phase : std::uint8_t {
  kWaiting,      ///< not admitted yet, or preempted
  kPrefilling,   ///< its prompt is being fed; when it resumes, all tokens but the pending one
  kDrafting,     ///< to be drafted for
  kVerifying,    ///< holds a draft that waits for its verification
  kFallingBack,  ///< will be verified without a draft; `gate` says why
  kFinished,
};
std::string_view to_string(Phase phase);

/// What the host knows of a request.
struct HostRequest {
  RequestId id = 0;
  RequestSpec spec;
  Phase phase = Phase::kWaiting;
  FinishReason finish = FinishReason::kNone;
  std::vector<OutputToken> output;
  int emitted_max = 0;  ///< what max_tokens and the context leave
  FinishReason at_emitted_max = FinishReason::kLength;
  std::int64_t admission = 0;  ///< earlier ones go first, later ones are preempted first
  /// The target's KV length as if every draft in flight were accepted: a launch adds what it feeds,
  /// its commit takes off what was rejected. Nothing in flight: the KV length.
  int computed = 0;
  /// Verifications before the last preemption, but those it threw away: where counting goes on.
  std::uint32_t iterations = 0;
  int epoch = 0;         ///< preemptions so far; a frame launched in another one is stale
  int in_flight = 0;     ///< frames launched and not committed
  int placeholders = 0;  ///< tokens that frames in flight may still emit, at most
  int draft_count = 0;   ///< of the draft that waits
  draft::GateReason gate = draft::GateReason::kNone;
  std::vector<draft::GateSwitch> switches;  ///< when the gate changed its mind, and why
  std::vector<int> accepted_counts;         ///< of verifications with a draft, newest last
  std::map<std::pair<Phase, Phase>, std::int64_t> transitions;
  Metrics metrics;

  bool is_running() const { return phase != Phase::kWaiting && phase != Phase::kFinished; }
  std::vector<Token> output_tokens() const;
  int token_count() const { return static_cast<int>(spec.prompt.size() + output.size()); }
};

inline constexpr kv::SequenceId kNoSequence = -1;

/// What the device holds for a running request.
struct DeviceRequest {
  kv::SequenceId target = kNoSequence;
  kv::SequenceId draft = kNoSequence;
  std::vector<Token> tokens;  ///< prompt and emitted ones, the pending one last
  int prompt_count = 0;
  std::vector<Token> processor;  ///< emitted tokens that penalties and bad words have counted
  bool is_grammar_on = false;
  model::Grammar::State grammar_state = 0;
  std::uint32_t iteration = 0;         ///< verifications so far
  Draft waiting;                       ///< empty when there is none
  int waiting_pages = 0;               ///< of the draft's cache, that only it needs
  law::Memory memory;                  ///< of the draft source
  Phase parked_in = Phase::kDrafting;  ///< where an offloaded request goes on
  bool is_stopped = false;  ///< a row could not be judged: nothing is launched for it any more
};

/// One request's part of a frame.
struct Entry {
  RequestId id = 0;
  int epoch = 0;
  bool is_prefill = false;
  bool is_judged = true;      ///< false: a chunk of a prompt that is not its last
  std::vector<Token> tokens;  ///< fed to the target: a chunk, or the pending token and the draft
  std::vector<int> parents;   ///< of them: -1 behind the committed cells
  int length = 0;             ///< KV length as the host has it: with drafts in flight, too long
  int row_count = 0;          ///< judged rows: nodes + 1, or 0
  Draft draft;
  RequestOutcome outcome = {};            ///< filled by the launch
  std::vector<OutputToken> emitted = {};  ///< of the outcome, with logprobs
};

/// What is launched together. Rows lie one behind the other in the order of the entries.
struct Frame {
  std::int64_t number = 0;
  std::vector<Entry> entries;
  std::vector<Row> rows;      ///< the model's, judged ones only
  std::vector<Row> adjusted;  ///< the same behind penalties, bias, masks
  int padded_row_count = 0;   ///< rows of the graph that ran
  BudgetUse use;
};

/// Of everything in a request that may influence a step.
std::uint64_t hash_of(const RequestSpec& spec);

struct EngineState {
  EngineState() = default;
  EngineState(const EngineState& other) { *this = other; }
  EngineState& operator=(const EngineState& other);

  std::unique_ptr<kv::PagedCache> target_cache;
  std::unique_ptr<kv::PagedCache> draft_cache;  ///< none without a draft model
  kv::RecurrentSlots recurrent;
  std::map<RequestId, HostRequest> host;
  std::map<RequestId, DeviceRequest> device;  ///< running requests only
  std::map<RequestId, DeviceRequest> parked;  ///< preempted ones whose cells are offloaded
  std::vector<RequestId> waiting;             ///< in the order of arrival, preempted ones first
  std::vector<Frame> in_flight;               ///< oldest first
  law::Memory shared_memory;                  ///< of the draft source, for all requests
  RequestId next_request = 1;
  std::int64_t frame_count = 0;
  std::int64_t admission_count = 0;
  int steps = 0;      ///< frames launched, for drafters that take time to load
  BudgetUse use;      ///< of the step so far
  BudgetUse use_max;  ///< of all steps, each cost on its own
};

}  // namespace draftproof::reference::decode
