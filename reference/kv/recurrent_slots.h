// Recurrent slots: the state of layers that keep one tensor a sequence instead of a cell a token
// (Mamba, gated delta nets). Nothing of it can be cut off, so a verification of D drafted tokens
// keeps D + 1 candidate states and selects the one behind the last accepted token, or goes back to
// a checkpoint and replays; the two must agree.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "reference/token.h"

namespace draftproof::reference::kv {

/// A state as it is hashed here: a function of every token fed, in order.
using RecurrentState = std::uint64_t;
inline constexpr RecurrentState kEmptyState = 0x13198a2e03707344;  // digits of pi
RecurrentState state_behind(RecurrentState state, Token token);
RecurrentState state_of(std::span<const Token> tokens);

enum class RecurrentRollback : std::uint8_t {
  kSelect,          ///< D + 1 states, the accepted one is selected (vLLM's Mamba and GDN kernels)
  kReplayAccepted,  ///< a checkpoint before the step, and the accepted tokens fed again
};

/// All sequences' states. Throws BrokenInvariant where a precondition does not hold (a sequence
/// that is open, or not, as the operation needs it); nothing has changed then.
class RecurrentSlots {
 public:
  explicit RecurrentSlots(RecurrentRollback rollback = RecurrentRollback::kSelect)
      : rollback_(rollback) {}

  void open(std::int32_t sequence);
  void release(std::int32_t sequence);
  RecurrentState committed(std::int32_t sequence) const;
  /// Sets the committed state: for a prefix that was found with its state, or a restored one.
  /// Precondition: no step is under way.
  void assign(std::int32_t sequence, RecurrentState state);

  /// Starts a step of rows whose parents are `parents` (-1: behind the committed state) and whose
  /// tokens are `tokens`; answers the state behind each. Preconditions: no step is under way, and
  /// parents come before their children.
  std::vector<RecurrentState> feed(std::int32_t sequence, std::span<const Token> tokens,
                                   std::span<const int> parents);
  /// Ends the step with the path `rows` from the first fed row to the last kept one; empty: nothing
  /// is kept and the state is what it was. Precondition: a path of the tree that was fed.
  /// A sequence may be released in the middle of a step.
  void keep(std::int32_t sequence, std::span<const int> rows);
  /// Temporary states at this moment, what speculation costs in memory: one a fed row where the
  /// accepted one is selected, one checkpoint a sequence where it is replayed.
  std::int64_t temporary_count() const;

  friend bool operator==(const RecurrentSlots&, const RecurrentSlots&) = default;

 private:
  struct Slot {
    RecurrentState committed = kEmptyState;
    bool is_in_step = false;
    std::vector<RecurrentState> candidates;  ///< kSelect only
    std::vector<Token> tokens;               ///< kReplayAccepted only
    std::vector<int> parents;
    friend bool operator==(const Slot&, const Slot&) = default;
  };
  const Slot& find(std::int32_t sequence) const;
  Slot& find(std::int32_t sequence, bool in_step);

  RecurrentRollback rollback_;
  std::map<std::int32_t, Slot> slots_;
};

}  // namespace draftproof::reference::kv
