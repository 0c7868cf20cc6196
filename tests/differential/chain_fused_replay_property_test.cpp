// Goal: one captured launch of fused acceptance serves batch after batch. Method: buffers,
// workspace and arguments are made once; only what lies in device memory changes between launches:
// how many requests there are (none, too), rows, tokens, parameters, which requests' drafts have no
// rows. The workspace is zeroed once. And what a launch reads is held against the floor.
#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "gpu/emulated_device.h"
#include "gpu/fused_verifier.h"
#include "reference/verify/verifiers.h"
#include "tests/differential/captured_launch.h"
#include "tests/differential/parity.h"
#include "tests/differential/random_batch.h"

namespace draftproof::tests {
namespace {

class ChainFusedReplay : public testing::Test {
 protected:
  void SetUp() override {
    if (!gpu::kernels_are_embedded()) GTEST_SKIP() << "this build has no own kernels";
  }
};

TEST_F(ChainFusedReplay, OneLaunchServesBatchAfterBatchWithoutClearing) {
  struct {
    std::uint32_t team_size, block_capacity, rows_ahead;
  } const divisions[] = {{1, 25, 5}, {3, 7, 1}, {2, 8, 2}};
  for (const auto& division : divisions) {
    const auto found = replay_disparity(gpu::embedded_texts(), division.team_size,
                                        division.block_capacity, division.rows_ahead, 25);
    EXPECT_FALSE(found) << *found;
  }
}

TEST_F(ChainFusedReplay, CountsBeyondTheCapacitiesAreTheCapacities) {
  CapturedLaunch launch(gpu::embedded_texts(), 2, 8, 2);
  RandomCases cases(9, CapturedLaunch::kLimits);
  int full_batches = 0;
  for (std::uint64_t seed = 0; full_batches < 3; ++seed) {
    const reference::Batch batch = cases.next().batch;
    if (batch.draft_kind != reference::RowKind::kLogits ||
        batch.format != reference::LogitFormat::kFloat32 ||
        batch.requests.size() != CapturedLaunch::kRequests)
      continue;
    ++full_batches;
    const std::vector<bool> has_rows(batch.requests.size(), true);
    EXPECT_TRUE(launch.replay(batch, has_rows, seed, 3).observations.empty());
    for (std::size_t r = 0; r < batch.requests.size(); ++r)
      EXPECT_EQ(to_text(launch.outcome(r)), to_text(expected_of(batch, r, true)));
  }
}

/// Two requests of two drafted tokens at the vocabulary of a large model, nothing filtered.
reference::Batch large_batch(std::uint64_t seed) {
  reference::Batch batch;
  batch.vocab_size = 128256;
  batch.preset = reference::presets().front();
  batch.draft_kind = reference::RowKind::kLogits;
  batch.format = reference::LogitFormat::kBfloat16;
  std::mt19937_64 engine(seed);
  std::normal_distribution<float> normal(0, 2);
  for (std::uint32_t id = 0; id < 2; ++id) {
    reference::Request request;
    request.id = id;
    for (int i = 0; i < 3; ++i) {
      reference::Row row(batch.vocab_size);
      for (float& logit : row) logit = reference::rounded_to(batch.format, normal(engine));
      // Of each request one row agrees with the drafter, and the next does not.
      const auto token = static_cast<reference::Token>(engine() % batch.vocab_size);
      row[static_cast<std::size_t>(token)] = i == 1 ? -30.0f : 30.0f;
      if (i < 2) {
        request.proposal.tokens.push_back(token);
        request.proposal.rows.push_back(row);
        request.proposal.rows.back()[static_cast<std::size_t>(token)] = 20;
      }
      request.target_rows.push_back(std::move(row));
    }
    batch.requests.push_back(std::move(request));
  }
  return batch;
}

TEST_F(ChainFusedReplay, ReadsLogitsOnceAndOneDraftRowARequest) {
  const auto device = gpu::make_emulated_device();
  for (const std::uint32_t rows_ahead : {1u, 3u}) {
    gpu::FusedDivision division;
    division.block_capacity = 12;
    division.rows_ahead = rows_ahead;
    division.has_draft_records = true;
    gpu::FusedVerifier subject(*device, "chain", division);
    reference::Batch batch = large_batch(5);
    reference::Execution execution;
    execution.block_threads = 512;
    const auto outcome = subject.verify(batch, reference::PhiloxCoins(3), execution);
    EXPECT_TRUE(outcome.observations.empty());
    std::uint64_t rows = 0;
    for (const auto& request : outcome.requests) {
      EXPECT_EQ(request.accepted_count, 1);
      EXPECT_EQ(request.emitted.back().reason, reference::Reason::kRecovered);
      // In turn, no row behind the rejection; at once, all of them; and the rejected draft row.
      rows += (rows_ahead == 1 ? 2u : 3u) + 1;
    }
    const std::uint64_t floor = rows * batch.vocab_size * 2;
    const std::uint64_t read = subject.report().global_bytes_read;
    EXPECT_GE(read, floor);
    EXPECT_LE(static_cast<double>(read), 1.05 * static_cast<double>(floor)) << rows_ahead;
    RecordProperty("read_over_floor_rows_ahead_" + std::to_string(rows_ahead),
                   std::to_string(static_cast<double>(read) / static_cast<double>(floor)));
    const auto expected =
        reference::verify::make_verifier("chain")->verify(batch, reference::PhiloxCoins(3), {});
    EXPECT_EQ(outcome.requests, expected.requests);
  }
}

}  // namespace
}  // namespace draftproof::tests
