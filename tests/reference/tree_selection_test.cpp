// Goal: a selection takes the best, is closed, and breaks ties by number. Method: small trees with
// known answers, and what closure means on random ones.
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <random>
#include <vector>

#include "reference/tree/selection.h"

namespace draftproof::reference::tree {
namespace {

using Numbers = std::vector<std::int32_t>;
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kInfinity = std::numeric_limits<float>::infinity();

TEST(TreeSelection, TakesTheBestAndNumbersThemAnew) {
  const DraftTree tree{{-1, -1, 0, 0, 1, 4}, {}, 0};
  const Selection best = select(tree, {.5f, .9f, .1f, .4f, .8f, .7f}, 4, 6);
  EXPECT_EQ(best.candidates, (Numbers{0, 1, 4, 5}));
  EXPECT_EQ(best.parents, (Numbers{-1, -1, 1, 2}));
  EXPECT_EQ(best.level_count, 3u);
  EXPECT_EQ(select(tree, {.5f, .9f, .1f, .4f, .8f, .7f}, 3, 6).parents, (Numbers{-1, 0, 1}));
}

TEST(TreeSelection, BreaksTiesByNumber) {
  const DraftTree star{{-1, -1, -1, -1}, {}, 0};
  EXPECT_EQ(select(star, {1, 2, 1, 1}, 3, 4).candidates, (Numbers{0, 1, 2}));
  EXPECT_EQ(select(star, {-0.0f, 0.0f, -0.0f, 0.0f}, 2, 4).candidates, (Numbers{0, 1}));
}

TEST(TreeSelection, CountsANodeForNoMoreThanWhatItContinues) {
  const DraftTree tree{{-1, 0, -1}, {}, 0};
  EXPECT_EQ(select(tree, {.1f, 9, .5f}, 1, 3).candidates, Numbers{2});
  EXPECT_EQ(select(tree, {.1f, 9, .5f}, 2, 3).candidates, (Numbers{0, 2}));
  const DraftTree chain{{-1, 0, 1}, {}, 0};
  EXPECT_EQ(select(chain, {1, 1, 1}, 2, 3).candidates, (Numbers{0, 1}));
}

TEST(TreeSelection, LeavesOutWhatIsNotThere) {
  const DraftTree tree{{-1, 0, -1, 2}, {kPlaceholder, 5, 6, 7}, 0};
  EXPECT_EQ(select(tree, {kNan, kNan, -kInfinity, kInfinity}, 4, 4).candidates, (Numbers{2, 3}));
  EXPECT_EQ(select({}, {}, 4, 4).candidates, Numbers{});
  EXPECT_EQ(select(tree, {1, 1, 1, 1}, 0, 4).level_count, 0u);
}

TEST(TreeSelection, SelectsNothingByNanOrFromAMalformedTree) {
  EXPECT_EQ(select({{-1, -1}, {}, 0}, {1, kNan}, 1, 2), (Selection{Status::kNan, {}, {}, 0}));
  EXPECT_EQ(select({{-1, 1}, {}, 0}, {1, kNan}, 1, 2),
            (Selection{Status::kMalformedTree, {}, {}, 0}));
  EXPECT_EQ(select({{-1, -1}, {}, 0}, {1, 1}, 1, 1).status, Status::kMalformedTree);
}

TEST(TreeSelection, IsClosedAndContainsEverySmallerOne) {
  std::mt19937 random(5);
  for (int i = 0; i < 500; ++i) {
    DraftTree tree;
    std::vector<float> scores;
    const auto count = static_cast<std::int32_t>(random() % 12);
    for (std::int32_t node = 0; node < count; ++node) {
      tree.parents.push_back(static_cast<std::int32_t>(random() % (node + 1)) - 1);
      scores.push_back(static_cast<float>(random() % 4));
    }
    Numbers before;
    for (std::size_t keep = 0; keep <= scores.size(); ++keep) {
      const Selection now = select(tree, scores, keep, 12);
      ASSERT_EQ(now.candidates.size(), keep);
      ASSERT_TRUE(std::includes(now.candidates.begin(), now.candidates.end(), before.begin(),
                                before.end()));
      for (std::size_t k = 0; k < keep; ++k) {
        const std::int32_t parent = tree.parents[now.candidates[k]];
        ASSERT_EQ(now.parents[k] < 0 ? -1 : now.candidates[now.parents[k]], parent);
        ASSERT_LT(now.parents[k], static_cast<std::int32_t>(k));
      }
      before = now.candidates;
    }
  }
}

}  // namespace
}  // namespace draftproof::reference::tree
