// Goal: the rules for trees decide on the emulated device what the reference decides, bit for bit,
// accepted nodes and statuses among it. Method: random trees over formats, draft kinds, presets,
// block sizes and schedules, all checks of the device on.
#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "gpu/emulated_device.h"
#include "gpu/verifiers.h"
#include "tests/differential/parity.h"
#include "tests/differential/random_trees.h"

namespace draftproof::tests {
namespace {

class TreeRuleParity : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    if (!gpu::kernels_are_embedded()) GTEST_SKIP() << "this build has no own kernels";
  }

  /// Among the cases is one where `depth` nodes are accepted.
  void expect_parity(std::uint64_t seed, int count, const RandomCaseLimits& limits,
                     std::size_t depth) {
    const auto device = gpu::make_emulated_device();
    const auto subject = gpu::make_kernel_verifier(*device, GetParam());
    const auto reference = reference::verify::make_verifier(GetParam());
    RandomCases cases(seed, limits);
    Grafter grafter(seed);
    std::size_t accepted = 0;
    for (int i = 0; i < count; ++i) {
      RandomCase input = cases.next();
      grafter.graft(input);
      const auto found = disparity(*subject, *reference, input);
      ASSERT_FALSE(found) << "case " << i << " of seed " << seed << ": " << *found;
      for (const auto& outcome :
           reference->verify(input.batch, *input.coins, input.execution).requests)
        accepted = std::max(accepted, outcome.accepted_nodes.size());
    }
    EXPECT_GE(accepted, depth) << "no case goes so deep";
  }
};

TEST_P(TreeRuleParity, HoldsOnSmallTrees) { expect_parity(21, 250, {1, 64, 6, 9}, 4); }

TEST_P(TreeRuleParity, HoldsOnTreesOfSeveralDozens) { expect_parity(22, 30, {1, 40, 3, 75}, 4); }

TEST_P(TreeRuleParity, HoldsOnVocabulariesOfSeveralSegments) {
  expect_parity(23, 25, {65, 3000, 2, 8}, 1);
}

INSTANTIATE_TEST_SUITE_P(Rules, TreeRuleParity,
                         testing::Values("tree-greedy", "target-only", "with-replacement",
                                         "without-replacement", "match"),
                         [](const auto& info) {
                           std::string name = info.param;
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

}  // namespace
}  // namespace draftproof::tests
