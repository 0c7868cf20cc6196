// Targets with recurrent state.
#include "reference/draft/recurrent.h"

#include "reference/error.h"

namespace draftproof::reference::draft {
namespace {

constexpr std::size_t kWindow = 2;

std::vector<LawRow> rows_of(const model::Toy& toy, TargetLayers layers,
                            const std::vector<TargetState>& slots) {
  std::vector<LawRow> rows;
  for (const TargetState& slot : slots) rows.push_back(row_of(toy, layers, slot));
  return rows;
}

/// Of a replaying scorer: how many tokens are to be fed again, those tokens, the checkpoint.
struct Checkpoint {
  TargetState state;
  std::vector<Token> again;
};

law::Memory memory_of_checkpoint(const Checkpoint& checkpoint) {
  law::Memory memory = {static_cast<std::int64_t>(checkpoint.again.size())};
  memory.insert(memory.end(), checkpoint.again.begin(), checkpoint.again.end());
  const law::Memory state = memory_of(checkpoint.state);
  memory.insert(memory.end(), state.begin(), state.end());
  return memory;
}

Checkpoint checkpoint_in(const law::Memory& memory) {
  const auto begin = memory.begin() + 1;
  const auto end = begin + memory.at(0);
  return {state_in({end, memory.end()}), {begin, end}};
}

}  // namespace

TargetState fed_state(TargetState state, const std::vector<Token>& tokens) {
  for (const Token token : tokens) {
    state.recurrent = model::recurrent_state(state.recurrent, token);
    state.window = last_tokens(joined(state.window, {token}), kWindow);
    state.cells.push_back(token);
  }
  return state;
}

Context state_key(int state) { return {state / 4 % 2, state / 2 % 2, state % 2}; }

LawRow row_of(const model::Toy& toy, TargetLayers layers, const TargetState& state) {
  Context key;
  if (layers == TargetLayers::kConvolution) key = state.window;
  if (layers == TargetLayers::kMixed) key = state.cells;
  return toy.target->row(joined(key, state_key(state.recurrent)));
}

model::ToyModelPtr recurrent_target(const model::Toy& toy, TargetLayers layers) {
  return model::function_model(toy.target->vocab_size(), [toy, layers](const Context& context) {
    return row_of(toy, layers, fed_state({}, context));
  });
}

std::vector<TargetState> state_slots(const TargetState& before, Token pending,
                                     const law::DraftTree& draft) {
  std::vector<TargetState> slots = {fed_state(before, {pending})};
  for (const law::DraftNode& node : draft.nodes)
    slots.push_back(fed_state(slots[static_cast<std::size_t>(node.parent + 1)], {node.token}));
  return slots;
}

TargetState accepted_slot(const law::StepEnd& end, const std::vector<TargetState>& slots,
                          const TargetState&) {
  return slots[static_cast<std::size_t>(end.decision.node() + 1)];
}

ScorerFunctions slot_scorer(const model::Toy& toy, TargetLayers layers, StateKept kept) {
  ScorerFunctions scorer;
  scorer.initial = [](const Context& prompt) { return memory_of(fed_state({}, fed(prompt))); };
  scorer.rows = [=](const Context& context, const law::DraftTree& draft,
                    const law::Memory& memory) {
    return rows_of(toy, layers, state_slots(state_in(memory), context.back(), draft));
  };
  scorer.commit = [kept = std::move(kept)](const law::StepEnd& end, const law::Memory& memory) {
    const TargetState before = state_in(memory);
    return memory_of(kept(end, state_slots(before, end.before.back(), end.draft), before));
  };
  return scorer;
}

std::vector<Token> accepted_again(const law::StepEnd& end) {
  return joined({end.before.back()}, end.draft.tokens_to(end.decision.node()));
}

ScorerFunctions replay_scorer(const model::Toy& toy, TargetLayers layers, Replayed replayed) {
  ScorerFunctions scorer;
  scorer.initial = [](const Context& prompt) {
    return memory_of_checkpoint({fed_state({}, fed(prompt)), {}});
  };
  scorer.rows = [=](const Context& context, const law::DraftTree& draft,
                    const law::Memory& memory) {
    const Checkpoint checkpoint = checkpoint_in(memory);
    const TargetState before = fed_state(checkpoint.state, checkpoint.again);
    return rows_of(toy, layers, state_slots(before, context.back(), draft));
  };
  scorer.commit = [replayed = std::move(replayed)](const law::StepEnd& end,
                                                   const law::Memory& memory) {
    const Checkpoint checkpoint = checkpoint_in(memory);
    return memory_of_checkpoint({fed_state(checkpoint.state, checkpoint.again), replayed(end)});
  };
  return scorer;
}

law::Memory memory_of(const TargetState& state) {
  law::Memory memory = {state.recurrent, static_cast<std::int64_t>(state.window.size())};
  memory.insert(memory.end(), state.window.begin(), state.window.end());
  memory.insert(memory.end(), state.cells.begin(), state.cells.end());
  return memory;
}

TargetState state_in(const law::Memory& memory) {
  DRAFTPROOF_CHECK(memory.size() >= 2, "no state");
  const auto window = memory.begin() + 2;
  const auto cells = window + memory[1];
  return {static_cast<int>(memory[0]), {window, cells}, {cells, memory.end()}};
}

}  // namespace draftproof::reference::draft
