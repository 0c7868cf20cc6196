// Targets with recurrent state (T6): Mamba, gated delta nets, linear attention. The state behind t
// tokens is one tensor, so a rejected token cannot be masked away as in attention: verification of
// D drafts passes through D + 1 candidate states, and the one behind the last accepted token has to
// be found again. Engines keep a slot per position and select slot num_accepted (vLLM GDN and Mamba
// kernels, 2026-08), or a checkpoint and replay, or compute again; convolutions keep their last
// inputs and roll back alike, and in mixed models attention cells and state have to agree. The
// first iteration is right whatever is kept, so these faults show from the second on.
#pragma once

#include "reference/draft/hidden_toy.h"

namespace draftproof::reference::draft {

/// What a target keeps of the tokens that it was fed.
struct TargetState {
  int recurrent = 0;  ///< model::recurrent_state()
  Context window;     ///< inputs of a convolution: the last two
  Context cells;      ///< attention cells: all of them

  friend bool operator==(const TargetState&, const TargetState&) = default;
};
TargetState fed_state(TargetState state, const std::vector<Token>& tokens);

/// Which parts of the state the rows depend on.
enum class TargetLayers : std::uint8_t {
  kRecurrent,    ///< the state alone: T6
  kConvolution,  ///< state and window
  kMixed,        ///< state and attention cells
};

/// A state as a context of three tokens: its bits.
Context state_key(int state);
/// The toy target's row behind the parts that `layers` names.
LawRow row_of(const model::Toy& toy, TargetLayers layers, const TargetState& state);
/// The target that is fed from the first token on: the truth.
model::ToyModelPtr recurrent_target(const model::Toy& toy, TargetLayers layers);

/// The states behind the pending token and behind each node of the draft.
std::vector<TargetState> state_slots(const TargetState& before, Token pending,
                                     const law::DraftTree& draft);
/// Which state is kept behind an iteration.
using StateKept = std::function<TargetState(
    const law::StepEnd&, const std::vector<TargetState>& slots, const TargetState& before)>;
/// Slot num_accepted.
TargetState accepted_slot(const law::StepEnd& end, const std::vector<TargetState>& slots,
                          const TargetState& before);

/// Per-position slots: keeps the state behind what was fed.
ScorerFunctions slot_scorer(const model::Toy& toy, TargetLayers layers,
                            StateKept kept = accepted_slot);
/// Checkpoint and replay: keeps the state before the iteration, and what to feed it again.
using Replayed = std::function<std::vector<Token>(const law::StepEnd&)>;
/// The pending token and what was accepted.
std::vector<Token> accepted_again(const law::StepEnd& end);
ScorerFunctions replay_scorer(const model::Toy& toy, TargetLayers layers,
                              Replayed replayed = accepted_again);

/// A state as memory, and back.
law::Memory memory_of(const TargetState& state);
TargetState state_in(const law::Memory& memory);

}  // namespace draftproof::reference::draft
