// Goal: whatever is accepted, forked, released and drafted again, every byte of caches that only
// kernels touch is what a twin holds that never drafted. Method: random histories of batches over
// layouts, page sizes, element sizes, block sizes and schedules, all checks of the device on.
#include <gtest/gtest.h>

#include "tests/differential/kv_history.h"

namespace draftproof::tests {
namespace {

class KvKernels : public testing::Test {
 protected:
  void SetUp() override {
    if (!gpu::kernels_are_embedded()) GTEST_SKIP() << "this build has no own kernels";
  }

  /// So many worlds of so many steps; the first disparity fails the test.
  void expect_twin(std::uint64_t seed, int world_count, int step_count,
                   const KvWorldLimits& limits) {
    KvDevice device(gpu::embedded_texts(), seed);
    std::int64_t moved = 0, bytes = 0, floor = 0;
    for (int world = 0; world < world_count; ++world) {
      const std::uint64_t own = seed * 1000 + static_cast<std::uint64_t>(world);
      int step = 0;
      try {
        KvWorld live(device, own, limits);
        for (; step < step_count; ++step) live.step();
        moved += live.target().moved_cells() + live.draft().moved_cells();
        bytes += live.target().moved_bytes() + live.draft().moved_bytes();
        floor += live.target().moved_floor() + live.draft().moved_floor();
      } catch (const std::exception& found) {
        FAIL() << "world " << own << ", step " << step << ": " << found.what();
      }
    }
    EXPECT_GT(moved, 0);
    RecordProperty("launches", std::to_string(device.launches()));
    RecordProperty("moved_cells", std::to_string(moved));
    RecordProperty("bytes_over_floor", std::to_string(double(bytes) / double(floor)));
  }
};

TEST_F(KvKernels, HoldWhatATwinHoldsInPagesOfOneSlot) { expect_twin(1, 8, 20, {1, 4, 6, 40}); }

TEST_F(KvKernels, HoldWhatATwinHoldsInSmallPages) { expect_twin(2, 20, 25, {4, 5, 6, 40}); }

TEST_F(KvKernels, HoldWhatATwinHoldsInPagesOf16) { expect_twin(3, 8, 25, {16, 5, 12, 70}); }

TEST_F(KvKernels, HoldWhatATwinHoldsInPagesOf64And128) {
  expect_twin(4, 2, 20, {64, 3, 40, 200});
  expect_twin(5, 2, 20, {128, 3, 70, 300});
}

/// Two bytes a byte of every moved cell is the floor; a sequence that moves nothing costs its list.
TEST_F(KvKernels, CommitReadsAndWritesWhatMovesAndLittleElse) {
  KvDevice device(gpu::embedded_texts(), 9);
  Dice dice(9);
  KvLayout layout;
  layout.page_size = 16;
  layout.page_count = 24;
  layout.layer_count = 4;
  layout.head_count = 8;
  layout.key_bytes = layout.value_bytes = 256;  // 128 elements of 16 bits
  KvCache cache(device, layout, 5, 6, 0, 0);
  std::vector<KvFeed> feeds;
  KvKept kept;
  kept.leading = 1;
  for (int row = 0; row < 5; ++row) {
    cache.open(row);
    KvFeed feed{row, {}, {}};
    for (int i = 0; i < 13; ++i) {
      feed.tokens.push_back(i);
      feed.parents.push_back(i == 0 ? -1 : (i - 1) / 3);  // three children each
    }
    feeds.push_back(std::move(feed));
    // Rows 0 .. 3 keep nodes 1 and 6, which move; row 4 keeps nothing but the pending token.
    kept.nodes.push_back(row < 4 ? std::vector<std::int32_t>{1, 6} : std::vector<std::int32_t>{});
    kept.expected.push_back(row < 4 ? std::vector<int>{0, 2, 7} : std::vector<int>{0});
    kept.outcomes.push_back({row < 4 ? 2u : 0u, 0, 0, 0});
  }
  cache.feed(feeds, dice);
  cache.commit(feeds, kept, false);
  cache.compare("cells");
  EXPECT_EQ(cache.moved_cells(), 8);
  EXPECT_EQ(cache.moved_floor(), 8 * 2 * 4 * 2 * 8 * 256);
  const double ratio = double(cache.moved_bytes()) / double(cache.moved_floor());
  EXPECT_LE(ratio, 1.03);
  RecordProperty("bytes_over_floor", std::to_string(ratio));
}

}  // namespace
}  // namespace draftproof::tests
