// The budget of a step against what the engine really takes: every limit on its own, and peak
// memory as the caches saw it.
#include <gtest/gtest.h>

#include "reference/decode/engine.h"
#include "tests/reference/engine_cases.h"

namespace draftproof::reference::decode {
namespace {

EngineConfig limited(const Budget& budget) {
  EngineConfig config = small_engine();
  config.draft_count = 6;
  config.budget = budget;
  return config;
}

TEST(EngineBudget, HoldsEveryLimitAndChangesNoOutput) {
  const auto specs = mixed_requests(8);
  const auto expected = outputs(without_drafts(small_engine()), specs);
  for (int limit = 0; limit < 6; ++limit) {
    Budget budget;
    if (limit == 0) budget.draft_tokens = 3;
    if (limit == 1) budget.verify_rows = 4;
    if (limit == 2) budget.speculative_requests = 1;
    if (limit == 3) budget.temporary_pages = 2;
    if (limit == 4) budget.workspace_floats = 8 * 5;
    if (limit == 5) budget.rollback_cells = 4;
    Engine engine(limited(budget));
    std::vector<RequestId> ids;
    for (const RequestSpec& spec : specs) ids.push_back(engine.submit(spec));
    finish_all(engine);
    EXPECT_TRUE(is_within(engine.state().use_max, budget)) << "limit " << limit;
    EXPECT_FALSE(is_within(engine.state().use_max, Budget{3, 4, 1, 2, 8 * 5, 4}))
        << "limit " << limit << " must leave the other costs free";
    for (std::size_t i = 0; i < ids.size(); ++i)
      EXPECT_EQ(output_of(engine.request(ids[i])), expected[i]) << "limit " << limit;
  }
}

/// A step is said to cost one token, whatever was drafted.
class CountsOneTokenARequest final : public EngineSteps {
  BudgetUse draft_cost(const EngineState& state, const DeviceRequest& device,
                       int count) const override {
    return EngineSteps::draft_cost(state, device, count > 0 ? 1 : 0);
  }
  BudgetUse launch_cost(const EngineState&, const Entry&, int vocab_size) const override {
    BudgetUse use;
    use.verify_rows = 1;
    use.workspace_floats = vocab_size;
    return use;
  }
};

/// Target pages at their peak, behind the prompt's prefill and one verification.
int peak_pages(const EngineStepsPtr& steps, int temporary_pages_max) {
  Budget budget;
  budget.temporary_pages = temporary_pages_max;
  EngineConfig config = limited(budget);
  config.target_cache = {.page_size = 1, .page_count = 64};
  config.draft_cache = {.page_size = 1, .page_count = 64};
  Engine engine(config, steps);
  RequestSpec spec;
  spec.prompt = {1, 2};
  spec.max_tokens = 16;
  engine.submit(spec);
  engine.step();
  engine.step();
  return engine.state().target_cache->live_page_count_max();
}

TEST(EngineBudget, IsReadBackFromPeakMemory) {
  constexpr int kTemporary = 4;
  constexpr int kFed = 3;  // two tokens of the prompt and the pending one, a page each
  EXPECT_LE(peak_pages(right_steps(), kTemporary), kFed + kTemporary);
  EXPECT_GT(peak_pages(right_steps(), kTemporary), kFed);
  EXPECT_GT(peak_pages(std::make_shared<const CountsOneTokenARequest>(), kTemporary),
            kFed + kTemporary);
}

}  // namespace
}  // namespace draftproof::reference::decode
