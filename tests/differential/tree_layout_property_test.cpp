// Goal: the layout that the device makes of draft trees is the reference's, bit for bit, and a
// malformed tree ends in a status of its own request alone. Method: ragged batches of random trees,
// every small array of parents there is, all checks of the emulated device on.
#include <gtest/gtest.h>

#include <random>

#include "tests/differential/tree_device.h"

namespace draftproof::tests {
namespace {

using reference::Status;
using reference::tree::DraftTree;
using reference::tree::LayoutRule;

class TreeLayoutParity : public testing::Test {
 protected:
  void SetUp() override {
    if (!gpu::kernels_are_embedded()) GTEST_SKIP() << "this build has no own kernels";
  }

  /// `batch` on the device, once in each of `count` manners.
  void expect_parity(const LayoutBatch& batch, std::mt19937_64& random, int count = 1) {
    for (int i = 0; i < count; ++i) {
      const auto found = layout_disparity(modules_, batch, random_manner(random));
      ASSERT_FALSE(found) << *found;
    }
  }

  std::unique_ptr<gpu::Device> device_ = gpu::make_emulated_device();
  gpu::KernelModules modules_{
      *device_, gpu::kernels_are_embedded() ? gpu::embedded_texts() : gpu::KernelTexts{}};
};

TEST_F(TreeLayoutParity, AgreesOnRandomTreesOfEveryShape) {
  std::mt19937_64 random(1);
  for (int i = 0; i < 400; ++i) {
    LayoutBatch batch;
    const std::size_t node_max = i % 4 == 0 ? 200 : 70;
    for (std::size_t r = random() % 6 + 1; r > 0; --r)
      batch.trees.push_back(random_tree(random, random() % (node_max + 1)));
    batch.rule.node_capacity = node_max - random() % 3;
    batch.rule.equal_siblings_are_malformed = random() % 4 == 0;
    batch.extra_mask_words = static_cast<std::uint32_t>(random() % 2);
    expect_parity(batch, random);
  }
}

TEST_F(TreeLayoutParity, AgreesOnTreesBeyondWhatIsStaged) {
  std::mt19937_64 random(2);
  for (int i = 0; i < 6; ++i) {
    LayoutBatch batch;
    batch.trees.push_back(random_tree(random, 1000 + random() % 1200));
    batch.trees.push_back(random_tree(random, 3));
    batch.rule.node_capacity = 2200;
    expect_parity(batch, random);
  }
}

/// All parents in [-2, n + 1]^n up to 4 nodes: every cycle, every missing and every late parent.
TEST_F(TreeLayoutParity, EndsEverySmallMalformedTreeInAStatusOfItsOwn) {
  std::mt19937_64 random(3);
  for (int n = 0; n <= 4; ++n) {
    std::vector<DraftTree> trees(1);
    for (int i = 0; i < n; ++i) {
      std::vector<DraftTree> longer;
      for (const DraftTree& tree : trees)
        for (int parent = -2; parent <= n + 1; ++parent) {
          longer.push_back(tree);
          longer.back().parents.push_back(parent);
        }
      trees = std::move(longer);
    }
    LayoutBatch batch;
    batch.trees = std::move(trees);
    batch.has_tokens = false;
    batch.rule.node_capacity = 4;
    std::size_t sound = 0;
    for (const DraftTree& tree : batch.trees)
      sound += reference::tree::layout(tree, batch.rule).status == Status::kOk ? 1 : 0;
    std::size_t factorial = 1;
    for (int i = 2; i <= n; ++i) factorial *= static_cast<std::size_t>(i);
    EXPECT_EQ(sound, factorial);
    expect_parity(batch, random);
  }
}

TEST_F(TreeLayoutParity, KeepsAMalformedTreeOutOfItsNeighboursRows) {
  std::mt19937_64 random(4);
  for (int i = 0; i < 300; ++i) {
    LayoutBatch batch;
    batch.rule.node_capacity = 40;
    for (std::size_t r = random() % 5 + 2; r > 0; --r) {
      batch.trees.push_back(random_tree(random, random() % 42));
      if (random() % 2 == 0) break_tree(random, batch.trees.back());
    }
    expect_parity(batch, random);
  }
}

TEST_F(TreeLayoutParity, LeavesOutWhatIsNotAskedFor) {
  std::mt19937_64 random(5);
  for (int i = 0; i < 100; ++i) {
    LayoutBatch batch;
    batch.trees.push_back(random_tree(random, random() % 40));
    batch.trees.push_back(random_tree(random, random() % 40));
    batch.rule.node_capacity = 39;
    batch.wants_depths = random() % 2 == 0;
    batch.wants_positions = random() % 2 == 0;
    batch.wants_masks = random() % 2 == 0;
    batch.has_tokens = random() % 2 == 0;
    batch.has_bases = random() % 2 == 0;
    expect_parity(batch, random);
  }
}

}  // namespace
}  // namespace draftproof::tests
