// Goal: fused acceptance divides its work soundly, asks for what it needs, refuses what no launch
// could serve, by field and remedy, and answers a batch with one launch.
#include "gpu/launches/acceptance.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <string>

#include "gpu/emulated_device.h"
#include "gpu/fused_verifier.h"
#include "gpu/kernels/layout.h"

namespace draftproof::gpu {
namespace {

using Arguments = draftproof_acceptance_arguments;

/// 16 requests of four drafts at the vocabulary of a large model; addresses far apart.
Arguments sound_arguments() {
  Arguments a{};
  std::uint64_t next = 0;
  for (draftproof_pointer Arguments::*field :
       {&Arguments::target_rows, &Arguments::draft_rows, &Arguments::draft_tokens,
        &Arguments::requests, &Arguments::draft_records, &Arguments::coins,
        &Arguments::request_count, &Arguments::kv_lengths, &Arguments::emitted_tokens,
        &Arguments::emitted_reasons, &Arguments::outcomes, &Arguments::kv_plans,
        &Arguments::workspace})
    a.*field = next += std::uint64_t{1} << 32;
  a.target_row_stride = a.draft_row_stride = 128256;
  a.request_capacity = 16;
  a.padded_draft_count = 4;
  a.vocab_size = 128256;
  a.format = DRAFTPROOF_BFLOAT16;
  a.draft_kind = DRAFTPROOF_DRAFT_LOGITS;
  EXPECT_EQ(launches::divide(a, {132, 1024, 200 * 1024}).code, DRAFTPROOF_OK);
  a.workspace_bytes = launches::acceptance_workspace(a);
  return a;
}

TEST(AcceptanceDivision, KeepsARowInAsFewBlocksAsHoldIt) {
  const Arguments a = sound_arguments();
  EXPECT_EQ(a.team_size, 2u);  // 250.5 KiB a row
  EXPECT_EQ(a.shared_bytes, 64128u * 2 + 16);
  EXPECT_EQ(a.block_count, 132u);  // 66 teams for 80 rows
  EXPECT_EQ(a.rows_ahead, 4u);
}

TEST(AcceptanceDivision, SpreadsFewRowsOverManyBlocks) {
  Arguments a = sound_arguments();
  a.request_capacity = 1;
  ASSERT_EQ(launches::divide(a, {132, 1024, 200 * 1024}).code, DRAFTPROOF_OK);
  EXPECT_EQ(a.team_size, 26u);
  EXPECT_EQ(a.block_count, 130u);
  EXPECT_EQ(a.rows_ahead, 5u);  // all at once
}

TEST(AcceptanceDivision, TakesRowsOfLargeBatchesInTurn) {
  Arguments a = sound_arguments();
  a.request_capacity = 256;
  ASSERT_EQ(launches::divide(a, {132, 1024, 200 * 1024}).code, DRAFTPROOF_OK);
  EXPECT_EQ(a.rows_ahead, 1u);
}

TEST(AcceptanceDivision, LeavesRowsWhereTheyLieThatNoTeamCanHold) {
  Arguments a = sound_arguments();
  ASSERT_EQ(launches::divide(a, {132, 1024, 1024}).code, DRAFTPROOF_OK);
  EXPECT_EQ(a.shared_bytes, 0u);
  EXPECT_STREQ(launches::launch_of(a).entry, "draftproof_chain_fused_streamed_bf16");
}

TEST(AcceptanceDivision, MakesRoomForDraftRowsThatAreShapedHere) {
  Arguments a = sound_arguments();
  const std::uint64_t one = launches::staged_bytes(a);
  a.draft_records = 0;
  EXPECT_EQ(launches::staged_bytes(a), 2 * one);
  a.draft_kind = DRAFTPROOF_DRAFT_PROBABILITIES;
  EXPECT_EQ(launches::staged_bytes(a), one);
}

TEST(AcceptanceDivision, RefusesADeviceThatHoldsNoBlock) {
  Arguments a = sound_arguments();
  EXPECT_EQ(launches::divide(a, {0, 1024, 0}).code, DRAFTPROOF_OUT_OF_RANGE);
}

TEST(AcceptanceLaunch, IsCooperativeAndOne) {
  const Arguments a = sound_arguments();
  ASSERT_EQ(launches::check(a).code, DRAFTPROOF_OK) << launches::check(a).text;
  const KernelLaunch launch = launches::launch_of(a);
  EXPECT_TRUE(launch.is_cooperative);
  EXPECT_EQ(launch.grid.x, a.block_count);
  EXPECT_EQ(launch.dynamic_shared_bytes, a.shared_bytes);
  EXPECT_STREQ(launch.entry, "draftproof_chain_fused_staged_bf16");
}

struct BadArguments {
  const char* name;
  draftproof_code code;
  const char* says;
  std::function<void(Arguments&)> spoil;
};

class AcceptanceCheck : public testing::TestWithParam<BadArguments> {};

TEST_P(AcceptanceCheck, RefusesByFieldAndRemedy) {
  Arguments a = sound_arguments();
  GetParam().spoil(a);
  const draftproof_result result = launches::check(a);
  EXPECT_EQ(result.code, GetParam().code) << result.text;
  EXPECT_THAT(result.text, testing::HasSubstr(GetParam().says));
}

INSTANTIATE_TEST_SUITE_P(
    Bad, AcceptanceCheck,
    testing::Values(BadArguments{"NullRows", DRAFTPROOF_NULL_POINTER, "target_rows",
                                 [](Arguments& a) { a.target_rows = 0; }},
                    BadArguments{"NullDraftRows", DRAFTPROOF_NULL_POINTER, "draft_rows",
                                 [](Arguments& a) { a.draft_rows = 0; }},
                    BadArguments{"NullWorkspace", DRAFTPROOF_NULL_POINTER, "workspace",
                                 [](Arguments& a) { a.workspace = 0; }},
                    BadArguments{"OddRows", DRAFTPROOF_MISALIGNED, "target_rows",
                                 [](Arguments& a) { ++a.target_rows; }},
                    BadArguments{"WorkspaceAt64", DRAFTPROOF_MISALIGNED, "workspace",
                                 [](Arguments& a) { a.workspace += 64; }},
                    BadArguments{"ShortStride", DRAFTPROOF_OUT_OF_RANGE, "target_row_stride",
                                 [](Arguments& a) { a.target_row_stride = a.vocab_size - 1; }},
                    BadArguments{
                        "HugeStride", DRAFTPROOF_TOO_LARGE, "target_row_stride",
                        [](Arguments& a) { a.target_row_stride = std::uint64_t{1} << 60; }},
                    BadArguments{"NoVocabulary", DRAFTPROOF_OUT_OF_RANGE, "vocab_size",
                                 [](Arguments& a) { a.vocab_size = 0; }},
                    BadArguments{"UnknownFormat", DRAFTPROOF_OUT_OF_RANGE, "format",
                                 [](Arguments& a) { a.format = 3; }},
                    BadArguments{"UnknownDraftKind", DRAFTPROOF_OUT_OF_RANGE, "draft_kind",
                                 [](Arguments& a) { a.draft_kind = 3; }},
                    BadArguments{"OddBlock", DRAFTPROOF_OUT_OF_RANGE, "block_threads",
                                 [](Arguments& a) { a.block_threads = 48; }},
                    BadArguments{"TeamOf33", DRAFTPROOF_OUT_OF_RANGE, "team_size",
                                 [](Arguments& a) { a.team_size = 33; }},
                    BadArguments{"PartOfATeam", DRAFTPROOF_OUT_OF_RANGE, "block_count",
                                 [](Arguments& a) { --a.block_count; }},
                    BadArguments{"MoreBlocksThanResident", DRAFTPROOF_OUT_OF_RANGE, "resident",
                                 [](Arguments& a) { a.block_capacity = a.block_count - 1; }},
                    BadArguments{"NoRowAhead", DRAFTPROOF_OUT_OF_RANGE, "rows_ahead",
                                 [](Arguments& a) { a.rows_ahead = 0; }},
                    BadArguments{"SmallRoom", DRAFTPROOF_OUT_OF_RANGE, "shared_bytes",
                                 [](Arguments& a) { --a.shared_bytes; }},
                    BadArguments{"OutputOverInput", DRAFTPROOF_OVERLAP, "overlaps",
                                 [](Arguments& a) { a.kv_plans = a.requests + 64; }},
                    BadArguments{"SmallWorkspace", DRAFTPROOF_WORKSPACE_TOO_SMALL,
                                 "acceptance_workspace", [](Arguments& a) { --a.workspace_bytes; }},
                    BadArguments{"TooManyRows", DRAFTPROOF_OUT_OF_RANGE, "2^31",
                                 [](Arguments& a) { a.request_capacity = 0x7fffffff; }}),
    [](const auto& info) { return std::string(info.param.name); });

TEST(AcceptanceLaunch, AnswersAnyBatchWithOneLaunch) {
  if (!kernels_are_embedded()) GTEST_SKIP() << "this build has no own kernels";
  const auto device = make_emulated_device();
  FusedVerifier verifier(*device, "chain");
  EXPECT_EQ(verifier.traits().name, "fused");
  for (const std::size_t count : {1u, 7u, 40u}) {
    reference::Batch batch;
    batch.vocab_size = 3;
    batch.preset = reference::presets().front();
    batch.draft_kind = reference::RowKind::kOneHot;
    reference::Request request;
    request.proposal.tokens = {2, 0};
    request.target_rows = {{-9, -9, 9}, {9, -9, -9}, {-9, 9, -9}};
    batch.requests.assign(count, request);
    reference::Execution execution;
    execution.block_threads = 32;
    const auto outcome = verifier.verify(batch, reference::PhiloxCoins(7), execution);
    EXPECT_EQ(outcome.counts.launches, 1u);
    EXPECT_EQ(outcome.requests.size(), count);
  }
}

/// Without the room that is asked for, the launch would wait for ever: the device says so.
TEST(AcceptanceLaunch, CannotRunWhereItsBlocksAreNotAllResident) {
  if (!kernels_are_embedded()) GTEST_SKIP() << "this build has no own kernels";
  EmulatedDeviceOptions options;
  options.blocks_in_flight = 2;
  const auto device = make_emulated_device(options);
  FusedDivision division;
  division.block_capacity = division.team_size = 3;
  FusedVerifier verifier(*device, "greedy", division);
  reference::Batch batch;
  batch.vocab_size = 64;
  batch.preset = reference::presets().front();
  batch.draft_kind = reference::RowKind::kOneHot;
  batch.requests.resize(1);
  batch.requests[0].target_rows = {reference::Row(64, 0.0f)};
  reference::Execution execution;
  execution.block_threads = 32;
  const auto outcome = verifier.verify(batch, reference::PhiloxCoins(7), execution);
  ASSERT_EQ(outcome.observations.size(), 1u);
  EXPECT_EQ(outcome.observations[0].check, "deadlock");
}

}  // namespace
}  // namespace draftproof::gpu
