// Recurrent slots: selecting a state and replaying the accepted tokens agree on every draft tree of
// up to four rows and every path that may be kept, and no other row's state is the right one.
#include "reference/kv/recurrent_slots.h"

#include <gtest/gtest.h>

#include <functional>

#include "reference/error.h"

namespace draftproof::reference::kv {
namespace {

using Tokens = std::vector<Token>;

/// Every vector of parents of up to four rows, parents before children.
std::vector<std::vector<int>> trees() {
  std::vector<std::vector<int>> all = {{}};
  for (std::size_t i = 0; i < all.size(); ++i) {
    const std::vector<int> tree = all[i];
    if (tree.size() == 4) continue;
    for (int parent = -1; parent < static_cast<int>(tree.size()); ++parent) {
      all.push_back(tree);
      all.back().push_back(parent);
    }
  }
  return all;
}

std::vector<int> path_to(const std::vector<int>& parents, int row) {
  std::vector<int> path;
  for (; row != -1; row = parents[static_cast<std::size_t>(row)]) path.insert(path.begin(), row);
  return path;
}

/// `committed` and then the tokens of `path`, where row i has token 10 + i.
Tokens behind(Tokens committed, const std::vector<int>& path) {
  for (const int row : path) committed.push_back(10 + row);
  return committed;
}

RecurrentSlots slots_with(RecurrentRollback rollback, const Tokens& committed) {
  RecurrentSlots slots(rollback);
  slots.open(7);
  slots.assign(7, state_of(committed));
  return slots;
}

TEST(RecurrentSlots, SelectionAndReplayAgreeOnEveryTreeAndPath) {
  int paths = 0;
  for (const Tokens& committed : {Tokens{}, Tokens{4, 2}})
    for (const std::vector<int>& parents : trees())
      for (int last = -1; last < static_cast<int>(parents.size()); ++last, ++paths) {
        const std::vector<int> kept = path_to(parents, last);
        Tokens tokens;
        for (std::size_t row = 0; row < parents.size(); ++row)
          tokens.push_back(10 + static_cast<Token>(row));
        RecurrentSlots select = slots_with(RecurrentRollback::kSelect, committed);
        RecurrentSlots replay = slots_with(RecurrentRollback::kReplayAccepted, committed);
        const std::vector<RecurrentState> states = select.feed(7, tokens, parents);
        EXPECT_EQ(replay.feed(7, tokens, parents), states);
        EXPECT_EQ(select.committed(7), state_of(committed));  // until the step ends
        EXPECT_EQ(select.temporary_count(), static_cast<std::int64_t>(parents.size()));
        EXPECT_EQ(replay.temporary_count(), 1);
        select.keep(7, kept);
        replay.keep(7, kept);
        const RecurrentState right = state_of(behind(committed, kept));
        EXPECT_EQ(select.committed(7), right);
        EXPECT_EQ(replay.committed(7), right);
        EXPECT_EQ(select.temporary_count() + replay.temporary_count(), 0);
        // The state of any other row, as of vllm's off-by-one candidates, is a wrong one.
        for (int row = 0; row < static_cast<int>(states.size()); ++row)
          EXPECT_EQ(states[static_cast<std::size_t>(row)] == right, row == last);
        EXPECT_EQ(state_of(committed) == right, last == -1);
      }
  EXPECT_EQ(paths, 2 * (1 * 1 + 1 * 2 + 2 * 3 + 6 * 4 + 24 * 5));
}

TEST(RecurrentSlots, OrderAndRepetitionMatter) {
  EXPECT_NE(state_of(Tokens{1, 2}), state_of(Tokens{2, 1}));
  EXPECT_NE(state_of(Tokens{1}), state_of(Tokens{1, 1}));
  EXPECT_NE(state_of(Tokens{0}), kEmptyState);
  EXPECT_EQ(state_of(Tokens{}), kEmptyState);
}

TEST(RecurrentSlots, KeepsSequencesApartAndForgetsReleasedOnes) {
  RecurrentSlots slots;
  slots.open(0);
  slots.open(1);
  slots.feed(0, Tokens{5, 6}, std::vector<int>{-1, 0});
  slots.feed(1, Tokens{7}, std::vector<int>{-1});
  EXPECT_EQ(slots.temporary_count(), 3);
  slots.keep(0, std::vector<int>{0});
  EXPECT_EQ(slots.committed(0), state_of(Tokens{5}));
  EXPECT_EQ(slots.committed(1), kEmptyState);
  slots.release(1);  // in the middle of its step
  EXPECT_EQ(slots.temporary_count(), 0);
  slots.open(1);
  EXPECT_EQ(slots.committed(1), kEmptyState);
}

TEST(RecurrentSlots, RefusesWhatIsNoStepOrNoPathAndStaysAsItWas) {
  for (const RecurrentRollback rollback :
       {RecurrentRollback::kSelect, RecurrentRollback::kReplayAccepted}) {
    RecurrentSlots slots = slots_with(rollback, Tokens{1});
    const auto expect_refused = [&](const std::function<void()>& operation) {
      const RecurrentSlots before = slots;
      EXPECT_THROW(operation(), BrokenInvariant);
      EXPECT_EQ(slots, before);
    };
    expect_refused([&] { slots.open(7); });
    for (const auto& operation : std::vector<std::function<void()>>{
             [&] { slots.release(8); }, [&] { slots.committed(8); }, [&] { slots.assign(8, 1); },
             [&] { slots.feed(8, {}, {}); }, [&] { slots.keep(8, {}); },
             [&] { slots.keep(7, {}); },  // no step is under way
             [&] {
               slots.feed(7, Tokens{1, 2}, std::vector<int>{-1});
             },
             [&] { slots.feed(7, Tokens{1}, std::vector<int>{0}); },
             [&] { slots.feed(7, Tokens{1}, std::vector<int>{-2}); }})
      expect_refused(operation);
    // 0 and 1 are siblings, 2 is a child of 1.
    slots.feed(7, Tokens{5, 6, 7}, std::vector<int>{-1, -1, 1});
    expect_refused([&] { slots.feed(7, Tokens{5}, std::vector<int>{-1}); });
    expect_refused([&] { slots.assign(7, 1); });
    for (const auto& rows : std::vector<std::vector<int>>{{0, 1}, {0, 2}, {2}, {1, 1}, {3}, {-1}})
      expect_refused([&] { slots.keep(7, rows); });
    slots.keep(7, std::vector<int>{1, 2});
    EXPECT_EQ(slots.committed(7), state_of(Tokens{1, 6, 7}));
  }
}

}  // namespace
}  // namespace draftproof::reference::kv
