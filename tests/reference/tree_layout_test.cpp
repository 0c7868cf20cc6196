// Goal: the layout of a draft tree is the one that its definition says. Method: a tree small enough
// to be drawn, its edges, and the definition itself on every small tree.
#include <gtest/gtest.h>

#include <cstddef>
#include <vector>

#include "reference/tree/layout.h"

namespace draftproof::reference::tree {
namespace {

using Numbers = std::vector<std::int32_t>;

//        0 (a)      1 (b)
//       /   |    |
//      2    3    5         4 continues 3, 6 continues the placeholder 5
TEST(TreeLayout, IsTheOneThatIsDrawn) {
  const DraftTree tree{{-1, -1, 0, 0, 3, 0, 5}, {10, 11, 12, 13, 14, kPlaceholder, 16}, 100};
  const Layout layout = tree::layout(tree, {8});
  EXPECT_EQ(layout.status, Status::kOk);
  EXPECT_EQ(layout.depths, (Numbers{0, 0, 1, 1, 2, -1, -1}));
  EXPECT_EQ(layout.positions, (Numbers{100, 100, 101, 101, 102, -1, -1}));
  EXPECT_EQ(layout.first_children, (Numbers{0, 2, -1, -1, 4, -1, -1, -1}));
  EXPECT_EQ(layout.next_siblings, (Numbers{1, -1, 3, -1, -1, -1, -1}));
  EXPECT_EQ(layout.masks[4], (std::vector<bool>{true, false, false, true, true, false, false}));
  EXPECT_EQ(layout.masks[5], std::vector<bool>(7));
  EXPECT_EQ(layout.node_count, 5u);
  EXPECT_EQ(layout.level_count, 3u);
  EXPECT_FALSE(layout.has_equal_siblings);
}

TEST(TreeLayout, OfNothingIsEmpty) {
  const Layout layout = tree::layout({}, {8});
  EXPECT_EQ(layout.status, Status::kOk);
  EXPECT_EQ(layout.first_children, Numbers{-1});
  EXPECT_EQ(layout.level_count, 0u);
}

TEST(TreeLayout, CountsPositionsModulo2To32) {
  EXPECT_EQ(tree::layout({{-1, 0}, {}, 0xffffffff}, {2}).positions, (Numbers{-1, 0}));
}

TEST(TreeLayout, HasNoNodesWhereAParentIsNoEarlierNode) {
  for (const Numbers& parents :
       {Numbers{0}, Numbers{-2}, Numbers{1, -1}, Numbers{-1, 1}, Numbers{-1, 0, 7}}) {
    const Layout layout = tree::layout({parents, {}, 5}, {8});
    EXPECT_EQ(layout.status, Status::kMalformedTree);
    EXPECT_EQ(layout.depths, Numbers(parents.size(), -1));
    EXPECT_EQ(layout.first_children, Numbers(parents.size() + 1, -1));
    EXPECT_EQ(layout.node_count, 0u);
  }
}

TEST(TreeLayout, HasNoNodesWhereThereIsNoRoomForAll) {
  const DraftTree tree{{-1, 0, 1}, {}, 0};
  EXPECT_EQ(tree::layout(tree, {3}).status, Status::kOk);
  EXPECT_EQ(tree::layout(tree, {2}).status, Status::kMalformedTree);
  EXPECT_EQ(tree::layout(tree, {2}).depths, (Numbers{-1, -1}));
}

TEST(TreeLayout, FlagsEqualSiblingsAndRefusesThemWhereAsked) {
  const DraftTree cousins{{-1, -1, 0, 1}, {1, 2, 3, 3}, 0};
  EXPECT_FALSE(tree::layout(cousins, {4}).has_equal_siblings);
  const DraftTree equals{{-1, -1, 0, 0}, {1, 2, 3, 3}, 0};
  EXPECT_TRUE(tree::layout(equals, {4}).has_equal_siblings);
  EXPECT_EQ(tree::layout(equals, {4}).status, Status::kOk);
  EXPECT_EQ(tree::layout(equals, {4, true}).status, Status::kMalformedTree);
  EXPECT_TRUE(tree::layout(equals, {4, true}).has_equal_siblings);
  const DraftTree gaps{{-1, -1}, {kPlaceholder, kPlaceholder}, 0};
  EXPECT_FALSE(tree::layout(gaps, {2}).has_equal_siblings);
}

/// A mask row is what following the parents meets, for every tree of up to 6 nodes.
TEST(TreeLayout, MasksEachNodeByItsPath) {
  std::vector<Numbers> all{{}};
  for (std::int32_t n = 0; n < 6; ++n) {
    std::vector<Numbers> longer;
    for (const Numbers& parents : all)
      for (std::int32_t parent = -1; parent < n; ++parent) {
        longer.push_back(parents);
        longer.back().push_back(parent);
      }
    all = std::move(longer);
    for (const Numbers& parents : all) {
      const Layout layout = tree::layout({parents, {}, 0}, {6});
      for (std::size_t node = 0; node < parents.size(); ++node) {
        std::vector<bool> path(parents.size());
        std::int32_t steps = 0;
        for (auto at = static_cast<std::int32_t>(node); at >= 0; at = parents[at], ++steps)
          path[at] = true;
        ASSERT_EQ(layout.masks[node], path);
        ASSERT_EQ(layout.depths[node], steps - 1);
      }
    }
  }
}

}  // namespace
}  // namespace draftproof::reference::tree
