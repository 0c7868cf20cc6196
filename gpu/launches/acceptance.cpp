#include "gpu/launches/acceptance.h"

#include <algorithm>
#include <array>
#include <span>

#include "gpu/launches/checks.h"

namespace draftproof::gpu::launches {
namespace {

using Arguments = draftproof_acceptance_arguments;

constexpr std::uint32_t kVocabSizeMax = 1u << 20;
constexpr std::uint32_t kDraftCountMax = 1u << 16;
constexpr std::uint64_t kRowCountMax = 0x7fffffffu;
/// Below this a slice is not worth a block: its sweeps are shorter than an exchange.
constexpr std::uint32_t kSliceLengthMin = 4096;
/// The workspace: a header, two areas a block (gpu/kernels/team.cuh), a word a target row.
constexpr std::uint64_t kHeaderBytes = 128;
constexpr std::uint64_t kAreaBytes = 2 * 2080;
constexpr std::uint64_t kVerdictBytes = 8;

draftproof_result out_of_range(const char* text) { return {DRAFTPROOF_OUT_OF_RANGE, text}; }

std::uint64_t element_bytes(const Arguments& a) { return a.format == DRAFTPROOF_FLOAT32 ? 4 : 2; }

std::uint64_t target_slots(const Arguments& a) {
  return std::uint64_t{a.request_capacity} * (std::uint64_t{a.padded_draft_count} + 1);
}
std::uint64_t draft_slots(const Arguments& a) {
  return std::uint64_t{a.request_capacity} * a.padded_draft_count;
}
bool has_draft_rows(const Arguments& a) {
  return a.draft_kind != DRAFTPROOF_DRAFT_ONE_HOT && a.padded_draft_count != 0;
}

draftproof_result check_sizes(const Arguments& a) {
  if (a.request_capacity == 0 || a.padded_draft_count > kDraftCountMax ||
      target_slots(a) > kRowCountMax)
    return out_of_range(
        "request_capacity must be at least 1, padded_draft_count at most 65536, and there may be "
        "no more than 2^31 - 1 target rows; launch in parts");
  if (a.vocab_size == 0 || a.vocab_size > kVocabSizeMax)
    return out_of_range("vocab_size must be 1 .. 2^20");
  if (a.format > DRAFTPROOF_FLOAT16)
    return out_of_range("format must be one of enum draftproof_logit_format");
  if (a.draft_kind > DRAFTPROOF_DRAFT_ONE_HOT)
    return out_of_range("draft_kind must be one of enum draftproof_draft_kind");
  if (a.reserved != 0) return out_of_range("reserved must be 0");
  return kGood;
}

draftproof_result check_division(const Arguments& a) {
  if (a.block_threads == 0 || a.block_threads % 32 != 0 || a.block_threads > 1024)
    return out_of_range("block_threads must be a multiple of 32 from 32 to 1024");
  if (a.team_size == 0 || a.team_size > DRAFTPROOF_TEAM_SIZE_MAX)
    return out_of_range("team_size must be 1 .. 32");
  if (a.block_count == 0 || a.block_count % a.team_size != 0)
    return out_of_range("block_count must be a multiple of team_size, at least one team");
  if (a.block_count > a.block_capacity)
    return out_of_range(
        "block_count exceeds block_capacity: blocks wait for each other and must all be resident; "
        "use fewer or smaller teams");
  if (a.rows_ahead == 0) return out_of_range("rows_ahead must be at least 1");
  if (a.shared_bytes != 0 && a.shared_bytes < staged_bytes(a))
    return out_of_range(
        "shared_bytes is less than a block's slices need; use larger teams, or 0 to read rows from "
        "global memory in every sweep");
  return kGood;
}

/// One buffer of a launch, as it is held against its contract.
struct Field {
  const char* null_text;  ///< null: it may be null
  const char* misaligned_text;
  draftproof_pointer pointer;
  std::uint64_t alignment;
  std::uint64_t bytes;  ///< 0: not touched
  bool is_written;
};

draftproof_result check_fields(std::span<const Field> fields) {
  constexpr std::size_t kFieldsMax = 16;
  std::array<Extent, kFieldsMax> extents{};
  std::size_t count = 0;
  for (const Field& field : fields) {
    if (field.bytes == 0) continue;
    if (field.pointer == 0 && field.null_text != nullptr)
      return {DRAFTPROOF_NULL_POINTER, field.null_text};
    if (!is_aligned(field.pointer, field.alignment))
      return {DRAFTPROOF_MISALIGNED, field.misaligned_text};
    extents[count++] = {field.pointer, field.bytes, field.is_written};
  }
  if (overlap(std::span(extents).first(count)))
    return {DRAFTPROOF_OVERLAP, "an output or the workspace overlaps another buffer"};
  return kGood;
}

draftproof_result check_buffers(const Arguments& a) {
  const std::uint64_t element = element_bytes(a);
  const std::uint64_t draft_element = a.draft_kind == DRAFTPROOF_DRAFT_PROBABILITIES ? 4 : element;
  if (a.target_row_stride < a.vocab_size)
    return out_of_range("target_row_stride must be at least vocab_size");
  if (has_draft_rows(a) && a.draft_row_stride < a.vocab_size)
    return out_of_range("draft_row_stride must be at least vocab_size");
  std::uint64_t target_bytes = 0, draft_bytes = 0;
  if (!strided_bytes(target_slots(a), a.target_row_stride, a.vocab_size, element, target_bytes))
    return {DRAFTPROOF_TOO_LARGE, "target_row_stride: the rows exceed 2^63 bytes"};
  if (has_draft_rows(a) &&
      !strided_bytes(draft_slots(a), a.draft_row_stride, a.vocab_size, draft_element, draft_bytes))
    return {DRAFTPROOF_TOO_LARGE, "draft_row_stride: the rows exceed 2^63 bytes"};
  const std::uint64_t requests = a.request_capacity;
  const std::uint64_t record_bytes =
      has_draft_rows(a) ? draft_slots(a) * sizeof(draftproof_row_record) : 0;
  const Field fields[] = {
      {"target_rows is null", "target_rows must be aligned to an element", a.target_rows, element,
       target_bytes, false},
      {"draft_rows is null: say draft_kind 2 where drafts have no rows",
       "draft_rows must be aligned to an element", a.draft_rows, draft_element, draft_bytes, false},
      {"draft_tokens is null", "draft_tokens must be aligned to 4", a.draft_tokens, 4,
       draft_slots(a) * 4, false},
      {"requests is null", "requests must be aligned to 8", a.requests, 8,
       requests * sizeof(draftproof_request), false},
      {nullptr, "draft_records must be aligned to 8", a.draft_records, 8, record_bytes, false},
      {nullptr, "coins must be aligned to 8", a.coins, 8, target_slots(a) * 24, false},
      {nullptr, "request_count must be aligned to 4", a.request_count, 4, 4, false},
      {nullptr, "kv_lengths must be aligned to 4", a.kv_lengths, 4, requests * 4, false},
      {"emitted_tokens is null", "emitted_tokens must be aligned to 4", a.emitted_tokens, 4,
       target_slots(a) * 4, true},
      {"emitted_reasons is null", "emitted_reasons must be aligned to 4", a.emitted_reasons, 4,
       target_slots(a) * 4, true},
      {"outcomes is null", "outcomes must be aligned to 4", a.outcomes, 4,
       requests * sizeof(draftproof_outcome), true},
      {nullptr, "kv_plans must be aligned to 4", a.kv_plans, 4,
       requests * sizeof(draftproof_kv_plan), true},
      {"workspace is null: allocate acceptance_workspace() bytes and zero them once",
       "workspace must be aligned to 128", a.workspace, 128, a.workspace_bytes, true},
  };
  return check_fields(fields);
}

}  // namespace

std::uint64_t staged_bytes(const Arguments& a) {
  const std::uint64_t team = std::max(a.team_size, 1u);
  const std::uint64_t elements = ((a.vocab_size + team - 1) / team + 7) / 8 * 8;
  const bool shapes_draft_logits =
      has_draft_rows(a) && a.draft_records == 0 && a.draft_kind == DRAFTPROOF_DRAFT_LOGITS;
  return (elements * element_bytes(a) + 16) * (shapes_draft_logits ? 2 : 1);
}

std::uint64_t acceptance_workspace(const Arguments& a) {
  return kHeaderBytes + kAreaBytes * a.block_count + kVerdictBytes * target_slots(a);
}

draftproof_result divide(Arguments& arguments, const AcceptanceRoom& room) {
  const draftproof_result sizes = check_sizes(arguments);
  if (sizes.code != DRAFTPROOF_OK) return sizes;
  if (room.block_capacity == 0)
    return out_of_range("block_capacity must be at least 1: no block fits on this device");
  Arguments divided = arguments;
  divided.block_capacity = room.block_capacity;
  divided.block_threads = room.block_threads;
  const std::uint32_t team_max =
      std::min<std::uint32_t>(room.block_capacity, DRAFTPROOF_TEAM_SIZE_MAX);
  const auto rows = static_cast<std::uint32_t>(target_slots(arguments));
  // More blocks than rows: share the rows out further, while slices stay worth a block.
  const std::uint32_t worth = (arguments.vocab_size + kSliceLengthMin - 1) / kSliceLengthMin;
  divided.team_size = std::clamp(std::min(room.block_capacity / rows, worth), 1u, team_max);
  while (divided.team_size < team_max && staged_bytes(divided) > room.shared_bytes_max)
    ++divided.team_size;
  const std::uint64_t staged = staged_bytes(divided);
  divided.shared_bytes = staged <= room.shared_bytes_max ? static_cast<std::uint32_t>(staged) : 0;
  // Rows that fit into no team's shared memory are read where they lie, by no larger team than the
  // number of rows asks for.
  if (divided.shared_bytes == 0)
    divided.team_size = std::clamp(std::min(room.block_capacity / rows, worth), 1u, team_max);
  const std::uint32_t teams = std::min(rows, room.block_capacity / divided.team_size);
  divided.block_count = teams * divided.team_size;
  divided.rows_ahead = std::max(1u, teams / arguments.request_capacity);
  const draftproof_result division = check_division(divided);
  if (division.code == DRAFTPROOF_OK) arguments = divided;
  return division;
}

draftproof_result check(const Arguments& arguments) {
  for (const auto part : {check_sizes, check_division, check_buffers}) {
    const draftproof_result result = part(arguments);
    if (result.code != DRAFTPROOF_OK) return result;
  }
  if (arguments.workspace_bytes < acceptance_workspace(arguments))
    return {DRAFTPROOF_WORKSPACE_TOO_SMALL,
            "workspace_bytes is less than acceptance_workspace() answers for these arguments"};
  return kGood;
}

KernelLaunch launch_of(const Arguments& arguments) {
  static constexpr const char* kEntries[2][3] = {
      {"draftproof_chain_fused_streamed_f32", "draftproof_chain_fused_streamed_bf16",
       "draftproof_chain_fused_streamed_f16"},
      {"draftproof_chain_fused_staged_f32", "draftproof_chain_fused_staged_bf16",
       "draftproof_chain_fused_staged_f16"}};
  KernelLaunch launch;
  launch.module = "chain_fused";
  launch.entry = kEntries[arguments.shared_bytes != 0 ? 1 : 0][arguments.format];
  launch.grid.x = arguments.block_count;
  launch.block.x = arguments.block_threads;
  launch.dynamic_shared_bytes = arguments.shared_bytes;
  launch.is_cooperative = true;
  launch.add(arguments);
  return launch;
}

}  // namespace draftproof::gpu::launches
