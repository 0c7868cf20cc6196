// Goal: on a GPU, too, every byte of caches that only kernels touch is what a twin holds that never
// drafted. Method: the histories of kv_property_test.cpp; nothing is observed here but the bytes.
#include <gtest/gtest.h>

#include "tests/differential/kv_history.h"
#include "tests/gpu/require_gpu.h"

namespace draftproof::tests {
namespace {

class KvKernelsOnGpu : public GpuTest {
 protected:
  void expect_twin(std::uint64_t seed, int world_count, int step_count,
                   const KvWorldLimits& limits) {
    KvDevice device(gpu::embedded_texts(), seed, std::move(device_));
    for (int world = 0; world < cases_of(world_count); ++world) {
      const std::uint64_t own = seed * 1000 + static_cast<std::uint64_t>(world);
      int step = 0;
      try {
        KvWorld live(device, own, limits);
        for (; step < step_count; ++step) live.step();
      } catch (const std::exception& found) {
        FAIL() << "world " << own << ", step " << step << ": " << found.what();
      }
    }
  }
};

TEST_F(KvKernelsOnGpu, HoldWhatATwinHoldsInSmallPages) { expect_twin(2, 60, 25, {4, 5, 6, 40}); }

TEST_F(KvKernelsOnGpu, HoldWhatATwinHoldsInPagesOf16) { expect_twin(3, 60, 25, {16, 8, 12, 70}); }

TEST_F(KvKernelsOnGpu, HoldWhatATwinHoldsInPagesOf128) {
  expect_twin(5, 10, 20, {128, 6, 70, 300});
}

}  // namespace
}  // namespace draftproof::tests
