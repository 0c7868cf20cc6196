// A launch of shape_rows, its records, and what the reference makes of the same rows.
#pragma once

#include <algorithm>
#include <bit>
#include <cstring>
#include <memory>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

#include "gpu/adjustment_packing.h"
#include "gpu/kernel_modules.h"
#include "gpu/kernels/layout.h"
#include "gpu/launches/shaping.h"
#include "gpu/packed_batch.h"
#include "reference/coin.h"
#include "reference/error.h"
#include "reference/shaping.h"

namespace draftproof::tests {

/// The arguments of one launch, and the buffers behind them.
class ShapingRun {
 public:
  ShapingRun(gpu::Device& device, const reference::Batch& batch,
             const reference::Execution& execution, const reference::Coins& coins)
      : device_(device), packed_(gpu::pack(batch, coins, execution, {})) {
    const std::uint64_t targets = batch.requests.size() * (packed_.padded_draft_count + 1);
    const std::uint64_t drafts = batch.requests.size() * packed_.padded_draft_count;
    const bool has_rows = packed_.draft_kind != gpu::kernels::DraftLawKind::kOneHot;
    arguments.target_rows = upload(packed_.target_rows, "target_rows");
    arguments.target_row_stride = packed_.target_row_stride;
    arguments.draft_rows = has_rows ? upload(packed_.draft_rows, "draft_rows") : 0;
    arguments.draft_row_stride = has_rows ? packed_.draft_row_stride : 0;
    arguments.draft_tokens = upload(packed_.draft_tokens, "draft_tokens");
    arguments.requests = upload(packed_.parameters, "requests");
    arguments.target_records = fresh(targets * sizeof(draftproof_row_record), "target_records");
    arguments.draft_records =
        has_rows ? fresh(drafts * sizeof(draftproof_row_record), "draft_records") : 0;
    arguments.format = static_cast<std::uint32_t>(batch.format);
    arguments.draft_kind = static_cast<std::uint32_t>(packed_.draft_kind);
    arguments.request_count = static_cast<std::uint32_t>(batch.requests.size());
    arguments.padded_draft_count = packed_.padded_draft_count;
    arguments.vocab_size = packed_.vocab_size;
    arguments.block_threads = static_cast<std::uint32_t>(execution.block_threads);
    manner_.schedule = execution.schedule;
    manner_.schedule_seed = execution.schedule_seed;
  }

  const gpu::PackedBatch& packed() const { return packed_; }

  void adjust(const gpu::PackedAdjustments& lists) {
    arguments.adjustments.requests = upload(lists.requests, "adjusted_requests");
    arguments.adjustments.entries = upload(lists.entries, "adjusted_tokens");
    arguments.adjustments.words = upload(lists.words, "bad_words");
    arguments.adjustments.tokens = upload(lists.tokens, "adjustment_tokens");
    arguments.adjustments.masks = upload(lists.masks, "grammar_masks");
    arguments.adjustments.mask_stride = lists.mask_stride;
  }

  void parents(const std::vector<std::int32_t>& parents) {
    arguments.parents = upload(parents, "parents");
  }

  void workspace() {
    arguments.workspace_bytes = gpu::launches::workspace_bytes(arguments);
    arguments.workspace = upload(std::vector<std::byte>(arguments.workspace_bytes), "workspace");
  }

  /// Launches; what the device saw, or what is wrong with the arguments, is an answer.
  std::optional<std::string> launch(gpu::KernelModules& modules) {
    const draftproof_result result = gpu::launches::check(arguments);
    if (result.code != DRAFTPROOF_OK) return result.text;
    return launch(modules, gpu::launches::launch_of(arguments));
  }
  std::optional<std::string> launch(gpu::KernelModules& modules, const gpu::KernelLaunch& launch) {
    const gpu::LaunchReport report = modules.launch(launch, manner_);
    warp_instructions = report.counts.warp_instructions;
    for (const auto& seen : report.observations)
      if (seen.severity == reference::Severity::kUnsafe)
        return seen.check + ": " + seen.message + " at " + seen.place.kernel + ", " +
               seen.place.source_file + ":" + std::to_string(seen.place.source_line);
    return std::nullopt;
  }

  /// The records of all rows in use up to a placeholder: targets, then drafts, by request.
  std::vector<draftproof_row_record> used_records(const reference::Batch& batch) const {
    std::vector<draftproof_row_record> records;
    for (std::size_t r = 0; r < batch.requests.size(); ++r) {
      const auto& tokens = batch.requests[r].proposal.tokens;
      for (std::size_t row = 0; row <= tokens.size(); ++row) {
        records.push_back(target_record(r, row));
        if (row == tokens.size()) break;
        if (arguments.draft_records != 0) records.push_back(draft_record(r, row));
        if (tokens[row] == reference::kPlaceholder) break;
      }
    }
    return records;
  }

  draftproof_row_record target_record(std::size_t request, std::size_t row) const {
    return record(arguments.target_records, request * (packed_.padded_draft_count + 1) + row);
  }
  draftproof_row_record draft_record(std::size_t request, std::size_t row) const {
    return record(arguments.draft_records, request * packed_.padded_draft_count + row);
  }

  /// A buffer that nobody has written; null when it is empty.
  draftproof_pointer fresh(std::size_t bytes, const char* label) {
    buffers_.emplace_back(device_, bytes, label);
    return bytes == 0 ? 0 : buffers_.back().pointer();
  }
  /// A buffer that holds what is given.
  draftproof_pointer upload(const gpu::BufferImage& image, const char* label) {
    const draftproof_pointer pointer = fresh(image.bytes.size(), label);
    for (const auto& range : image.used)
      device_.write(pointer + range.begin,
                    std::span(image.bytes).subspan(range.begin, range.end - range.begin));
    return pointer;
  }
  template <class T>
  draftproof_pointer upload(const std::vector<T>& values, const char* label) {
    const draftproof_pointer pointer = fresh(values.size() * sizeof(T), label);
    if (pointer != 0) device_.write(pointer, std::as_bytes(std::span(values)));
    return pointer;
  }
  template <class T>
  std::vector<T> read(draftproof_pointer from, std::size_t count) const {
    std::vector<T> values(count);
    if (count != 0) device_.read(from, std::as_writable_bytes(std::span(values)), std::byte{0xa5});
    return values;
  }

  draftproof_shape_rows_arguments arguments{};
  std::uint64_t warp_instructions = 0;

 private:
  draftproof_row_record record(draftproof_pointer records, std::size_t slot) const {
    draftproof_row_record result;
    device_.read(records + slot * sizeof(result), std::as_writable_bytes(std::span(&result, 1)),
                 std::byte{0xa5});
    return result;
  }

  gpu::Device& device_;
  gpu::PackedBatch packed_;
  std::vector<gpu::Buffer> buffers_;
  gpu::LaunchManner manner_;
};

/// The order of logits; -0 and +0 are one key.
inline std::uint32_t key_of(float logit) {
  const auto bits = std::bit_cast<std::uint32_t>(logit == 0 ? 0.0F : logit);
  return (bits >> 31) != 0 ? ~bits : bits | 0x80000000U;
}

/// What is wrong with the record of a row of logits whose law, by the reference, is `expected`.
inline std::optional<std::string> record_fault(const draftproof_row_record& record,
                                               const std::vector<float>& row,
                                               const reference::MassRow& expected) {
  std::ostringstream text;
  if (record.status != static_cast<std::uint32_t>(expected.status)) {
    text << "status " << record.status << " for " << reference::to_string(expected.status);
    return text.str();
  }
  if (expected.status != reference::Status::kOk) return std::nullopt;
  if (record.total != expected.total) {
    text << "total " << record.total << " for " << expected.total;
    return text.str();
  }
  const float maximum = *std::max_element(row.begin(), row.end());
  if (record.maximum != maximum) {
    text << "maximum " << record.maximum << " for " << maximum;
    return text.str();
  }
  const int bits = reference::fraction_bits(row.size());
  for (std::size_t id = 0; id < row.size(); ++id) {
    const std::uint32_t key = key_of(row[id]);
    const bool is_kept = key > record.cut_key || (key == record.cut_key && id <= record.cut_id);
    reference::Mass mass = 0;
    if (record.kind == static_cast<std::uint32_t>(gpu::kernels::LawKind::kOneHot))
      mass = id == record.cut_id ? 1 : 0;
    else if (is_kept)
      mass = reference::mass_of(row[id], record.maximum, record.scale, bits);
    if (mass == expected.mass[id]) continue;
    text << "mass " << mass << " of token " << id << " for " << expected.mass[id];
    return text.str();
  }
  return std::nullopt;
}

}  // namespace draftproof::tests
