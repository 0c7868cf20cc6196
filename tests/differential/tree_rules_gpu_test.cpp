// Goal: the tree kernels on a GPU and the reference decide bit for bit the same. Method: the cases
// of the property tests and larger ones; nothing is observed here but what was written.
#include <gtest/gtest.h>

#include "tests/differential/parity.h"
#include "tests/differential/random_trees.h"
#include "tests/differential/tree_selection_device.h"
#include "tests/gpu/require_gpu.h"

namespace draftproof::tests {
namespace {

class TreeParityOnGpu : public GpuTest {
 protected:
  void expect_parity(const char* rule, std::uint64_t seed, int count,
                     const RandomCaseLimits& limits) {
    const auto subject = gpu::make_kernel_verifier(*device_, rule);
    const auto reference = reference::verify::make_verifier(rule);
    RandomCases cases(seed, limits);
    Grafter grafter(seed);
    for (int i = 0; i < cases_of(count); ++i) {
      RandomCase input = cases.next();
      grafter.graft(input);
      const auto found = disparity(*subject, *reference, input);
      ASSERT_FALSE(found) << rule << ", case " << i << " of seed " << seed << ": " << *found;
    }
  }
};

TEST_F(TreeParityOnGpu, EveryRuleForTreesAgrees) {
  for (const char* rule :
       {"tree-greedy", "target-only", "with-replacement", "without-replacement", "match"}) {
    expect_parity(rule, 61, 1000, {1, 64, 6, 9});
    expect_parity(rule, 62, 100, {1, 40, 3, 75});
    expect_parity(rule, 63, 40, {65, 40000, 2, 8});
  }
}

TEST_F(TreeParityOnGpu, LayoutAndSelectionAgree) {
  gpu::KernelModules modules(*device_, gpu::embedded_texts());
  std::mt19937_64 random(64);
  for (int i = 0; i < cases_of(500); ++i) {
    LayoutBatch batch;
    for (std::size_t r = random() % 6 + 1; r > 0; --r) {
      batch.trees.push_back(random_tree(random, random() % 300));
      if (random() % 8 == 0) break_tree(random, batch.trees.back());
    }
    batch.rule.node_capacity = 290;
    const auto laid_out = layout_disparity(modules, batch, random_manner(random));
    ASSERT_FALSE(laid_out) << "case " << i << ": " << *laid_out;
    const auto selected =
        selection_disparity(modules, random_selection(random, 300), random_manner(random));
    ASSERT_FALSE(selected) << "case " << i << ": " << *selected;
  }
}

}  // namespace
}  // namespace draftproof::tests
