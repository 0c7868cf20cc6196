// Goal: `draftproof profile` says what was counted, and of nothing else. Method: our kernels on a
// small shape, made-up costs through every rendering, and inputs that no pipeline takes.
#include "tools/cost/cost.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "gpu/cuda_timing.h"
#include "gpu/emulated_device.h"
#include "gpu/verifiers.h"
#include "reference/error.h"
#include "tests/tools/schema.h"
#include "tools/cost/copy_kernel.h"
#include "tools/cost/report.h"

namespace draftproof::tools::cost {
namespace {

using testing::HasSubstr;

/// Every thread stores its number.
constexpr const char* kStore = R"(.version 8.0
.target sm_80
.address_size 64
.visible .entry store(.param .u64 to)
{
  .reg .b32 %r<2>;
  .reg .b64 %q<4>;
  ld.param.u64 %q1, [to];
  mov.u32 %r1, %tid.x;
  mul.wide.u32 %q2, %r1, 4;
  add.s64 %q3, %q1, %q2;
  st.global.u32 [%q3], %r1;
  ret;
}
)";

Cost made_up() {
  Cost cost;
  cost.pipeline = "made.up";
  cost.shape = {64, 2, 1, false, reference::LogitFormat::kFloat32};
  for (const std::uint64_t sectors : {24, 16}) {
    LaunchCost launch;
    launch.entry = "entry";
    launch.blocks = 3;
    launch.profile.emplace();
    launch.profile->loads.requested_sectors = sectors;
    launch.profile->loads.distinct_sectors = sectors / 2;
    launch.profile->stores.requested_sectors = 8;
    launch.profile->barriers_warp_max = 5;
    launch.profile->thread_instructions = 256;
    cost.launches.push_back(launch);
  }
  return cost;
}

TEST(CostShape, TheFloorIsTheTargetsRowsAndOneDraftRow) {
  const Shape half{1000, 4, 2, false, reference::LogitFormat::kBfloat16};
  EXPECT_EQ(half.floor_bytes(), 2u * (5 * 2000 + 4000));
  const Shape undrafted{1000, 0, 1, false, reference::LogitFormat::kFloat32};
  EXPECT_EQ(undrafted.floor_bytes(), 4000u);
}

TEST(CostSum, SumsOverLaunchesAndHoldsThemAgainstTheFloor) {
  const Cost cost = made_up();
  // 4 rows of 64 words are 32 sectors.
  EXPECT_EQ(cost.shape.floor_bytes(), 1024u);
  EXPECT_DOUBLE_EQ(cost.requested_over_floor(), (24 + 16 + 8 + 8) / 32.0);
  EXPECT_DOUBLE_EQ(cost.distinct_over_floor(), (12 + 8) / 32.0);
  EXPECT_EQ(cost.total().barriers_warp_max, 10u);
  EXPECT_DOUBLE_EQ(cost.instructions_an_element(), 2.0);
}

TEST(CostTiming, TheMedianIsOfTheMiddle) {
  EXPECT_EQ(Timing({{3, 1, 2}}).median(), 2);
  EXPECT_EQ(Timing({{4, 1, 2, 3}}).median(), 2.5);
}

TEST(RecordingDevice, KeepsLaunchesAndMemoryUntilItEnds) {
  const auto device = gpu::make_emulated_device();
  gpu::DevicePointer kept = 0;
  {
    RecordingDevice recording(*device);
    const auto module = recording.load(kStore, "store.ptx");
    {
      const gpu::Buffer buffer(recording, 128, "kept");
      kept = buffer.pointer();
      gpu::LaunchOptions options;
      options.block.x = 32;
      const gpu::Argument argument(kept);
      recording.launch(*module, "store", options, {&argument, 1});
    }
    ASSERT_EQ(recording.launches().size(), 1u);
    const RecordedLaunch& launch = recording.launches().front();
    EXPECT_EQ(launch.module_name, "store");
    EXPECT_EQ(launch.entry, "store");
    // Made again, on memory whose owner has gone.
    EXPECT_TRUE(device->launch(*launch.module, launch.entry, launch.options, launch.arguments)
                    .observations.empty());
  }
  EXPECT_THROW(device->free(kept), Error) << "it was freed when the recording ended";
}

TEST(CostInput, RefusesShapesThatAreNone) {
  EXPECT_THROW(make_input({4, 2, 1}, 1), Error);
  EXPECT_THROW(make_input({100, 2, 0}, 1), Error);
  EXPECT_THROW(make_input({1 << 20, 64, 4096}, 1), Error);
}

TEST(CopyKernel, Copies) {
  const auto device = make_counting_device();
  EXPECT_EQ(copied_gigabytes_a_second(*device, {}), 0);
}

TEST(CudaTiming, TimesNothingWithoutAGpu) {
  const auto device = gpu::make_emulated_device();
  EXPECT_THROW(gpu::time_launches(*device, {}, {}), BrokenInvariant);
  EXPECT_EQ(gpu::multiprocessors(*device), 132u);
}

class MeasuredCost : public testing::Test {
 protected:
  void SetUp() override {
    if (!gpu::kernels_are_embedded()) GTEST_SKIP() << "this build has no own kernels";
  }
  static Costs measured(const Plan& plan) { return measure(*make_counting_device(), plan); }
};

TEST_F(MeasuredCost, OurKernelsReadWhatTheyMustOnEveryFormat) {
  Plan plan;
  plan.pipelines = {"draftproof"};
  for (const auto format : {reference::LogitFormat::kFloat32, reference::LogitFormat::kBfloat16,
                            reference::LogitFormat::kFloat16})
    plan.shapes.push_back({1000, 2, 2, format != reference::LogitFormat::kFloat32, format});
  const Costs costs = measured(plan);
  EXPECT_FALSE(costs.is_timed);
  EXPECT_EQ(costs.rows.size(), 3 * 4u) << "four pipelines of ours";
  for (const Cost& row : costs.rows) {
    EXPECT_EQ(row.skipped, "") << row.pipeline;
    ASSERT_TRUE(row.is_counted()) << row.pipeline;
    EXPECT_EQ(row.unsafe_observations, 0u) << row.pipeline;
    // A kernel may stop behind the rejected row, and in the draft row where the draw falls.
    const std::size_t least =
        row.shape.requests * row.shape.row_bytes() * (row.shape.accepted() + 1);
    EXPECT_GE(row.distinct_over_floor() * static_cast<double>(row.shape.floor_bytes()),
              static_cast<double>(least))
        << row.pipeline;
    EXPECT_GE(row.requested_over_floor(), row.distinct_over_floor()) << row.pipeline;
    EXPECT_GT(row.total().barriers_warp_max, 0u) << row.pipeline;
  }
}

TEST_F(MeasuredCost, FiltersCostMore) {
  Plan plan;
  plan.pipelines = {"draftproof.chain"};
  plan.shapes = {{1000, 2, 1, false}, {1000, 2, 1, true}};
  const Costs costs = measured(plan);
  EXPECT_LT(costs.rows[0].requested_over_floor(), costs.rows[1].requested_over_floor());
}

TEST_F(MeasuredCost, ANameOfNoPipelineIsAnsweredWithThoseThereAre) {
  Plan plan;
  plan.pipelines = {"triton"};
  plan.shapes = {{1000, 2, 1}};
  try {
    measured(plan);
    FAIL() << "a pipeline of this name was found";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("draftproof.fused, "));
    EXPECT_THAT(error.what(), HasSubstr("vllm"));
  }
}

TEST_F(MeasuredCost, WhatIsNotFetchedIsARowThatSaysSo) {
  Plan plan;
  plan.pipelines = {"sglang"};
  plan.shapes = {{1000, 2, 1}};
  plan.third_party = "no/such/folder";
  const Costs costs = measured(plan);
  ASSERT_EQ(costs.rows.size(), 1u);
  EXPECT_THAT(costs.rows[0].skipped, HasSubstr("tools/kernels/fetch.sh sglang"));
  EXPECT_THAT(cost_page(costs, true), HasSubstr("tools/kernels/fetch.sh sglang"));
}

TEST_F(MeasuredCost, APipelineThatFailsDoesNotKeepTheOthersFromRunning) {
  const auto folder =
      std::filesystem::path(testing::TempDir()) / ("cost_test_" + std::to_string(::getpid()));
  std::filesystem::create_directories(folder / "vllm");
  std::ofstream(folder / "vllm" / "complete") << "of nothing";
  Plan plan;
  plan.pipelines = {"vllm", "draftproof.chain"};
  plan.shapes = {{1000, 2, 1}};
  plan.third_party = folder;
  const Costs costs = measured(plan);
  std::filesystem::remove_all(folder);
  ASSERT_EQ(costs.rows.size(), 2u);
  EXPECT_FALSE(costs.rows[0].is_failed);
  EXPECT_TRUE(costs.rows[0].is_counted());
  EXPECT_TRUE(costs.rows[1].is_failed);
  EXPECT_THAT(costs.rows[1].skipped, HasSubstr("v2_stats.json"));
}

TEST_F(MeasuredCost, APlanWithoutAPipelineIsRefused) {
  Plan plan;
  plan.pipelines = {"nobody"};
  EXPECT_THROW(measured(plan), Error);
}

TEST(RegisterTable, HasOurEntriesAndThoseOfFetchedFolders) {
  const auto folder =
      std::filesystem::path(testing::TempDir()) / ("register_table_" + std::to_string(::getpid()));
  std::filesystem::create_directories(folder / "somebody");
  std::ofstream(folder / "somebody" / "registers.csv")
      << "# ptxas 13\nmodule,entry,architecture,registers,spilled_bytes,stack_bytes,shared_bytes\n"
         "m,theirs,sm_90a,40,8,0,16\nm,other,sm_80,1,0,0,0\nm_no_draft,theirs,sm_90a,20,0,0,0\n";
  const RegisterTable table(folder);
  std::filesystem::remove_all(folder);
  ASSERT_TRUE(table.of("m", "theirs").has_value());
  EXPECT_EQ(table.of("m", "theirs")->registers, 40u);
  EXPECT_EQ(table.of("m", "theirs")->spilled_bytes, 8u);
  EXPECT_EQ(table.of("m_no_draft", "theirs")->registers, 20u) << "a variant has the same entry";
  EXPECT_FALSE(table.of("m", "other").has_value());
  if (!gpu::kernels_are_embedded()) return;
  ASSERT_TRUE(table.of("chain", "draftproof_verify_chain_f32").has_value());
  EXPECT_EQ(table.of("chain", "draftproof_verify_chain_f32")->spilled_bytes, 0u);
}

TEST(CostReport, SaysThatNothingRanOnHardwareUnlessItDid) {
  Costs costs;
  costs.device = "emulator";
  costs.rows = {made_up()};
  const std::string page = cost_page(costs, true);
  EXPECT_THAT(page, HasSubstr("ran on hardware"));
  EXPECT_THAT(page, HasSubstr("| never |"));
  EXPECT_THAT(page, HasSubstr("| 3+3 | 1.75 | 0.62 |"));
  costs.device = "Made-up GPU";
  costs.is_timed = true;
  costs.copied_gigabytes_a_second = 2;
  costs.rows[0].timing = Timing{{1.0, 2.0, 9.0}};
  // 1,024 bytes at 2 GB/s take 0.512 us.
  EXPECT_THAT(cost_page(costs, true), HasSubstr("| 2.00 | 0.51 | 3.91 |"));
  EXPECT_THAT(cost_page(costs, true), HasSubstr("| Made-up GPU |"));
}

TEST(CostReport, JsonHoldsToItsSchema) {
  if (!tests::can_validate()) GTEST_SKIP() << "python3-jsonschema is not installed";
  Costs costs;
  costs.device = "emulator";
  costs.rows = {made_up(), made_up()};
  costs.rows[1].skipped = "not fetched";
  costs.rows[1].launches.clear();
  EXPECT_EQ(tests::schema_complaint("cost.schema.json", cost_json(costs)), "");
  costs.is_timed = true;
  costs.rows[0].timing = Timing{{1.0}};
  costs.rows[0].launches[0].allotted = Registers{64, 0, 528};
  EXPECT_EQ(tests::schema_complaint("cost.schema.json", cost_json(costs)), "");
  auto damaged = nlohmann::json::parse(cost_json(costs));
  damaged["rows"][0]["timing"].erase("median_microseconds");
  EXPECT_THAT(tests::schema_complaint("cost.schema.json", damaged.dump()),
              HasSubstr("median_microseconds"));
  damaged = nlohmann::json::parse(cost_json(costs));
  damaged["ran_on_hardware"] = nullptr;
  EXPECT_NE(tests::schema_complaint("cost.schema.json", damaged.dump()), "");
}

}  // namespace
}  // namespace draftproof::tools::cost
