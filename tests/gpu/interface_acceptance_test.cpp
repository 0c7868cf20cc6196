// Goal: fused acceptance through the C interface is divided for the device at hand, asks for the
// workspace that it needs, and launches nothing with less; split shaping the same.
#include <gtest/gtest.h>

#include <functional>
#include <string>

#include "tests/gpu/recording_executor.h"
#include "tests/gpu/right_arguments.h"

namespace draftproof::gpu::interface {
namespace {

class InterfaceAcceptance : public testing::Test {
 protected:
  draftproof_acceptance_arguments right() {
    draftproof_acceptance_arguments a = right_acceptance(1000);
    EXPECT_EQ(draftproof_acceptance_divide(&recorded_.library, &a).code, DRAFTPROOF_OK);
    EXPECT_EQ(draftproof_acceptance_workspace(&a, &a.workspace_bytes).code, DRAFTPROOF_OK);
    return a;
  }
  void expect_refusal(const char* what, draftproof_code code,
                      const std::function<void(draftproof_acceptance_arguments&)>& break_one) {
    draftproof_acceptance_arguments a = right();
    break_one(a);
    const draftproof_result result = draftproof_acceptance_launch(&recorded_.library, &a, nullptr);
    EXPECT_EQ(result.code, code) << what << ": " << result.text;
    EXPECT_GT(std::string(result.text).size(), 10u) << what;
    EXPECT_TRUE(recorded_.executor->list.empty()) << what;
  }

  RecordedLibrary recorded_;
};

TEST_F(InterfaceAcceptance, IsOneLaunchOfBlocksThatTheDeviceHolds) {
  const draftproof_acceptance_arguments a = right();
  EXPECT_EQ(a.block_capacity, 8u) << "two blocks on each of four multiprocessors";
  EXPECT_LE(a.block_count, a.block_capacity);
  EXPECT_GE(a.workspace_bytes, 128u);
  draftproof_plan plan{};
  ASSERT_EQ(draftproof_acceptance_plan(&recorded_.library, &a, &plan).code, DRAFTPROOF_OK);
  EXPECT_EQ(plan.is_cooperative, 1u);
  EXPECT_EQ(plan.grid_x, a.block_count);
  EXPECT_EQ(plan.block_threads, a.block_threads);
  EXPECT_TRUE(recorded_.executor->list.empty());
  EXPECT_EQ(draftproof_acceptance_launch(&recorded_.library, &a, nullptr).code, DRAFTPROOF_OK);
  ASSERT_EQ(recorded_.executor->list.size(), 1u);
  EXPECT_EQ(recorded_.executor->list[0].module, "chain_fused");
}

TEST_F(InterfaceAcceptance, LaunchesNothingWithoutWhatItNeeds) {
  using Arguments = draftproof_acceptance_arguments;
  expect_refusal("no rows", DRAFTPROOF_NULL_POINTER, [](Arguments& a) { a.target_rows = 0; });
  expect_refusal("no workspace", DRAFTPROOF_NULL_POINTER, [](Arguments& a) { a.workspace = 0; });
  expect_refusal("a misaligned workspace", DRAFTPROOF_MISALIGNED,
                 [](Arguments& a) { a.workspace += 64; });
  expect_refusal("odd requests", DRAFTPROOF_MISALIGNED, [](Arguments& a) { a.requests += 4; });
  expect_refusal("less workspace", DRAFTPROOF_WORKSPACE_TOO_SMALL,
                 [](Arguments& a) { --a.workspace_bytes; });
  expect_refusal("a wide stride", DRAFTPROOF_TOO_LARGE,
                 [](Arguments& a) { a.target_row_stride = std::uint64_t{1} << 62; });
  expect_refusal("tokens over rows", DRAFTPROOF_OVERLAP,
                 [](Arguments& a) { a.emitted_tokens = a.target_rows; });
  expect_refusal("a workspace over plans", DRAFTPROOF_OVERLAP,
                 [](Arguments& a) { a.workspace = a.kv_plans; });
  expect_refusal("no vocabulary", DRAFTPROOF_OUT_OF_RANGE, [](Arguments& a) { a.vocab_size = 0; });
  expect_refusal("more blocks than are resident", DRAFTPROOF_OUT_OF_RANGE,
                 [](Arguments& a) { a.block_count = 100 * a.team_size; });
}

TEST_F(InterfaceAcceptance, IsNotDividedForWhatNoDeviceHolds) {
  draftproof_acceptance_arguments a = right();
  const draftproof_acceptance_arguments before = a;
  recorded_.executor->resident = 0;
  EXPECT_EQ(draftproof_acceptance_divide(&recorded_.library, &a).code, DRAFTPROOF_OUT_OF_RANGE);
  EXPECT_EQ(draftproof_acceptance_plan(&recorded_.library, &a, nullptr).code,
            DRAFTPROOF_UNSUPPORTED);
  recorded_.executor->resident = 1;
  EXPECT_EQ(a.block_count, before.block_count);
  a.format = 9;
  EXPECT_EQ(draftproof_acceptance_divide(&recorded_.library, &a).code, DRAFTPROOF_OUT_OF_RANGE);
  a = before;
  a.block_threads = 48;
  EXPECT_EQ(draftproof_acceptance_divide(&recorded_.library, &a).code, DRAFTPROOF_OUT_OF_RANGE);
  a.block_count = 0;
  std::uint64_t bytes = 0;
  EXPECT_EQ(draftproof_acceptance_workspace(&a, &bytes).code, DRAFTPROOF_OUT_OF_RANGE);
  a = before;
  a.padded_draft_count = 0xffffffff;
  EXPECT_EQ(draftproof_acceptance_workspace(&a, &bytes).code, DRAFTPROOF_OUT_OF_RANGE);
  EXPECT_EQ(draftproof_acceptance_workspace(nullptr, &bytes).code, DRAFTPROOF_NULL_POINTER);
  EXPECT_EQ(draftproof_acceptance_divide(nullptr, &a).code, DRAFTPROOF_NULL_POINTER);
  EXPECT_EQ(draftproof_acceptance_divide(&recorded_.library, nullptr).code,
            DRAFTPROOF_NULL_POINTER);
}

TEST_F(InterfaceAcceptance, IsDividedForTheBlocksOfTheKindThatItLaunches) {
  recorded_.executor->resident = 1;
  recorded_.executor->resident_unshared = 3;
  const draftproof_acceptance_arguments staged = right();
  EXPECT_GT(staged.shared_bytes, 0u);
  EXPECT_EQ(staged.block_capacity, 4u) << "one block with shared memory a multiprocessor";
  draftproof_acceptance_arguments streamed = right_acceptance(1 << 20);
  ASSERT_EQ(draftproof_acceptance_divide(&recorded_.library, &streamed).code, DRAFTPROOF_OK);
  EXPECT_EQ(streamed.shared_bytes, 0u) << "no slice of 2^20 logits fits";
  EXPECT_EQ(streamed.block_capacity, 12u) << "three blocks without it";
  recorded_.executor->resident = 0;
  EXPECT_EQ(right().shared_bytes, 0u) << "where no block with shared memory fits";
}

TEST_F(InterfaceAcceptance, HasASiblingInSplitShapingThatNeedsAWorkspaceToo) {
  auto a = right_records<draftproof_shape_rows_arguments>();
  a.variant = DRAFTPROOF_SHAPING_SPLIT;
  ASSERT_EQ(draftproof_shape_rows_workspace(&a, &a.workspace_bytes).code, DRAFTPROOF_OK);
  EXPECT_GT(a.workspace_bytes, 0u);
  const auto code = [&] {
    return draftproof_shape_rows_launch(&recorded_.library, &a, nullptr).code;
  };
  EXPECT_EQ(code(), DRAFTPROOF_NULL_POINTER);
  a.workspace = 7 * kMemory;
  --a.workspace_bytes;
  EXPECT_EQ(code(), DRAFTPROOF_WORKSPACE_TOO_SMALL);
  EXPECT_TRUE(recorded_.executor->list.empty());
  ++a.workspace_bytes;
  EXPECT_EQ(code(), DRAFTPROOF_OK);
  EXPECT_EQ(recorded_.executor->list.size(), 1u);
}

}  // namespace
}  // namespace draftproof::gpu::interface
