// Goal: our kernels on a GPU and the reference decide bit for bit the same. Method: the cases of
// kernels_property_test.cpp and larger ones; nothing is observed here but the outcome.
#include <gtest/gtest.h>

#include <cctype>
#include <filesystem>
#include <fstream>

#include "gpu/emulated_device.h"
#include "tests/differential/golden.h"
#include "tests/differential/golden_update.h"
#include "tests/gpu/require_gpu.h"

namespace draftproof::tests {
namespace {

class KernelParityOnGpu : public GpuTest {
 protected:
  void expect_parity(const char* rule, std::uint64_t seed, int count,
                     const RandomCaseLimits& limits) {
    tests::expect_parity(*device_, rule, seed, cases_of(count), limits);
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

/// Rewritten on request only: the goldens of this GPU.
TEST_F(KernelParityOnGpu, WritesItsGoldens) {
  if (!is_golden_update()) GTEST_SKIP() << "DRAFTPROOF_UPDATE_GOLDENS=1 writes fixtures/goldens";
  std::string name = device_->name();
  for (char& letter : name)
    if (std::isalnum(static_cast<unsigned char>(letter)) == 0) letter = '_';
  std::filesystem::create_directories(golden_folder());
  std::ofstream file(golden_folder() / ("kernels_" + name + ".txt"));
  const auto subject = gpu::make_kernel_verifier(*device_, "chain");
  RandomCases cases = golden_cases();
  for (int i = 0; i < kGoldenCount; ++i) {
    RandomCase input = cases.next();
    const auto outcome = subject->verify(input.batch, *input.coins, input.execution);
    file << golden_line(i, input.batch, outcome.requests) << '\n';
  }
  EXPECT_TRUE(file.good());
}

/// The same text on both devices, the emulator's counts aside.
TEST_F(KernelParityOnGpu, TheEmulatorAgrees) {
  const auto emulated = gpu::make_emulated_device();
  const auto on_emulator = gpu::make_kernel_verifier(*emulated, "chain");
  const auto on_gpu = gpu::make_kernel_verifier(*device_, "chain");
  RandomCases cases(17, {1, 300, 4, 4});
  for (int i = 0; i < cases_of(200); ++i) {
    RandomCase input = cases.next();
    const auto a = on_emulator->verify(input.batch, *input.coins, input.execution);
    const auto b = on_gpu->verify(input.batch, *input.coins, input.execution);
    ASSERT_EQ(a.requests, b.requests) << "case " << i;
  }
}

}  // namespace
}  // namespace draftproof::tests
