// Goal: whatever the C interface refuses, it says so in a code and a text, and launches nothing.
// Method: arguments that are right but for one field, into an executor that counts. The rest of
// what each family refuses is in the tests of its launches; here it is that all calls ask them.
#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

#include "tests/gpu/recording_executor.h"
#include "tests/gpu/right_arguments.h"

namespace draftproof::gpu::interface {
namespace {

int marker = 0;  ///< its address is a stream

draftproof_shape_rows_arguments right_shaping() {
  return right_records<draftproof_shape_rows_arguments>();
}

draftproof_verify_arguments right_verify() {
  auto a = right_records<draftproof_verify_arguments>();
  a.emitted_tokens = 7 * kMemory;
  a.emitted_reasons = 8 * kMemory;
  a.outcomes = 9 * kMemory;
  a.accepted_nodes = 10 * kMemory;
  return a;
}

draftproof_tree_layout_arguments right_layout() {
  draftproof_tree_layout_arguments a{};
  a.parents = 1 * kMemory;
  a.node_counts = 2 * kMemory;
  a.node_count_stride = 4;
  a.first_children = 3 * kMemory;
  a.next_siblings = 4 * kMemory;
  a.records = 5 * kMemory;
  a.request_count = 3;
  a.node_capacity = 7;
  return a;
}

draftproof_kv_commit_arguments right_commit() {
  draftproof_kv_commit_arguments a{};
  a.pool.planes[0].base = 1 * kMemory;
  a.pool.planes[0].page_stride = 64;
  a.pool.planes[0].slot_stride = 16;
  a.pool.planes[0].layer_stride = 256;
  a.pool.planes[0].head_count = 1;
  a.pool.planes[0].head_bytes = 16;
  a.pool.plane_count = a.pool.layer_count = 1;
  a.pool.page_size = a.pool.page_count = 4;
  a.sequences.tables = 2 * kMemory;
  a.sequences.table_stride = a.sequences.page_max = 2;
  a.sequences.row_count = a.sequences.sequence_count = 2;
  a.sequences.lengths = 3 * kMemory;
  a.sequences.fed_counts = 4 * kMemory;
  a.kept.counts = 5 * kMemory;
  a.kept.count_stride_bytes = 4;
  a.kept.kept_max = 2;
  a.kept.leading_count = 1;
  a.new_lengths = 6 * kMemory;
  a.statuses = 7 * kMemory;
  return a;
}

template <class Arguments>
using Plan = draftproof_result (*)(const draftproof_library*, const Arguments*, draftproof_plan*);
template <class Arguments>
using Launch = draftproof_result (*)(const draftproof_library*, const Arguments*, void*);

/// One call, its right arguments, and what makes them wrong.
template <class Arguments>
struct Wrong {
  const char* what;
  draftproof_code code;
  std::function<void(Arguments&)> break_one;
};

template <class Arguments>
void expect_launch(Plan<Arguments> plan, Launch<Arguments> launch, const Arguments& right,
                   const std::string& module) {
  RecordedLibrary recorded;
  draftproof_plan planned{};
  const draftproof_result checked = plan(&recorded.library, &right, &planned);
  EXPECT_EQ(checked.code, DRAFTPROOF_OK) << module << ": " << checked.text;
  EXPECT_EQ(planned.launch_count, 1u) << module;
  EXPECT_TRUE(recorded.executor->list.empty()) << module;
  EXPECT_EQ(launch(&recorded.library, &right, &marker).code, DRAFTPROOF_OK) << module;
  ASSERT_EQ(recorded.executor->list.size(), 1u) << module;
  EXPECT_EQ(recorded.executor->list[0].module, module);
  EXPECT_EQ(recorded.executor->list[0].entry, planned.entry);
  EXPECT_EQ(recorded.executor->list[0].blocks,
            std::uint64_t{planned.grid_x} * planned.grid_y * planned.grid_z);
  EXPECT_EQ(recorded.executor->list[0].stream, &marker);
}

template <class Arguments>
void expect_refusals(Plan<Arguments> plan, Launch<Arguments> launch, const Arguments& right,
                     const std::vector<Wrong<Arguments>>& list) {
  RecordedLibrary recorded;
  EXPECT_EQ(launch(nullptr, &right, nullptr).code, DRAFTPROOF_NULL_POINTER);
  EXPECT_EQ(launch(&recorded.library, nullptr, nullptr).code, DRAFTPROOF_NULL_POINTER);
  EXPECT_EQ(plan(nullptr, &right, nullptr).code, DRAFTPROOF_NULL_POINTER);
  EXPECT_EQ(plan(&recorded.library, nullptr, nullptr).code, DRAFTPROOF_NULL_POINTER);
  EXPECT_EQ(plan(&recorded.library, &right, nullptr).code, DRAFTPROOF_OK);
  for (const Wrong<Arguments>& wrong : list) {
    Arguments arguments = right;
    wrong.break_one(arguments);
    draftproof_plan planned{};
    for (const draftproof_result& result : {plan(&recorded.library, &arguments, &planned),
                                            launch(&recorded.library, &arguments, nullptr)}) {
      EXPECT_EQ(result.code, wrong.code) << wrong.what << ": " << result.text;
      EXPECT_GT(std::string(result.text).size(), 10u) << wrong.what;
    }
    EXPECT_EQ(planned.entry, nullptr) << wrong.what;
  }
  EXPECT_TRUE(recorded.executor->list.empty());
}

TEST(InterfaceCalls, LaunchRightArgumentsOnceOnTheirStream) {
  expect_launch(draftproof_shape_rows_plan, draftproof_shape_rows_launch, right_shaping(),
                "shaping");
  expect_launch(draftproof_tree_layout_plan, draftproof_tree_layout_launch, right_layout(),
                "layout");
  expect_launch(draftproof_kv_commit_plan, draftproof_kv_commit_launch, right_commit(),
                "paged_cache");
}

/// Nothing at all, and a struct of zeros: as arguments they are refused by every call there is.
template <class Arguments>
void expect_nothing_from_zeros(const char* name, Plan<Arguments> plan, Launch<Arguments> launch) {
  RecordedLibrary recorded;
  const Arguments zeros{};
  for (const draftproof_result& result :
       {plan(nullptr, &zeros, nullptr), plan(&recorded.library, nullptr, nullptr),
        launch(nullptr, &zeros, nullptr), launch(&recorded.library, nullptr, nullptr)})
    EXPECT_EQ(result.code, DRAFTPROOF_NULL_POINTER) << name;
  for (const draftproof_result& result :
       {plan(&recorded.library, &zeros, nullptr), launch(&recorded.library, &zeros, nullptr)}) {
    EXPECT_NE(result.code, DRAFTPROOF_OK) << name;
    EXPECT_STRNE(result.text, "") << name;
  }
  EXPECT_TRUE(recorded.executor->list.empty()) << name;
}

#define DRAFTPROOF_EXPECT_NOTHING_FROM_ZEROS(name) \
  expect_nothing_from_zeros<name##_arguments>(#name, name##_plan, name##_launch)

TEST(InterfaceCalls, RefuseNothingAndZerosEveryOneOfThem) {
  DRAFTPROOF_EXPECT_NOTHING_FROM_ZEROS(draftproof_acceptance);
  DRAFTPROOF_EXPECT_NOTHING_FROM_ZEROS(draftproof_shape_rows);
  DRAFTPROOF_EXPECT_NOTHING_FROM_ZEROS(draftproof_verify_adjusted);
  DRAFTPROOF_EXPECT_NOTHING_FROM_ZEROS(draftproof_adjust_rows);
  DRAFTPROOF_EXPECT_NOTHING_FROM_ZEROS(draftproof_tree_layout);
  DRAFTPROOF_EXPECT_NOTHING_FROM_ZEROS(draftproof_tree_selection);
  DRAFTPROOF_EXPECT_NOTHING_FROM_ZEROS(draftproof_kv_copy_pages);
  DRAFTPROOF_EXPECT_NOTHING_FROM_ZEROS(draftproof_kv_map_slots);
  DRAFTPROOF_EXPECT_NOTHING_FROM_ZEROS(draftproof_kv_append);
  DRAFTPROOF_EXPECT_NOTHING_FROM_ZEROS(draftproof_kv_commit);
  DRAFTPROOF_EXPECT_NOTHING_FROM_ZEROS(draftproof_kv_gather_rows);
  DRAFTPROOF_EXPECT_NOTHING_FROM_ZEROS(draftproof_kv_select_states);
  DRAFTPROOF_EXPECT_NOTHING_FROM_ZEROS(draftproof_kv_release_pages);
  DRAFTPROOF_EXPECT_NOTHING_FROM_ZEROS(draftproof_kv_poison);
  DRAFTPROOF_EXPECT_NOTHING_FROM_ZEROS(draftproof_embed);
  DRAFTPROOF_EXPECT_NOTHING_FROM_ZEROS(draftproof_rms_norm);
  DRAFTPROOF_EXPECT_NOTHING_FROM_ZEROS(draftproof_gemm);
  DRAFTPROOF_EXPECT_NOTHING_FROM_ZEROS(draftproof_rope_scatter);
  DRAFTPROOF_EXPECT_NOTHING_FROM_ZEROS(draftproof_attention);
  DRAFTPROOF_EXPECT_NOTHING_FROM_ZEROS(draftproof_swiglu);
  DRAFTPROOF_EXPECT_NOTHING_FROM_ZEROS(draftproof_residual_add);
}

TEST(InterfaceCalls, RefuseWrongRowsAndLaunchNothing) {
  using Rows = draftproof_shape_rows_arguments;
  expect_refusals<Rows>(
      draftproof_shape_rows_plan, draftproof_shape_rows_launch, right_shaping(),
      {{"no rows", DRAFTPROOF_NULL_POINTER, [](Rows& a) { a.target_rows = 0; }},
       {"no records", DRAFTPROOF_NULL_POINTER, [](Rows& a) { a.target_records = 0; }},
       {"misaligned rows", DRAFTPROOF_MISALIGNED, [](Rows& a) { a.target_rows += 2; }},
       {"misaligned records", DRAFTPROOF_MISALIGNED, [](Rows& a) { a.target_records += 4; }},
       {"no vocabulary", DRAFTPROOF_OUT_OF_RANGE, [](Rows& a) { a.vocab_size = 0; }},
       {"a large vocabulary", DRAFTPROOF_OUT_OF_RANGE, [](Rows& a) { a.vocab_size = 1 << 21; }},
       {"a long draft", DRAFTPROOF_OUT_OF_RANGE, [](Rows& a) { a.padded_draft_count = 1 << 17; }},
       {"an unknown format", DRAFTPROOF_OUT_OF_RANGE, [](Rows& a) { a.format = 3; }},
       {"half a warp", DRAFTPROOF_OUT_OF_RANGE, [](Rows& a) { a.block_threads = 48; }},
       {"too many rows", DRAFTPROOF_TOO_LARGE, [](Rows& a) { a.request_count = 0x7fffffff; }},
       {"a stride beyond 2^63", DRAFTPROOF_TOO_LARGE,
        [](Rows& a) { a.target_row_stride = std::uint64_t{1} << 62; }},
       {"records over rows", DRAFTPROOF_OVERLAP, [](Rows& a) { a.target_records = a.target_rows; }},
       {"records over requests", DRAFTPROOF_OVERLAP,
        [](Rows& a) { a.draft_records = a.requests + 64; }}});
}

TEST(InterfaceCalls, RefuseWrongTreesAndCachesAndLaunchNothing) {
  using Layout = draftproof_tree_layout_arguments;
  expect_refusals<Layout>(
      draftproof_tree_layout_plan, draftproof_tree_layout_launch, right_layout(),
      {{"no parents", DRAFTPROOF_NULL_POINTER, [](Layout& a) { a.parents = 0; }},
       {"odd parents", DRAFTPROOF_MISALIGNED, [](Layout& a) { a.parents += 1; }},
       {"too many nodes", DRAFTPROOF_OUT_OF_RANGE, [](Layout& a) { a.node_capacity = 65537; }},
       {"links over parents", DRAFTPROOF_OVERLAP, [](Layout& a) { a.next_siblings = a.parents; }}});
  using Commit = draftproof_kv_commit_arguments;
  expect_refusals<Commit>(
      draftproof_kv_commit_plan, draftproof_kv_commit_launch, right_commit(),
      {{"no tables", DRAFTPROOF_NULL_POINTER, [](Commit& a) { a.sequences.tables = 0; }},
       {"odd statuses", DRAFTPROOF_MISALIGNED, [](Commit& a) { a.statuses += 2; }},
       {"pages of nothing", DRAFTPROOF_OUT_OF_RANGE, [](Commit& a) { a.pool.page_size = 0; }},
       {"too many planes", DRAFTPROOF_OUT_OF_RANGE,
        [](Commit& a) { a.pool.plane_count = DRAFTPROOF_KV_PLANES_MAX + 1; }},
       {"lengths over lengths", DRAFTPROOF_OVERLAP,
        [](Commit& a) { a.new_lengths = a.sequences.lengths; }}});
}

TEST(InterfaceCalls, LaunchNothingForNoSequences) {
  draftproof_kv_commit_arguments none = right_commit();
  none.sequences.sequence_count = 0;
  RecordedLibrary recorded;
  draftproof_plan plan{};
  EXPECT_EQ(draftproof_kv_commit_plan(&recorded.library, &none, &plan).code, DRAFTPROOF_OK);
  EXPECT_EQ(plan.launch_count, 0u);
  EXPECT_EQ(draftproof_kv_commit_launch(&recorded.library, &none, nullptr).code, DRAFTPROOF_OK);
  EXPECT_TRUE(recorded.executor->list.empty());
}

TEST(InterfaceCalls, JudgeByEveryRuleTheyListAndByNoOther) {
  draftproof_rule rule{};
  std::uint32_t count = 0;
  const draftproof_verify_arguments right = right_verify();
  for (; draftproof_verify_rule(count, &rule).code == DRAFTPROOF_OK; ++count) {
    RecordedLibrary recorded;
    const draftproof_result result =
        draftproof_verify_launch(&recorded.library, rule.name, &right, &marker);
    EXPECT_EQ(result.code, DRAFTPROOF_OK) << rule.name << ": " << result.text;
    EXPECT_EQ(recorded.executor->list.size(), 1u) << rule.name;
    draftproof_verify_arguments wrong = right;
    wrong.outcomes = wrong.requests;
    EXPECT_EQ(draftproof_verify_launch(&recorded.library, rule.name, &wrong, nullptr).code,
              DRAFTPROOF_OVERLAP);
    EXPECT_EQ(recorded.executor->list.size(), 1u) << rule.name;
  }
  EXPECT_EQ(count, 8u);
  RecordedLibrary recorded;
  EXPECT_EQ(draftproof_verify_launch(&recorded.library, "typical", &right, nullptr).code,
            DRAFTPROOF_OUT_OF_RANGE);
  EXPECT_EQ(draftproof_verify_plan(&recorded.library, nullptr, &right, nullptr).code,
            DRAFTPROOF_NULL_POINTER);
  EXPECT_EQ(draftproof_verify_rule(0, nullptr).code, DRAFTPROOF_NULL_POINTER);
  EXPECT_TRUE(recorded.executor->list.empty());
}

TEST(InterfaceCalls, PlanNothingThatADeviceCannotHold) {
  RecordedLibrary recorded;
  recorded.executor->resident = 0;
  const draftproof_shape_rows_arguments right = right_shaping();
  const draftproof_result result = draftproof_shape_rows_plan(&recorded.library, &right, nullptr);
  EXPECT_EQ(result.code, DRAFTPROOF_UNSUPPORTED) << result.text;
}

TEST(InterfaceCalls, AskForNoWorkspaceOfSizesOutOfRange) {
  draftproof_shape_rows_arguments a = right_shaping();
  std::uint64_t bytes = 7;
  EXPECT_EQ(draftproof_shape_rows_workspace(&a, &bytes).code, DRAFTPROOF_OK);
  EXPECT_EQ(bytes, 0u);
  a.vocab_size = 0xffffffff;
  EXPECT_EQ(draftproof_shape_rows_workspace(&a, &bytes).code, DRAFTPROOF_OUT_OF_RANGE);
  EXPECT_EQ(draftproof_shape_rows_workspace(&a, nullptr).code, DRAFTPROOF_NULL_POINTER);
  EXPECT_EQ(draftproof_shape_rows_workspace(nullptr, &bytes).code, DRAFTPROOF_NULL_POINTER);
}

}  // namespace
}  // namespace draftproof::gpu::interface
