#include "gpu/verifier_buffers.h"

#include <algorithm>
#include <cstring>
#include <span>

#include "gpu/kernels/layout.h"
#include "gpu/kernels/status.cuh"
#include "reference/error.h"

namespace draftproof::gpu {
namespace {

using kernels::OutcomeRecord;
using kernels::RowRecord;

/// Kernels number statuses and reasons in lists of their own; what they write is read by value.
template <class Own, class Theirs>
constexpr bool same_number(Own own, Theirs theirs) {
  return static_cast<std::int64_t>(own) == static_cast<std::int64_t>(theirs);
}
static_assert(same_number(kernels::Status::kOk, reference::Status::kOk));
static_assert(same_number(kernels::Status::kNan, reference::Status::kNan));
static_assert(same_number(kernels::Status::kPositiveInfinity,
                          reference::Status::kPositiveInfinity));
static_assert(same_number(kernels::Status::kEmptyRow, reference::Status::kEmptyRow));
static_assert(same_number(kernels::Status::kRange, reference::Status::kRange));
static_assert(same_number(kernels::Status::kBadProbability, reference::Status::kBadProbability));
static_assert(same_number(kernels::Status::kDraftTokenRange, reference::Status::kDraftTokenRange));
static_assert(same_number(kernels::Status::kDraftMassZero, reference::Status::kDraftMassZero));
static_assert(same_number(kernels::Status::kMalformedTree, reference::Status::kMalformedTree));
static_assert(same_number(kernels::ReasonCode::kAccepted, reference::Reason::kAccepted));
static_assert(same_number(kernels::ReasonCode::kRecovered, reference::Reason::kRecovered));
static_assert(same_number(kernels::ReasonCode::kBonus, reference::Reason::kBonus));

/// What a byte reads as that the kernels should have written and did not.
constexpr std::byte kPoison{0xa5};

/// A word that is no reason: equal to none, so that it never passes for a right one.
constexpr auto kNoReason = static_cast<reference::Reason>(0xff);

template <class T>
std::vector<T> read_all(const Buffer& buffer) {
  std::vector<T> values(buffer.bytes() / sizeof(T));
  buffer.read(std::span<T>(values), kPoison);
  return values;
}

DevicePointer pointer_of(const Buffer& buffer) {
  return buffer.bytes() == 0 ? 0 : buffer.pointer();
}

}  // namespace

Upload::Upload(Device& device, const BufferImage& image, std::string_view label)
    : device_(device), buffer_(device, image.bytes.size(), label) {
  if (image.bytes.empty()) return;
  if (!device.observes()) {
    const std::vector<std::byte> poison(image.bytes.size(), kPoison);
    device.write(buffer_.pointer(), poison);
  }
  for (const BufferImage::Range& range : image.used)
    device.write(buffer_.pointer() + range.begin,
                 std::span(image.bytes).subspan(range.begin, range.end - range.begin));
}

bool Upload::read_back(const BufferImage& before, BufferImage& after) const {
  bool is_changed = false;
  after = before;
  for (const BufferImage::Range& range : before.used) {
    const auto bytes = std::span(after.bytes).subspan(range.begin, range.end - range.begin);
    device_.read(buffer_.pointer() + range.begin, bytes, kPoison);
    is_changed |= std::memcmp(bytes.data(), before.bytes.data() + range.begin, bytes.size()) != 0;
  }
  return is_changed;
}

VerifierInputs::VerifierInputs(Device& device, const PackedBatch& packed)
    : target_rows_(device, packed.target_rows, "target_rows"),
      draft_rows_(device, packed.draft_rows, "draft_rows"),
      draft_tokens_(device, packed.draft_tokens, "draft_tokens"),
      parents_(device, packed.parents, "parents"),
      parameters_(device, packed.parameters, "requests"),
      coins_(device, packed.coins, "coins") {}

void VerifierInputs::fill(const PackedBatch& packed, draftproof_verify_arguments& arguments) const {
  arguments.target_rows = target_rows_.pointer();
  arguments.target_row_stride = packed.target_row_stride;
  arguments.draft_rows = draft_rows_.pointer();
  arguments.draft_row_stride = draft_rows_.pointer() == 0 ? 0 : packed.draft_row_stride;
  arguments.draft_tokens = draft_tokens_.pointer();
  arguments.parents = parents_.pointer();
  arguments.requests = parameters_.pointer();
  arguments.coins = coins_.pointer();
  arguments.seed = packed.seed;
  arguments.draft_kind = static_cast<std::uint32_t>(packed.draft_kind);
  arguments.padded_draft_count = packed.padded_draft_count;
  arguments.vocab_size = packed.vocab_size;
}

void VerifierInputs::write_back(const PackedBatch& packed, reference::Batch& batch) const {
  PackedBatch after;
  bool is_changed = target_rows_.read_back(packed.target_rows, after.target_rows);
  is_changed |= draft_rows_.read_back(packed.draft_rows, after.draft_rows);
  is_changed |= draft_tokens_.read_back(packed.draft_tokens, after.draft_tokens);
  is_changed |= parents_.read_back(packed.parents, after.parents);
  is_changed |= parameters_.read_back(packed.parameters, after.parameters);
  is_changed |= coins_.read_back(packed.coins, after.coins);
  if (is_changed) unpack_changes(packed, after, batch);
}

VerifierOutputs::VerifierOutputs(Device& device, const PackedBatch& packed,
                                 std::size_t request_count, bool takes_trees)
    : slots_(packed.padded_draft_count + 1u),
      target_records_(device, request_count * slots_ * sizeof(RowRecord), "target_records"),
      draft_records_(device,
                     packed.draft_kind == kernels::DraftLawKind::kOneHot
                         ? 0
                         : request_count * packed.padded_draft_count * sizeof(RowRecord),
                     "draft_records"),
      tokens_(device, request_count * slots_ * sizeof(std::int32_t), "emitted_tokens"),
      reasons_(device, request_count * slots_ * sizeof(std::int32_t), "emitted_reasons"),
      nodes_(device,
             takes_trees ? request_count * packed.padded_draft_count * sizeof(std::int32_t) : 0,
             "accepted_nodes"),
      outcomes_(device, request_count * sizeof(OutcomeRecord), "outcomes") {
  if (device.observes()) return;
  for (const Buffer* buffer :
       {&target_records_, &draft_records_, &tokens_, &reasons_, &nodes_, &outcomes_})
    if (buffer->bytes() != 0)
      device.write(buffer->pointer(), std::vector<std::byte>(buffer->bytes(), kPoison));
}

void VerifierOutputs::fill(draftproof_verify_arguments& arguments) const {
  arguments.target_records = pointer_of(target_records_);
  arguments.draft_records = pointer_of(draft_records_);
  arguments.emitted_tokens = pointer_of(tokens_);
  arguments.emitted_reasons = pointer_of(reasons_);
  arguments.accepted_nodes = pointer_of(nodes_);
  arguments.outcomes = pointer_of(outcomes_);
}

std::vector<reference::RequestOutcome> VerifierOutputs::outcomes() const {
  const auto tokens = read_all<std::int32_t>(tokens_);
  const auto reasons = read_all<std::int32_t>(reasons_);
  const auto records = read_all<OutcomeRecord>(outcomes_);
  std::vector<reference::RequestOutcome> list(records.size());
  for (std::size_t r = 0; r < records.size(); ++r) {
    const OutcomeRecord& record = records[r];
    reference::RequestOutcome& outcome = list[r];
    outcome.accepted_count = static_cast<int>(record.accepted_count);
    outcome.status = static_cast<reference::Status>(record.status);
    outcome.status_position = static_cast<int>(record.status_position);
    const std::size_t count = std::min<std::size_t>(record.emitted_count, slots_);
    for (std::size_t i = r * slots_; i < r * slots_ + count; ++i) {
      const bool is_known = reasons[i] >= 0 && reasons[i] <= 2;
      outcome.emitted.push_back(
          {tokens[i], is_known ? static_cast<reference::Reason>(reasons[i]) : kNoReason});
    }
    if (record.emitted_count > slots_) outcome.emitted.push_back({kernels::kNoToken, kNoReason});
    // An engine that reads up to the first empty slot would take a token left behind the count.
    for (std::size_t i = r * slots_ + count; i < (r + 1) * slots_; ++i)
      if (tokens[i] != kernels::kNoToken) outcome.emitted.push_back({tokens[i], kNoReason});
  }
  read_nodes(list);
  return list;
}

void VerifierOutputs::read_nodes(std::vector<reference::RequestOutcome>& list) const {
  const auto nodes = read_all<std::int32_t>(nodes_);
  const std::size_t per_request = nodes.size() / list.size();
  for (std::size_t r = 0; r < list.size(); ++r)
    for (std::size_t i = 0; i < per_request; ++i) {
      const std::int32_t node = nodes[r * per_request + i];
      const bool is_due = static_cast<std::int64_t>(i) < list[r].accepted_count;
      if (is_due || node != kernels::kNoToken) list[r].accepted_nodes.push_back(node);
    }
}

std::uint32_t format_word(reference::LogitFormat format) {
  switch (format) {
    case reference::LogitFormat::kFloat32:
      return DRAFTPROOF_FLOAT32;
    case reference::LogitFormat::kBfloat16:
      return DRAFTPROOF_BFLOAT16;
    case reference::LogitFormat::kFloat16:
      return DRAFTPROOF_FLOAT16;
  }
  DRAFTPROOF_CHECK(false, "unknown format");
  return 0;
}

draftproof_shape_rows_arguments shaping_of(const draftproof_verify_arguments& arguments) {
  draftproof_shape_rows_arguments shaping{};
  shaping.target_rows = arguments.target_rows;
  shaping.target_row_stride = arguments.target_row_stride;
  shaping.draft_rows = arguments.draft_rows;
  shaping.draft_row_stride = arguments.draft_row_stride;
  shaping.draft_tokens = arguments.draft_tokens;
  shaping.parents = arguments.parents;
  shaping.requests = arguments.requests;
  shaping.target_records = arguments.target_records;
  shaping.draft_records = arguments.draft_records;
  shaping.format = arguments.format;
  shaping.draft_kind = arguments.draft_kind;
  shaping.request_count = arguments.request_count;
  shaping.padded_draft_count = arguments.padded_draft_count;
  shaping.vocab_size = arguments.vocab_size;
  shaping.block_threads = arguments.block_threads;
  shaping.variant = DRAFTPROOF_SHAPING_GENERAL;
  return shaping;
}

}  // namespace draftproof::gpu
