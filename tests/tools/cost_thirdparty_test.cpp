// Goal: others' pipelines run as their launchers would, on the batch that ours run on, and decide
// as it has built in. Needs tools/kernels/fetch.sh flashinfer, sglang and vllm; each skips without
// its own.
#include <gtest/gtest.h>

#include "tools/cost/cost.h"

namespace draftproof::tools::cost {
namespace {

struct PeerCase {
  const char* pipeline;
  bool has_filters;
  std::size_t launches;
};

class PeerCost : public testing::TestWithParam<PeerCase> {};

TEST_P(PeerCost, RunsAndDecides) {
  Plan plan;
  plan.third_party = DRAFTPROOF_SOURCE_DIR "/build/third_party";
  plan.pipelines = {GetParam().pipeline};
  plan.shapes = {{24576, 2, 2, GetParam().has_filters}};
  const Costs costs = measure(*make_counting_device(), plan);
  ASSERT_EQ(costs.rows.size(), 1u);
  const Cost& row = costs.rows[0];
  // Whoever accepts another number of tokens than the batch has built in has failed.
  ASSERT_FALSE(row.is_failed) << row.skipped;
  if (!row.skipped.empty()) GTEST_SKIP() << row.skipped;
  EXPECT_EQ(row.launches.size(), GetParam().launches);
  EXPECT_EQ(row.unsafe_observations, 0u);
  // Whoever reads the target's rows at all requests more than these.
  EXPECT_GT(row.requested_over_floor(), 1.0);
  EXPECT_GT(row.distinct_over_floor(), 1.0);
}

INSTANTIATE_TEST_SUITE_P(Peers, PeerCost,
                         testing::Values(PeerCase{"flashinfer", false, 3},
                                         PeerCase{"flashinfer", true, 5},
                                         PeerCase{"sglang", false, 3}, PeerCase{"sglang", true, 5},
                                         PeerCase{"vllm", false, 4}));

}  // namespace
}  // namespace draftproof::tools::cost
