// Goal: our kernels on a GPU and the reference decide bit for bit the same. Method: the cases of
// kernels_property_test.cpp and larger ones; nothing is observed here but the outcome.
#include <gtest/gtest.h>

#include "gpu/emulated_device.h"
#include "reference/verify/verifiers.h"
#include "tests/differential/parity.h"
#include "tests/gpu/require_gpu.h"

namespace draftproof::tests {
namespace {

class KernelParityOnGpu : public GpuTest {
 protected:
  void expect_parity(const char* rule, std::uint64_t seed, int count,
                     const RandomCaseLimits& limits) {
    const auto subject = gpu::make_kernel_verifier(*device_, rule);
    const auto reference = reference::verify::make_verifier(rule);
    RandomCases cases(seed, limits);
    for (int i = 0; i < count; ++i) {
      const RandomCase input = cases.next();
      const auto found = disparity(*subject, *reference, input);
      ASSERT_FALSE(found) << "case " << i << " of seed " << seed << ": " << *found;
    }
  }
};

TEST_F(KernelParityOnGpu, ChainAgreesOnSmallVocabularies) {
  expect_parity("chain", 11, 3000, {1, 64, 6, 4});
}

TEST_F(KernelParityOnGpu, ChainAgreesOnMiddlingVocabularies) {
  expect_parity("chain", 13, 600, {65, 4096, 4, 5});
}

TEST_F(KernelParityOnGpu, ChainAgreesOnLargeVocabularies) {
  expect_parity("chain", 14, 60, {30000, 132000, 2, 3});
}

TEST_F(KernelParityOnGpu, ChainAgreesBeyondEighteenBits) {
  expect_parity("chain", 16, 6, {262145, 600000, 1, 2});
}

TEST_F(KernelParityOnGpu, GreedyAgrees) { expect_parity("greedy", 15, 1000, {1, 300, 6, 40}); }

/// The same text on both devices, the emulator's counts aside.
TEST_F(KernelParityOnGpu, TheEmulatorAgrees) {
  const auto emulated = gpu::make_emulated_device();
  const auto on_emulator = gpu::make_kernel_verifier(*emulated, "chain");
  const auto on_gpu = gpu::make_kernel_verifier(*device_, "chain");
  RandomCases cases(17, {1, 300, 4, 4});
  for (int i = 0; i < 200; ++i) {
    RandomCase input = cases.next();
    const auto a = on_emulator->verify(input.batch, *input.coins, input.execution);
    const auto b = on_gpu->verify(input.batch, *input.coins, input.execution);
    ASSERT_EQ(a.requests, b.requests) << "case " << i;
  }
}

}  // namespace
}  // namespace draftproof::tests
