// Goal: one captured launch of fused acceptance serves batch after batch. Method: buffers,
// workspace and arguments are made once; only what lies in device memory changes between launches:
// how many requests there are (none, too), rows, tokens, parameters, which requests' drafts have no
// rows. The workspace is zeroed once. And what a launch reads is held against the floor.
#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <vector>

#include "gpu/emulated_device.h"
#include "gpu/fused_verifier.h"
#include "gpu/kernel_modules.h"
#include "gpu/launches/acceptance.h"
#include "gpu/packed_batch.h"
#include "reference/verify/verifiers.h"
#include "tests/differential/parity.h"
#include "tests/differential/random_batch.h"

namespace draftproof::tests {
namespace {

constexpr std::uint32_t kRequests = 5;
constexpr std::uint32_t kDrafts = 4;
constexpr std::uint32_t kVocab = 100;
/// As pack() lays rows out when it is told the number of slots.
constexpr std::uint64_t kStride = kVocab + 3;

/// Everything that a captured launch holds on to.
class CapturedLaunch {
 public:
  CapturedLaunch(std::uint32_t team_size, std::uint32_t block_capacity, std::uint32_t rows_ahead)
      : device_(gpu::make_emulated_device()),
        modules_(*device_, gpu::embedded_texts()),
        target_rows_(*device_, kRequests * (kDrafts + 1) * kStride * 4, "target_rows"),
        draft_rows_(*device_, kRequests * kDrafts * kStride * 4, "draft_rows"),
        tokens_(*device_, kRequests * kDrafts * 4, "draft_tokens"),
        requests_(*device_, kRequests * sizeof(draftproof_request), "requests"),
        request_count_(*device_, 4, "request_count"),
        emitted_(*device_, kRequests * (kDrafts + 1) * 4, "emitted_tokens"),
        reasons_(*device_, kRequests * (kDrafts + 1) * 4, "emitted_reasons"),
        outcomes_(*device_, kRequests * sizeof(draftproof_outcome), "outcomes") {
    draftproof_acceptance_arguments& a = arguments_;
    a.target_rows = target_rows_.pointer();
    a.target_row_stride = a.draft_row_stride = kStride;
    a.draft_rows = draft_rows_.pointer();
    a.draft_tokens = tokens_.pointer();
    a.requests = requests_.pointer();
    a.request_count = request_count_.pointer();
    a.seed = 77;
    a.emitted_tokens = emitted_.pointer();
    a.emitted_reasons = reasons_.pointer();
    a.outcomes = outcomes_.pointer();
    a.request_capacity = kRequests;
    a.padded_draft_count = kDrafts;
    a.vocab_size = kVocab;
    a.format = DRAFTPROOF_FLOAT32;
    a.draft_kind = DRAFTPROOF_DRAFT_LOGITS;
    EXPECT_EQ(gpu::launches::divide(a, {block_capacity, 64, 64 * 1024}).code, DRAFTPROOF_OK);
    a.team_size = team_size;
    a.block_count = block_capacity / team_size * team_size;
    a.rows_ahead = rows_ahead;
    a.shared_bytes = static_cast<std::uint32_t>(gpu::launches::staged_bytes(a));
    a.workspace_bytes = gpu::launches::acceptance_workspace(a);
    workspace_ = std::make_unique<gpu::Buffer>(*device_, a.workspace_bytes, "workspace");
    const std::vector<std::byte> zeros(a.workspace_bytes);
    workspace_->write(std::span<const std::byte>(zeros));
    a.workspace = workspace_->pointer();
    EXPECT_EQ(gpu::launches::check(a).code, DRAFTPROOF_OK) << gpu::launches::check(a).text;
  }

  /// Replays the launch for `batch`; `has_rows`: whether a request's drafts have rows.
  gpu::LaunchReport replay(const reference::Batch& batch, const std::vector<bool>& has_rows,
                           std::uint64_t schedule_seed) {
    reference::Execution execution;
    execution.padded_draft_count = kDrafts;
    gpu::PackedBatch packed = gpu::pack(batch, reference::PhiloxCoins(77), execution, {});
    for (std::size_t r = 0; r < batch.requests.size(); ++r)
      if (!has_rows[r]) mark_one_hot(packed.parameters.bytes, r);
    const std::uint32_t count = static_cast<std::uint32_t>(batch.requests.size());
    request_count_.write(std::span<const std::uint32_t>(&count, 1));
    upload(packed.target_rows, target_rows_);
    upload(packed.draft_rows, draft_rows_);
    upload(packed.draft_tokens, tokens_);
    upload(packed.parameters, requests_);
    gpu::LaunchManner manner;
    manner.schedule_seed = schedule_seed;
    return modules_.launch(gpu::launches::launch_of(arguments_), manner);
  }

  /// The emitted tokens and the outcome of a request, as the reference would say it.
  reference::RequestOutcome outcome(std::size_t request) const {
    std::vector<std::int32_t> tokens(emitted_.bytes() / 4), reasons(reasons_.bytes() / 4);
    std::vector<draftproof_outcome> records(kRequests);
    emitted_.read(std::span(tokens), std::byte{0xa5});
    reasons_.read(std::span(reasons), std::byte{0xa5});
    outcomes_.read(std::span(records), std::byte{0xa5});
    reference::RequestOutcome result;
    result.accepted_count = static_cast<int>(records[request].accepted_count);
    result.status = static_cast<reference::Status>(records[request].status);
    result.status_position = static_cast<int>(records[request].status_position);
    for (std::uint32_t i = 0; i < records[request].emitted_count; ++i) {
      const std::size_t slot = request * (kDrafts + 1) + i;
      result.emitted.push_back({tokens[slot], static_cast<reference::Reason>(reasons[slot])});
    }
    return result;
  }

 private:
  static void mark_one_hot(std::vector<std::byte>& parameters, std::size_t request) {
    draftproof_request own;
    std::byte* at = parameters.data() + request * sizeof(own);
    std::memcpy(&own, at, sizeof(own));
    own.flags |= gpu::kernels::kOneHotDraft;
    std::memcpy(at, &own, sizeof(own));
  }

  void upload(const gpu::BufferImage& image, const gpu::Buffer& to) {
    for (const gpu::BufferImage::Range& range : image.used)
      device_->write(to.pointer() + range.begin,
                     std::span(image.bytes).subspan(range.begin, range.end - range.begin));
  }

  std::unique_ptr<gpu::Device> device_;
  gpu::KernelModules modules_;
  gpu::Buffer target_rows_, draft_rows_, tokens_, requests_, request_count_, emitted_, reasons_,
      outcomes_;
  std::unique_ptr<gpu::Buffer> workspace_;
  draftproof_acceptance_arguments arguments_{};
};

/// What the reference says of one request, whose drafts have rows or not.
reference::RequestOutcome expected_of(const reference::Batch& batch, std::size_t request,
                                      bool has_rows) {
  reference::Batch alone = batch;
  alone.requests = {batch.requests[request]};
  if (!has_rows) {
    alone.draft_kind = reference::RowKind::kOneHot;
    alone.requests[0].proposal.rows.clear();
  }
  return reference::verify::make_verifier("chain")
      ->verify(alone, reference::PhiloxCoins(77), {})
      .requests.at(0);
}

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
    CapturedLaunch launch(division.team_size, division.block_capacity, division.rows_ahead);
    RandomCases cases(division.team_size, {kVocab, kVocab, kRequests, kDrafts});
    int replays = 0;
    for (std::uint64_t seed = 0; replays < 25; ++seed) {
      reference::Batch batch = cases.next().batch;
      if (batch.draft_kind != reference::RowKind::kLogits ||
          batch.format != reference::LogitFormat::kFloat32)
        continue;
      ++replays;
      if (replays % 8 == 0) batch.requests.clear();
      std::vector<bool> has_rows;
      for (std::size_t r = 0; r < batch.requests.size(); ++r)
        has_rows.push_back((seed + r) % 3 != 0);
      const gpu::LaunchReport report = launch.replay(batch, has_rows, seed);
      for (const auto& observation : report.observations)
        ADD_FAILURE() << observation.check << ": " << observation.message;
      for (std::size_t r = 0; r < batch.requests.size(); ++r)
        ASSERT_EQ(to_text(launch.outcome(r)), to_text(expected_of(batch, r, has_rows[r])))
            << "replay " << replays << ", request " << r;
    }
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
