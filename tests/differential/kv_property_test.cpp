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

}  // namespace
}  // namespace draftproof::tests
