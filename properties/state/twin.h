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
#include <string>
#include <vector>

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
  explicit Twin(std::shared_ptr<const reference::decode::EngineConfig> config);

  /// To be called by the observer of the engine.
  void verified(const reference::decode::VerificationRecord& record);
  /// The first thing that differs, checks in the order above; what verified() found comes first.
  std::optional<Divergence> check(const reference::decode::Engine& engine, Boundary boundary);

 private:
  std::shared_ptr<const reference::decode::EngineConfig> config_;
  std::optional<Divergence> found_;
};

}  // namespace draftproof::properties::state
