// Goal: the window puts each row where an engine would, at the position of its depth, in sight of
// its ancestors. Method: a tree over the edge of a page.
#include "gpu/paged_window.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "reference/error.h"

namespace draftproof::gpu {
namespace {

using testing::ElementsAre;

TEST(PagedWindows, FeedTreesAtTheDepthsAndSlotsOfTheirNodes) {
  PagedWindow window(2, {{7}, {5, 0, 3}});
  ForwardStep step = window.step();
  window.feed(step, 1, std::vector<reference::Token>{10});
  window.commit(1, 1);
  step = window.step();
  //  0 - 1 - 3,  0 - 2
  window.feed(step, 1, std::vector<reference::Token>{20, 21, 22, 23},
              std::vector<int>{-1, 0, 0, 1});
  EXPECT_THAT(step.tables, ElementsAre(7, -1, -1, 5, 0, 3));
  EXPECT_THAT(step.lengths, ElementsAre(0, 1));
  std::vector<int> positions;
  std::vector<std::int64_t> slots;
  std::vector<std::uint64_t> masks;
  for (const ForwardRow& row : step.rows) {
    EXPECT_EQ(row.sequence, 1);
    positions.push_back(row.position);
    slots.push_back(row.slot);
    masks.push_back(row.mask.at(0));
  }
  EXPECT_THAT(positions, ElementsAre(1, 2, 2, 3));
  EXPECT_THAT(slots, ElementsAre(11, 0, 1, 6));
  EXPECT_THAT(masks, ElementsAre(0b1, 0b11, 0b101, 0b1011));
  window.commit(1, 3);
  EXPECT_EQ(window.length(1), 4);
  EXPECT_EQ(window.length(0), 0);
}

TEST(PagedWindows, MaskMoreThanSixtyFourRowsInSeveralWords) {
  PagedWindow window(128, {{0}});
  ForwardStep step = window.step();
  window.feed(step, 0, std::vector<reference::Token>(70, 1));
  EXPECT_THAT(step.rows[65].mask, ElementsAre(~std::uint64_t{0}, 0b11));
}

TEST(PagedWindows, RefuseWhatDoesNotFit) {
  EXPECT_THROW(PagedWindow(0, {{0}}), Error);
  EXPECT_THROW(PagedWindow(4, {{0, 1}, {1}}), Error);
  EXPECT_THROW(PagedWindow(4, {{-1}}), Error);
  PagedWindow window(2, {{0}});
  ForwardStep step = window.step();
  EXPECT_THROW(window.feed(step, 0, std::vector<reference::Token>{1, 2, 3}), BrokenInvariant);
  EXPECT_THROW(window.commit(0, 1), BrokenInvariant) << "nothing was fed";
}

}  // namespace
}  // namespace draftproof::gpu
