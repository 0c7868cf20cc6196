// Goal: no argument of shape_rows, or of a chain over adjusted rows, that cannot be launched passes
// for one that can, and the text names the field. Method: sound arguments, spoilt one field at a
// time; what a sound one launches; and what packing adjustments refuses.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "gpu/adjustment_packing.h"
#include "gpu/launches/shaping.h"
#include "gpu/launches/verify_adjusted.h"
#include "reference/contract.h"
#include "reference/error.h"

namespace draftproof::gpu::launches {
namespace {

using testing::HasSubstr;
using testing::StartsWith;
using Arguments = draftproof_shape_rows_arguments;

constexpr std::uint64_t kMegabyte = 1 << 20;

/// 3 requests of up to 4 drafts over 1,000 tokens of bf16, adjusted.
Arguments sound() {
  Arguments arguments{};
  draftproof_pointer next = kMegabyte;
  draftproof_adjustments& lists = arguments.adjustments;
  for (draftproof_pointer* pointer :
       {&arguments.target_rows, &arguments.draft_rows, &arguments.draft_tokens, &arguments.parents,
        &arguments.requests, &arguments.target_records, &arguments.draft_records, &lists.requests,
        &lists.entries, &lists.words, &lists.tokens, &lists.masks}) {
    *pointer = next;
    next += kMegabyte;
  }
  lists.mask_stride = 32;
  arguments.target_row_stride = arguments.draft_row_stride = 1000;
  arguments.format = DRAFTPROOF_BFLOAT16;
  arguments.request_count = 3;
  arguments.padded_draft_count = 4;
  arguments.vocab_size = 1000;
  return arguments;
}

/// The same without adjustments, for `variant`.
Arguments sound(draftproof_shaping_variant variant) {
  Arguments arguments = sound();
  arguments.adjustments = {};
  arguments.parents = 0;
  arguments.variant = variant;
  if (variant != DRAFTPROOF_SHAPING_SPLIT) return arguments;
  arguments.workspace = 64 * kMegabyte;
  arguments.workspace_bytes = workspace_bytes(arguments);
  return arguments;
}

struct Spoilt {
  std::function<void(Arguments&)> spoil;
  std::int32_t code;
  const char* field;
};

void expect_refusals(const Arguments& right, const std::vector<Spoilt>& all) {
  EXPECT_EQ(check(right).code, DRAFTPROOF_OK) << check(right).text;
  for (const Spoilt& one : all) {
    Arguments arguments = right;
    one.spoil(arguments);
    const draftproof_result result = check(arguments);
    EXPECT_EQ(result.code, one.code) << one.field << ": " << result.text;
    EXPECT_THAT(result.text, HasSubstr(one.field));
  }
}

TEST(ShapeRowsLaunch, RefusesSizesByTheirNames) {
  constexpr auto kRange = DRAFTPROOF_OUT_OF_RANGE;
  expect_refusals(
      sound(),
      {{[](Arguments& a) { a.format = 3; }, kRange, "format"},
       {[](Arguments& a) { a.draft_kind = 3; }, kRange, "draft_kind"},
       {[](Arguments& a) { a.vocab_size = 0; }, kRange, "vocab_size"},
       {[](Arguments& a) { a.vocab_size = (1 << 20) + 1; }, kRange, "vocab_size"},
       {[](Arguments& a) { a.request_count = 0; }, kRange, "request_count"},
       {[](Arguments& a) { a.padded_draft_count = 65537; }, kRange, "padded_draft_count"},
       {[](Arguments& a) { a.variant = 4; }, kRange, "variant"},
       {[](Arguments& a) { a.blocks_per_row = 65; }, kRange, "blocks_per_row"},
       {[](Arguments& a) { a.block_threads = 33; }, kRange, "block_threads"},
       {[](Arguments& a) { a.block_threads = 1024; }, kRange, "block_threads"},
       {[](Arguments& a) { a.target_row_stride = 999; }, kRange, "target_row_stride"},
       {[](Arguments& a) { a.draft_row_stride = 999; }, kRange, "draft_row_stride"},
       {[](Arguments& a) { a.draft_kind = 2; }, kRange, "draft_row_stride"},
       {[](Arguments& a) { a.adjustments.mask_stride = 31; }, kRange, "mask_stride"},
       {[](Arguments& a) { a.request_count = 0x7fffffff; }, DRAFTPROOF_TOO_LARGE, "request_count"},
       {[](Arguments& a) { a.target_row_stride = std::uint64_t{1} << 62; }, DRAFTPROOF_TOO_LARGE,
        "target_row_stride"},
       {[](Arguments& a) { a.draft_row_stride = std::uint64_t{1} << 62; }, DRAFTPROOF_TOO_LARGE,
        "draft_row_stride"},
       {[](Arguments& a) { a.adjustments.mask_stride = std::uint64_t{1} << 61; },
        DRAFTPROOF_TOO_LARGE, "mask_stride"}});
}

TEST(ShapeRowsLaunch, RefusesPointersByTheirNames) {
  constexpr auto kNull = DRAFTPROOF_NULL_POINTER;
  constexpr auto kMisaligned = DRAFTPROOF_MISALIGNED;
  expect_refusals(sound(),
                  {{[](Arguments& a) { a.target_rows = 0; }, kNull, "target_rows"},
                   {[](Arguments& a) { a.draft_rows = 0; }, kNull, "draft_rows"},
                   {[](Arguments& a) { a.draft_tokens = 0; }, kNull, "draft_tokens"},
                   {[](Arguments& a) { a.requests = 0; }, kNull, "requests"},
                   {[](Arguments& a) { a.target_records = 0; }, kNull, "target_records"},
                   {[](Arguments& a) { a.draft_records = 0; }, kNull, "draft_records"},
                   {[](Arguments& a) { a.target_rows += 1; }, kMisaligned, "target_rows"},
                   {[](Arguments& a) { a.draft_rows += 1; }, kMisaligned, "draft_rows"},
                   {[](Arguments& a) { a.draft_tokens += 2; }, kMisaligned, "draft_tokens"},
                   {[](Arguments& a) { a.parents += 2; }, kMisaligned, "parents"},
                   {[](Arguments& a) { a.requests += 4; }, kMisaligned, "requests"},
                   {[](Arguments& a) { a.target_records += 4; }, kMisaligned, "target_records"},
                   {[](Arguments& a) { a.draft_records += 4; }, kMisaligned, "draft_records"},
                   {[](Arguments& a) { a.adjustments.entries += 2; }, kMisaligned, "adjustments"},
                   {[](Arguments& a) { a.adjustments.masks += 1; }, kMisaligned, "adjustments"},
                   {[](Arguments& a) { a.target_records = a.target_rows + 8; }, DRAFTPROOF_OVERLAP,
                    "target_records"},
                   {[](Arguments& a) { a.draft_records = a.adjustments.masks + 8; },
                    DRAFTPROOF_OVERLAP, "draft_records"},
                   {[](Arguments& a) { a.target_records = a.adjustments.requests + 232; },
                    DRAFTPROOF_OVERLAP, "target_records"}});
}

TEST(ShapeRowsLaunch, RefusesWhatNoVariantServes) {
  expect_refusals(sound(), {{[](Arguments& a) { a.variant = DRAFTPROOF_SHAPING_BY_KEY; },
                             DRAFTPROOF_UNSUPPORTED, "adjustments"},
                            {[](Arguments& a) { a.variant = DRAFTPROOF_SHAPING_SPLIT; },
                             DRAFTPROOF_UNSUPPORTED, "adjustments"}});
  expect_refusals(
      sound(DRAFTPROOF_SHAPING_BY_KEY),
      {{[](Arguments& a) { a.format = DRAFTPROOF_FLOAT32; }, DRAFTPROOF_UNSUPPORTED, "by key"}});
  expect_refusals(
      sound(DRAFTPROOF_SHAPING_SPLIT),
      {{[](Arguments& a) { a.workspace = 0; }, DRAFTPROOF_NULL_POINTER, "workspace"},
       {[](Arguments& a) { a.workspace += 64; }, DRAFTPROOF_MISALIGNED, "workspace"},
       {[](Arguments& a) { --a.workspace_bytes; }, DRAFTPROOF_WORKSPACE_TOO_SMALL, "workspace"},
       {[](Arguments& a) { a.workspace = a.requests; }, DRAFTPROOF_OVERLAP, "workspace"}});
}

TEST(ShapeRowsLaunch, TakesDraftsWithoutRowsAndRequestsWithoutDrafts) {
  Arguments arguments = sound();
  arguments.draft_kind = 2;
  arguments.draft_rows = arguments.draft_records = arguments.draft_row_stride = 0;
  EXPECT_EQ(check(arguments).code, DRAFTPROOF_OK) << check(arguments).text;
  EXPECT_EQ(launch_of(arguments).grid.x, 15U);
  arguments.padded_draft_count = 0;
  arguments.draft_tokens = arguments.parents = 0;
  EXPECT_EQ(check(arguments).code, DRAFTPROOF_OK) << check(arguments).text;
  EXPECT_EQ(launch_of(arguments).grid.x, 3U);
  // Drafts that would have rows have none either where no token is drafted.
  arguments.draft_kind = 0;
  EXPECT_EQ(check(arguments).code, DRAFTPROOF_OK) << check(arguments).text;
  EXPECT_EQ(launch_of(arguments).grid.x, 3U);
}

TEST(ShapeRowsLaunch, LaunchesTheVariantThatIsAskedFor) {
  const Arguments adjusted = sound();
  EXPECT_STREQ(launch_of(adjusted).entry, "draftproof_shape_adjusted_rows_bf16");
  EXPECT_EQ(launch_of(adjusted).grid.x, 27U);
  const Arguments plain = sound(DRAFTPROOF_SHAPING_CHOSEN);
  EXPECT_STREQ(launch_of(plain).entry, "draftproof_shape_rows_bf16");
  EXPECT_EQ(launch_of(plain).argument_count, 13U);
  const Arguments by_key = sound(DRAFTPROOF_SHAPING_BY_KEY);
  EXPECT_STREQ(launch_of(by_key).entry, "draftproof_shape_rows_by_key_bf16");
  EXPECT_EQ(launch_of(by_key).dynamic_shared_bytes, 131072U);
  Arguments split = sound(DRAFTPROOF_SHAPING_SPLIT);
  EXPECT_EQ(split.workspace_bytes, 27U * DRAFTPROOF_SPLIT_ROW_BYTES);
  split.blocks_per_row = 5;
  EXPECT_STREQ(launch_of(split).module, "shaping_split");
  EXPECT_EQ(launch_of(split).grid.x, 135U);
}

TEST(ShapeRowsLaunch, SplitsFewLongRowsWhereItHasAWorkspace) {
  Arguments arguments = sound(DRAFTPROOF_SHAPING_CHOSEN);
  arguments.vocab_size = 128256;
  arguments.target_row_stride = arguments.draft_row_stride = 128256;
  EXPECT_EQ(variant_of(arguments), DRAFTPROOF_SHAPING_GENERAL);
  EXPECT_EQ(workspace_bytes(arguments), 27U * DRAFTPROOF_SPLIT_ROW_BYTES);
  arguments.workspace = 4096 * kMegabyte;
  EXPECT_EQ(variant_of(arguments), DRAFTPROOF_SHAPING_SPLIT);
  arguments.request_count = 100;
  EXPECT_EQ(variant_of(arguments), DRAFTPROOF_SHAPING_GENERAL);
  EXPECT_EQ(workspace_bytes(arguments), 0U);
}

TEST(AdjustedChainLaunch, RefusesWhatItCannotLaunch) {
  const Arguments shaped = sound();
  draftproof_verify_adjusted_arguments right{};
  draftproof_verify_arguments& verify = right.verify;
  verify.target_rows = shaped.target_rows;
  verify.draft_rows = shaped.draft_rows;
  verify.draft_tokens = shaped.draft_tokens;
  verify.requests = shaped.requests;
  verify.target_records = shaped.target_records;
  verify.draft_records = shaped.draft_records;
  verify.emitted_tokens = 20 * kMegabyte;
  verify.emitted_reasons = 21 * kMegabyte;
  verify.outcomes = 22 * kMegabyte;
  verify.target_row_stride = verify.draft_row_stride = verify.vocab_size = 1000;
  verify.format = DRAFTPROOF_BFLOAT16;
  verify.request_count = 3;
  verify.padded_draft_count = 4;
  right.adjustments = shaped.adjustments;
  EXPECT_EQ(check(right).code, DRAFTPROOF_OK) << check(right).text;
  EXPECT_STREQ(launch_of(right).entry, "draftproof_verify_adjusted_chain_bf16");
  EXPECT_EQ(launch_of(right).grid.x, 3U);

  auto wrong = right;
  wrong.verify.block_threads = 1024;
  EXPECT_THAT(check(wrong).text, StartsWith("verify.block_threads"));
  wrong = right;
  wrong.adjustments.requests = 0;
  EXPECT_THAT(check(wrong).text, StartsWith("adjustments.requests is null"));
  wrong = right;
  wrong.adjustments.masks = verify.outcomes;
  EXPECT_EQ(check(wrong).code, DRAFTPROOF_OVERLAP);
  wrong = right;
  wrong.verify.target_rows = 0;
  EXPECT_EQ(check(wrong).code, DRAFTPROOF_NULL_POINTER);
}

TEST(AdjustmentPacking, ListsEachTouchedTokenOnceInOrder) {
  AdjustedRequest request;
  request.history = {{7, 3}, {3, 9, 3}, {}};
  request.adjustments.penalties.repetition = 1.5;
  request.adjustments.logit_bias = {{5, 0.5}, {3, -1}};
  request.appended_count = 1;
  const auto packed =
      pack_adjustments(std::vector{request}, reference::contract("vllm").adjustments, 10, 2);
  ASSERT_EQ(packed.entries.size(), 4U);
  const std::uint32_t ids[] = {3, 5, 7, 9};
  const std::uint32_t repetitions[] = {2, 0, 1, 1};  // the last 3 is in the tail
  const std::uint32_t occurrences[] = {1, 0, 0, 1};
  for (std::size_t i = 0; i < 4; ++i) {
    EXPECT_EQ(packed.entries[i].id, ids[i]);
    EXPECT_EQ(packed.entries[i].repetition_count, repetitions[i]);
    EXPECT_EQ(packed.entries[i].frequency_count, occurrences[i]);
  }
  EXPECT_EQ(packed.requests[0].tail_count, 1U);
  EXPECT_EQ(packed.requests[0].tail_counted, 0U);
  EXPECT_TRUE(packed.masks.empty());
}

TEST(AdjustmentPacking, RefusesWhatIsNoAdjustment) {
  const auto& rule = reference::contract("default").adjustments;
  AdjustedRequest request;
  request.row_masks = {std::vector<bool>(9)};
  EXPECT_THROW(pack_adjustments(std::vector{request}, rule, 10, 0), Error);
  request.row_masks = {};
  request.adjustments.logit_bias = {{10, 1}};
  EXPECT_THROW(pack_adjustments(std::vector{request}, rule, 10, 0), Error);
  request.adjustments.logit_bias = {};
  request.history.committed = {-1};
  EXPECT_THROW(pack_adjustments(std::vector{request}, rule, 10, 0), Error);
}

TEST(ShapeRowsLaunch, FractionBitsFollowTheVocabulary) {
  EXPECT_EQ(fraction_bits_of(1), 44u);
  EXPECT_EQ(fraction_bits_of(1u << 18), 44u);
  EXPECT_EQ(fraction_bits_of((1u << 18) + 1), 43u);
  EXPECT_EQ(fraction_bits_of(1u << 19), 43u);
  EXPECT_EQ(fraction_bits_of(1u << 20), 42u);
}

}  // namespace
}  // namespace draftproof::gpu::launches
