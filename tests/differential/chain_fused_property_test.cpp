// Goal: fused acceptance and the reference decide bit for bit the same, however the work is
// divided, and its KV plans say what the outcome means for a cache. Method: random batches over
// formats, draft kinds, presets, ragged drafts, placeholders, statuses, team sizes, numbers of
// teams, staging, rows ahead, draft records handed in or not, block sizes and schedules, all checks
// of the device on.
#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <random>
#include <string>

#include "gpu/emulated_device.h"
#include "reference/verify/verifiers.h"
#include "tests/differential/fused_parity.h"

namespace draftproof::tests {
namespace {

class ChainFused : public testing::Test {
 protected:
  void SetUp() override {
    if (!gpu::kernels_are_embedded()) GTEST_SKIP() << "this build has no own kernels";
    device_ = gpu::make_emulated_device();
    for (const char* rule : {"chain", "greedy"}) subjects_.try_emplace(rule, *device_, rule);
  }

  void expect_parity(const char* rule, std::uint64_t seed, int count,
                     const RandomCaseLimits& limits) {
    const auto reference = reference::verify::make_verifier(rule);
    gpu::FusedVerifier& subject = subjects_.at(rule);
    std::mt19937_64 engine(seed);
    RandomCases cases(seed, limits);
    for (int i = 0; i < count; ++i) {
      RandomCase input = cases.next();
      // Large blocks cost much and show little where rows are short.
      if (engine() % 4 != 0)
        input.execution.block_threads = 32 * static_cast<int>(1 + engine() % 3);
      const auto found = fused_disparity(subject, *reference, input, random_division(engine));
      ASSERT_FALSE(found) << "case " << i << " of seed " << seed << ", " << *found;
    }
  }

 private:
  std::unique_ptr<gpu::Device> device_;
  std::map<std::string, gpu::FusedVerifier> subjects_;
};

TEST_F(ChainFused, AgreesOnSmallVocabularies) { expect_parity("chain", 41, 400, {1, 64, 6, 4}); }

TEST_F(ChainFused, AgreesOnLongDrafts) { expect_parity("chain", 42, 25, {1, 8, 3, 70}); }

TEST_F(ChainFused, AgreesAroundTheEdgesOfSlices) {
  for (const std::size_t edge : {8u, 16u, 24u, 40u, 80u, 160u, 320u})
    for (std::size_t vocab = edge - 1; vocab <= edge + 1; ++vocab)
      expect_parity("chain", 43 + vocab, 5, {vocab, vocab, 3, 3});
}

TEST_F(ChainFused, AgreesOnVocabulariesOfSeveralSegments) {
  expect_parity("chain", 44, 30, {65, 4096, 2, 3});
}

TEST_F(ChainFused, AgreesOnLargeVocabularies) {
  expect_parity("chain", 45, 2, {30000, 40000, 1, 2});
}

TEST_F(ChainFused, AgreesOnGreedyDrafts) { expect_parity("greedy", 46, 150, {1, 300, 6, 40}); }

}  // namespace
}  // namespace draftproof::tests
