// A captured launch of fused acceptance: buffers, workspace and arguments are made once, and only
// what lies in device memory changes from batch to batch.
#pragma once

#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "gpu/emulated_device.h"
#include "gpu/kernel_modules.h"
#include "gpu/launches/acceptance.h"
#include "gpu/packed_batch.h"
#include "reference/error.h"
#include "reference/verify/verifiers.h"
#include "tests/differential/parity.h"
#include "tests/differential/random_batch.h"

namespace draftproof::tests {

/// Everything that a captured launch holds on to.
class CapturedLaunch {
 public:
  static constexpr std::uint32_t kRequests = 5;
  static constexpr std::uint32_t kDrafts = 4;
  static constexpr std::uint32_t kVocab = 100;
  /// As pack() lays rows out when it is told the number of slots.
  static constexpr std::uint64_t kStride = kVocab + 3;
  static constexpr RandomCaseLimits kLimits{kVocab, kVocab, kRequests, kDrafts};

  CapturedLaunch(gpu::KernelTexts texts, std::uint32_t team_size, std::uint32_t block_capacity,
                 std::uint32_t rows_ahead)
      : device_(gpu::make_emulated_device()),
        modules_(*device_, std::move(texts)),
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
    require(gpu::launches::divide(a, {block_capacity, 64, 64 * 1024}));
    a.team_size = team_size;
    a.block_count = block_capacity / team_size * team_size;
    a.rows_ahead = rows_ahead;
    a.shared_bytes = static_cast<std::uint32_t>(gpu::launches::staged_bytes(a));
    a.workspace_bytes = gpu::launches::acceptance_workspace(a);
    workspace_ = std::make_unique<gpu::Buffer>(*device_, a.workspace_bytes, "workspace");
    const std::vector<std::byte> zeros(a.workspace_bytes);
    workspace_->write(std::span<const std::byte>(zeros));
    a.workspace = workspace_->pointer();
    require(gpu::launches::check(a));
  }

  /// Replays the launch for `batch`; `has_rows`: whether a request's drafts have rows; `beyond`: so
  /// many requests, and drafts of requests that use all slots, are claimed that are not there.
  gpu::LaunchReport replay(const reference::Batch& batch, const std::vector<bool>& has_rows,
                           std::uint64_t schedule_seed, std::uint32_t beyond = 0) {
    reference::Execution execution;
    execution.padded_draft_count = kDrafts;
    gpu::PackedBatch packed = gpu::pack(batch, reference::PhiloxCoins(77), execution, {});
    for (std::size_t r = 0; r < batch.requests.size(); ++r)
      if (!has_rows[r])
        change(packed.parameters.bytes, r,
               [](auto& own) { own.flags |= gpu::kernels::kOneHotDraft; });
    for (std::size_t r = 0; r < batch.requests.size(); ++r)
      if (batch.requests[r].proposal.tokens.size() == kDrafts)
        change(packed.parameters.bytes, r, [&](auto& own) { own.draft_count += beyond; });
    const auto count = static_cast<std::uint32_t>(batch.requests.size()) + beyond;
    request_count_.write(std::span<const std::uint32_t>(&count, 1));
    upload(packed.target_rows, target_rows_);
    upload(packed.draft_rows, draft_rows_);
    upload(packed.draft_tokens, tokens_);
    upload(packed.parameters, requests_);
    gpu::LaunchManner manner;
    manner.schedule_seed = schedule_seed;
    manner.warp_instruction_limit = 1 << 24;
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
    // A token behind the count is told, too: an engine reads on to the first empty slot.
    for (std::uint32_t i = 0; i <= kDrafts; ++i) {
      const std::size_t slot = request * (kDrafts + 1) + i;
      if (i < records[request].emitted_count || tokens[slot] != -1)
        result.emitted.push_back({tokens[slot], static_cast<reference::Reason>(reasons[slot])});
    }
    return result;
  }

 private:
  static void require(const draftproof_result& result) {
    if (result.code != DRAFTPROOF_OK) throw Error(ErrorKind::kInput, result.text);
  }

  template <class Change>
  static void change(std::vector<std::byte>& parameters, std::size_t request, Change change) {
    draftproof_request own;
    std::byte* at = parameters.data() + request * sizeof(own);
    std::memcpy(&own, at, sizeof(own));
    change(own);
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
inline reference::RequestOutcome expected_of(const reference::Batch& batch, std::size_t request,
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

/// What is wrong with one of `count` replays of one launch; nothing when all are right.
inline std::optional<std::string> replay_disparity(gpu::KernelTexts texts, std::uint32_t team_size,
                                                   std::uint32_t block_capacity,
                                                   std::uint32_t rows_ahead, int count) {
  CapturedLaunch launch(std::move(texts), team_size, block_capacity, rows_ahead);
  RandomCases cases(team_size, CapturedLaunch::kLimits);
  int replays = 0;
  for (std::uint64_t seed = 0; replays < count; ++seed) {
    reference::Batch batch = cases.next().batch;
    if (batch.draft_kind != reference::RowKind::kLogits ||
        batch.format != reference::LogitFormat::kFloat32)
      continue;
    if (++replays % 8 == 0) batch.requests.clear();
    std::vector<bool> has_rows;
    for (std::size_t r = 0; r < batch.requests.size(); ++r) has_rows.push_back((seed + r) % 3 != 0);
    const gpu::LaunchReport report = launch.replay(batch, has_rows, seed);
    const std::string place = "replay " + std::to_string(replays);
    for (const auto& observation : report.observations)
      return place + ": " + observation.check + ": " + observation.message;
    for (std::size_t r = 0; r < batch.requests.size(); ++r) {
      const std::string observed = to_text(launch.outcome(r));
      const std::string expected = to_text(expected_of(batch, r, has_rows[r]));
      if (observed != expected)
        return place + ", request " + std::to_string(r) + ":\n  expected " + expected +
               "\n  observed " + observed;
    }
  }
  return std::nullopt;
}

}  // namespace draftproof::tests
