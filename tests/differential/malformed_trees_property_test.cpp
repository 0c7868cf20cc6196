// Goal: whatever parents a rule for trees meets on the device, it ends, and a malformed tree ends
// in a status of its own request alone. Method: every array of parents in [-2, n + 1]^n up to n = 4
// in one batch, and counts beyond the slots; sound ones must go as in the reference.
#include <gtest/gtest.h>

#include "tests/differential/malformed_trees.h"

namespace draftproof::tests {
namespace {

class MalformedTrees : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    if (!gpu::kernels_are_embedded()) GTEST_SKIP() << "this build has no own kernels";
  }

  void expect_statuses(const std::vector<OddRequest>& odds, std::uint32_t block_threads) {
    EXPECT_EQ(
        malformed_disparity(GetParam(), gpu::embedded_texts(), odds, block_threads).value_or(""),
        "");
  }
};

TEST_P(MalformedTrees, OfEveryKindEndInAStatusOfTheirOwn) {
  expect_statuses(small_odd_requests(), 32);
}

TEST_P(MalformedTrees, WithMoreNodesThanSlotsEndInAStatusToo) {
  std::mt19937_64 random(32);
  std::vector<OddRequest> odds;
  for (const std::uint32_t count : {4u, 5u, 0x7fffffffu, 0xffffffffu, 1u, 6u}) {
    odds.push_back(odd_request(random, {-1, 0, 0, 1}));
    odds.back().draft_count = count;
    if (count != 1) continue;
    odds.back() = odd_request(random, {-1});
  }
  expect_statuses(odds, 96);
}

INSTANTIATE_TEST_SUITE_P(Rules, MalformedTrees,
                         testing::Values("tree-greedy", "target-only", "with-replacement",
                                         "without-replacement", "match"),
                         [](const auto& info) {
                           std::string name = info.param;
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

}  // namespace
}  // namespace draftproof::tests
