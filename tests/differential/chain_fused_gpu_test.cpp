// Goal: fused acceptance on a GPU and the reference decide bit for bit the same, and waiting blocks
// end. Method: the cases of chain_fused_property_test.cpp and larger ones, under random divisions.
#include <gtest/gtest.h>

#include "reference/verify/verifiers.h"
#include "tests/differential/fused_parity.h"
#include "tests/gpu/require_gpu.h"

namespace draftproof::tests {
namespace {

class ChainFusedOnGpu : public GpuTest {
 protected:
  void expect_parity(const char* rule, std::uint64_t seed, int count,
                     const RandomCaseLimits& limits) {
    gpu::FusedVerifier subject(*device_, rule);
    const auto reference = reference::verify::make_verifier(rule);
    std::mt19937_64 engine(seed);
    RandomCases cases(seed, limits);
    for (int i = 0; i < cases_of(count); ++i) {
      const RandomCase input = cases.next();
      const auto found = fused_disparity(subject, *reference, input, random_division(engine));
      ASSERT_FALSE(found) << "case " << i << " of seed " << seed << ", " << *found;
    }
  }
};

TEST_F(ChainFusedOnGpu, AgreesOnSmallVocabularies) {
  expect_parity("chain", 41, 3000, {1, 64, 6, 4});
}

TEST_F(ChainFusedOnGpu, AgreesOnMiddlingVocabularies) {
  expect_parity("chain", 44, 600, {65, 4096, 4, 5});
}

TEST_F(ChainFusedOnGpu, AgreesOnLargeVocabularies) {
  expect_parity("chain", 45, 60, {30000, 132000, 2, 3});
}

TEST_F(ChainFusedOnGpu, AgreesOnGreedyDrafts) { expect_parity("greedy", 46, 600, {1, 300, 6, 40}); }

}  // namespace
}  // namespace draftproof::tests
