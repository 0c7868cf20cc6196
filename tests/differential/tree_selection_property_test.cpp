// Goal: the selection that the device makes of candidates is the reference's, bit for bit. Method:
// ragged batches of random trees with scores that tie, grow along paths, are infinite or NaN; all
// checks of the emulated device on.
#include <gtest/gtest.h>

#include <random>

#include "tests/differential/tree_selection_device.h"

namespace draftproof::tests {
namespace {

class TreeSelectionParity : public testing::Test {
 protected:
  void SetUp() override {
    if (!gpu::kernels_are_embedded()) GTEST_SKIP() << "this build has no own kernels";
  }

  void expect_parity(std::uint64_t seed, int count, std::size_t node_max) {
    const auto device = gpu::make_emulated_device();
    gpu::KernelModules modules(*device, gpu::embedded_texts());
    std::mt19937_64 random(seed);
    for (int i = 0; i < count; ++i) {
      const SelectionBatch batch = random_selection(random, node_max);
      const auto found = selection_disparity(modules, batch, random_manner(random));
      ASSERT_FALSE(found) << "case " << i << ": " << *found;
    }
  }
};

TEST_F(TreeSelectionParity, HoldsOnAWarpOfCandidates) { expect_parity(41, 400, 64); }
TEST_F(TreeSelectionParity, HoldsOnHundredsOfCandidates) { expect_parity(42, 60, 510); }
TEST_F(TreeSelectionParity, HoldsBeyondWhatIsStaged) { expect_parity(43, 4, 3000); }

}  // namespace
}  // namespace draftproof::tests
