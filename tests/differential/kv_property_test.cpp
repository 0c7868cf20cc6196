// Goal: whatever is accepted, forked, released and drafted again, every byte of caches that only
// kernels touch is what a twin holds that never drafted. Method: random histories of batches over
// layouts, page sizes, element sizes, block sizes and schedules, all checks of the device on.
#include <gtest/gtest.h>

#include <limits>

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
    std::int64_t moved = 0;
    for (int world = 0; world < world_count; ++world) {
      const std::uint64_t own = seed * 1000 + static_cast<std::uint64_t>(world);
      int step = 0;
      try {
        KvWorld live(device, own, limits);
        for (; step < step_count; ++step) live.step();
        moved += live.target().moved_cells() + live.draft().moved_cells();
      } catch (const std::exception& found) {
        FAIL() << "world " << own << ", step " << step << ": " << found.what();
      }
    }
    EXPECT_GT(moved, 0);
    RecordProperty("launches", std::to_string(device.launches()));
    RecordProperty("moved_cells", std::to_string(moved));
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

/// Lengths are int32. Pages of 2^30 slots, so that tables hold more than that: the first sequence
/// ends with the largest length that there is, the second one would end behind it.
TEST_F(KvKernels, RefuseLengthsThatInt32CannotHold) {
  constexpr std::int32_t kLargest = std::numeric_limits<std::int32_t>::max();
  const std::vector<std::int32_t> ends = {kLargest, kLargest, 14};
  const std::vector<std::uint32_t> expected = {0, DRAFTPROOF_KV_BAD_LENGTH, 0};
  KvDevice device(gpu::embedded_texts(), 11);
  const auto cells = device.array<std::uint64_t>({1, 2}, "cells");
  const auto tables = device.array(std::vector<std::int32_t>(15, 0), "tables");
  const auto lengths = device.array<std::int32_t>({kLargest - 5, kLargest, 6}, "lengths");
  const auto fed = device.array<std::int32_t>({5, 5, 8}, "fed counts");
  const auto counts = device.array<std::uint32_t>({5, 5, 8}, "kept counts");
  const auto new_lengths = device.array<std::int32_t>({-9, -9, -9}, "new lengths");
  const auto statuses_of = [&](auto arguments) {
    const auto statuses = device.array<std::uint32_t>({99, 99, 99}, "statuses");
    arguments.sequences = {tables.pointer(), 0, lengths.pointer(), fed.pointer(), 5, 3, 5, 3, 0};
    arguments.statuses = statuses.pointer();
    device.run(arguments);
    return statuses.read();
  };
  draftproof_kv_commit_arguments committed{};
  committed.pool.planes[0] = {cells.pointer(), 0, 0, 1u << 30, 1, 0, 1, 1, DRAFTPROOF_KV_SLOT, 0};
  committed.pool.plane_count = committed.pool.layer_count = committed.pool.page_count = 1;
  committed.pool.page_size = 1u << 30;
  committed.kept = {0, counts.pointer(), 0, 0, 0, 4, 8, 0, 0};
  committed.new_lengths = new_lengths.pointer();
  EXPECT_EQ(statuses_of(committed), expected);
  EXPECT_EQ(new_lengths.read(), ends);

  draftproof_kv_poison_arguments poisoned{};
  poisoned.pool = committed.pool;
  poisoned.new_lengths = new_lengths.pointer();
  EXPECT_EQ(statuses_of(poisoned), expected);
  EXPECT_EQ(cells.read(), cells.written());

  const auto slots = device.array(std::vector<std::int64_t>(24, -3), "slots");
  draftproof_kv_map_slots_arguments mapped{};
  mapped.slots = slots.pointer();
  mapped.slot_stride = 8;
  mapped.slot_count = 24;
  mapped.page_size = 1u << 30;
  mapped.page_count = 1;
  EXPECT_EQ(statuses_of(mapped), expected);
  EXPECT_EQ(slots.read()[4], (1 << 30) - 2) << "the last slot of the largest length";
  EXPECT_EQ(slots.read()[8], -1);

  const auto freed = device.array(std::vector<std::int32_t>(15, -4), "freed");
  const auto freed_counts = device.array<std::uint32_t>({9, 9, 9}, "freed counts");
  draftproof_kv_release_pages_arguments released{};
  released.new_lengths = new_lengths.pointer();
  released.freed = freed.pointer();
  released.freed_counts = freed_counts.pointer();
  released.freed_stride = 5;
  released.page_size = 1u << 30;
  released.page_count = 1;
  EXPECT_EQ(statuses_of(released), expected);
  EXPECT_EQ(freed_counts.read(), (std::vector<std::uint32_t>{0, 0, 0}));
}

/// Page strides beyond 32 bits: pages 0 and 1 are allocations of their own, as far apart as the
/// device has put them (vllm-project/vllm#46560).
TEST_F(KvKernels, CommitMovesCellsBetweenPagesThatLieFarApart) {
  KvDevice device(gpu::embedded_texts(), 10);
  std::vector<std::uint64_t> page = {10, 11, 12, 13}, other = {20, 21, 22, 23};
  const auto first = device.array(page, "page 0");
  const auto second = device.array(other, "page 1");
  const std::uint64_t distance = second.pointer() - first.pointer();
  ASSERT_GT(second.pointer(), first.pointer());
  ASSERT_GT(distance, std::uint64_t{1} << 32);
  draftproof_kv_commit_arguments arguments{};
  arguments.pool.planes[0] = {first.pointer(), 0, 0, distance, 8, 0, 1, 8, DRAFTPROOF_KV_SLOT, 0};
  arguments.pool.plane_count = arguments.pool.layer_count = 1;
  arguments.pool.page_size = 4;
  arguments.pool.page_count = 2;
  const auto tables = device.array<std::int32_t>({0, 1}, "tables");
  const auto lengths = device.array<std::int32_t>({1}, "lengths");
  const auto fed = device.array<std::int32_t>({7}, "fed counts");
  const auto nodes = device.array<std::int32_t>({3, 4, 6}, "nodes");
  const auto counts = device.array<std::uint32_t>({3}, "counts");
  const auto statuses = device.array<std::uint32_t>({99}, "statuses");
  arguments.sequences = {tables.pointer(), 0, lengths.pointer(), fed.pointer(), 2, 1, 2, 1, 0};
  arguments.kept = {nodes.pointer(), counts.pointer(), 0, 3, 0, 4, 3, 0, 0};
  arguments.statuses = statuses.pointer();
  device.run(arguments);
  demand_done(statuses, "commit");
  EXPECT_EQ(first.read(), (std::vector<std::uint64_t>{10, 20, 21, 23}));
  EXPECT_EQ(second.read(), other);
}

}  // namespace
}  // namespace draftproof::tests
