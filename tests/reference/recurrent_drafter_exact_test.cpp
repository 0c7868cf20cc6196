// Recurrent targets: slots, replay and recomputation are one law, and one state.
#include "reference/draft/recurrent.h"
#include "tests/reference/method_truths.h"

namespace draftproof::reference::draft {
namespace {

TEST(RecurrentTarget, HasOneLawWhateverItKeeps) {
  const model::Toy& toy = model::toy("recurrent");
  law::Decoding decoding = method("recurrent-recompute").make(toy);
  const law::HistoryLaw recomputed = law::history_law(decoding, 2);
  decoding.scorer = function_scorer(slot_scorer(toy, TargetLayers::kRecurrent));
  EXPECT_EQ(law::history_law(decoding, 2), recomputed);
  decoding.scorer = function_scorer(replay_scorer(toy, TargetLayers::kRecurrent));
  EXPECT_EQ(law::history_law(decoding, 2), recomputed);
}

TEST(RecurrentTarget, KeepsTheStateOfATwinThatNeverDrafted) {
  const model::Toy& toy = model::toy("recurrent");
  law::DraftTree tree;
  append(tree, 1, {});
  append(tree, 2, {});
  const Context before = {0, 2};
  const ScorerFunctions slots = slot_scorer(toy, TargetLayers::kMixed);
  for (const law::Decision& decision :
       {law::Decision{{}, 0}, law::Decision{{0}, 0}, law::Decision{{0, 1}, 0}}) {
    Context after = before;
    for (const Token token : law::emission_of(tree, decision).tokens) after.push_back(token);
    const law::StepEnd end{before, tree, decision, after, 0};
    EXPECT_EQ(slots.commit(end, slots.initial(before)), slots.initial(after));
  }
}

TEST(RecurrentTarget, FeedsStateWindowAndCells) {
  // s = 0; token 2: 3; token 1: 3 * 3 + 1 + 1 = 11 = 1; token 0: 3 + 0 + 1 = 4.
  const TargetState state = fed_state({}, {2, 1, 0});
  EXPECT_EQ(state, (TargetState{4, {1, 0}, {2, 1, 0}}));
  EXPECT_EQ(state_in(memory_of(state)), state);
  EXPECT_EQ(state_key(4), (Context{1, 0, 0}));
}

TEST(RecurrentTarget, HasASlotBehindEveryNodeOfATree) {
  law::DraftTree tree;
  add_child(tree, -1, 1, {});
  add_child(tree, -1, 2, {});
  add_child(tree, 0, 0, {});
  const auto slots = state_slots({}, 0, tree);
  ASSERT_EQ(slots.size(), 4u);
  EXPECT_EQ(slots[3], fed_state({}, {0, 1, 0}));
  EXPECT_EQ(slots[2], fed_state({}, {0, 2}));
}

}  // namespace
}  // namespace draftproof::reference::draft
