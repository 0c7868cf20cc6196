// Recurrent slots (recurrent_slots.h): a step's candidate states, and the way back to one of them.
#include "reference/kv/recurrent_slots.h"

#include "reference/error.h"
#include "reference/kv/cell.h"

namespace draftproof::reference::kv {

RecurrentState state_behind(RecurrentState state, Token token) {
  // The finaliser of histories, told apart from them by a position that no cell has.
  return history_behind(state, token, -1);
}

RecurrentState state_of(std::span<const Token> tokens) {
  RecurrentState state = kEmptyState;
  for (const Token token : tokens) state = state_behind(state, token);
  return state;
}

const RecurrentSlots::Slot& RecurrentSlots::find(std::int32_t sequence) const {
  const auto found = slots_.find(sequence);
  DRAFTPROOF_CHECK(found != slots_.end(), "sequence " + std::to_string(sequence));
  return found->second;
}

RecurrentSlots::Slot& RecurrentSlots::find(std::int32_t sequence, bool in_step) {
  const auto found = slots_.find(sequence);
  DRAFTPROOF_CHECK(found != slots_.end(), "sequence " + std::to_string(sequence));
  DRAFTPROOF_CHECK(found->second.is_in_step == in_step, "sequence " + std::to_string(sequence));
  return found->second;
}

void RecurrentSlots::open(std::int32_t sequence) {
  DRAFTPROOF_CHECK(slots_.try_emplace(sequence).second, "sequence " + std::to_string(sequence));
}

void RecurrentSlots::release(std::int32_t sequence) {
  DRAFTPROOF_CHECK(slots_.erase(sequence) == 1, "sequence " + std::to_string(sequence));
}

RecurrentState RecurrentSlots::committed(std::int32_t sequence) const {
  return find(sequence).committed;
}

void RecurrentSlots::assign(std::int32_t sequence, RecurrentState state) {
  find(sequence, false).committed = state;
}

std::vector<RecurrentState> RecurrentSlots::feed(std::int32_t sequence,
                                                 std::span<const Token> tokens,
                                                 std::span<const int> parents) {
  Slot& slot = find(sequence, false);
  DRAFTPROOF_CHECK(
      tokens.size() == parents.size(),
      std::to_string(tokens.size()) + " tokens, " + std::to_string(parents.size()) + " parents");
  std::vector<RecurrentState> states;
  states.reserve(tokens.size());
  for (std::size_t row = 0; row < tokens.size(); ++row) {
    const int parent = parents[row];
    DRAFTPROOF_CHECK(parent >= -1 && parent < static_cast<int>(row),
                     "row " + std::to_string(row) + " has parent " + std::to_string(parent));
    const RecurrentState before =
        parent == -1 ? slot.committed : states[static_cast<std::size_t>(parent)];
    states.push_back(state_behind(before, tokens[row]));
  }
  slot.is_in_step = true;
  slot.parents.assign(parents.begin(), parents.end());
  if (rollback_ == RecurrentRollback::kSelect)
    slot.candidates = states;
  else
    slot.tokens.assign(tokens.begin(), tokens.end());
  return states;
}

void RecurrentSlots::keep(std::int32_t sequence, std::span<const int> rows) {
  Slot& slot = find(sequence, true);
  int behind = -1;
  for (const int row : rows) {
    DRAFTPROOF_CHECK(row >= 0 && row < static_cast<int>(slot.parents.size()) &&
                         slot.parents[static_cast<std::size_t>(row)] == behind,
                     "row " + std::to_string(row) + " behind row " + std::to_string(behind));
    behind = row;
  }
  RecurrentState state = slot.committed;
  if (rollback_ == RecurrentRollback::kReplayAccepted) {
    for (const int row : rows)
      state = state_behind(state, slot.tokens[static_cast<std::size_t>(row)]);
  } else if (behind != -1) {
    state = slot.candidates[static_cast<std::size_t>(behind)];
  }
  slot = Slot{};
  slot.committed = state;
}

std::int64_t RecurrentSlots::temporary_count() const {
  std::int64_t count = 0;
  for (const auto& [sequence, slot] : slots_) {
    if (slot.is_in_step)
      count += rollback_ == RecurrentRollback::kSelect
                   ? static_cast<std::int64_t>(slot.candidates.size())
                   : 1;
  }
  return count;
}

}  // namespace draftproof::reference::kv
