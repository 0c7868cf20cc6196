// Goal: our kernels on the emulated device and the reference decide bit for bit the same. Method:
// random batches over formats, draft kinds, presets, ragged drafts, block sizes and schedules, all
// checks of the device on.
#include <gtest/gtest.h>

#include "gpu/emulated_device.h"
#include "gpu/verifiers.h"
#include "tests/differential/parity.h"

namespace draftproof::tests {
namespace {

class KernelParity : public testing::Test {
 protected:
  void SetUp() override {
    if (!gpu::kernels_are_embedded()) GTEST_SKIP() << "this build has no own kernels";
  }

  void expect_parity(const char* rule, std::uint64_t seed, int count,
                     const RandomCaseLimits& limits) {
    const auto device = gpu::make_emulated_device();
    tests::expect_parity(*device, rule, seed, count, limits);
  }
};

TEST_F(KernelParity, ChainAgreesOnSmallVocabularies) {
  expect_parity("chain", 11, 300, {1, 64, 6, 4});
}

TEST_F(KernelParity, ChainAgreesOnLongDrafts) { expect_parity("chain", 12, 20, {1, 8, 3, 70}); }

TEST_F(KernelParity, ChainAgreesOnVocabulariesOfSeveralSegments) {
  expect_parity("chain", 13, 40, {65, 4096, 2, 3});
}

TEST_F(KernelParity, ChainAgreesOnLargeVocabularies) {
  expect_parity("chain", 14, 2, {30000, 40000, 1, 2});
}

TEST_F(KernelParity, GreedyAgrees) { expect_parity("greedy", 15, 150, {1, 300, 6, 40}); }

}  // namespace
}  // namespace draftproof::tests
