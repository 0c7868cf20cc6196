#include "gpu/launches/shaping.h"

#include <algorithm>
#include <array>
#include <bit>

#include "gpu/kernels/layout.h"
#include "gpu/launches/adjustments.h"
#include "gpu/launches/checks.h"
#include "gpu/launches/row_launch.h"

namespace draftproof::gpu::launches {
namespace {

using Arguments = draftproof_shape_rows_arguments;

constexpr std::uint32_t kFormats = 3;
constexpr std::uint32_t kDraftKinds = 3;
constexpr std::uint32_t kProbabilities = 1;
constexpr std::uint32_t kOneHot = 2;
constexpr std::uint32_t kVocabMax = 1u << 20;
constexpr std::uint32_t kDraftsMax = 65536;
constexpr std::uint64_t kRowsMax = 0x7fffffff;
constexpr std::uint32_t kVariants = 4;

constexpr draftproof_result fault(draftproof_code code, const char* text) { return {code, text}; }
bool is_good(const draftproof_result& result) { return result.code == DRAFTPROOF_OK; }

bool has_draft_rows(const Arguments& a) { return a.draft_kind != kOneHot; }
bool has_adjustments(const Arguments& a) { return a.adjustments.requests != 0; }
std::uint64_t row_count(const Arguments& a) {
  return target_slots(a) + (has_draft_rows(a) ? draft_slots(a) : 0);
}
/// Few long rows: a block a row would leave most of a device idle.
bool suits_split(const Arguments& a) { return row_count(a) <= 64 && a.vocab_size >= 16384; }
/// Blocks that share a row; a slice is worth a few thousand tokens.
std::uint64_t blocks_per_row(const Arguments& a) {
  if (variant_of(a) != DRAFTPROOF_SHAPING_SPLIT) return 1;
  if (a.blocks_per_row != 0) return a.blocks_per_row;
  return std::clamp<std::uint64_t>(a.vocab_size / 4096, 1, 32);
}
std::uint64_t draft_element_bytes(const Arguments& a) {
  return a.draft_kind == kProbabilities ? 4 : logit_bytes(a);
}
std::uint32_t block_threads_max(const Arguments& a) { return has_adjustments(a) ? 512 : 1024; }

draftproof_result check_sizes(const Arguments& a) {
  constexpr auto kRange = DRAFTPROOF_OUT_OF_RANGE;
  if (a.format >= kFormats) return fault(kRange, "format: give 0 (f32), 1 (bf16) or 2 (f16)");
  if (a.draft_kind >= kDraftKinds)
    return fault(kRange, "draft_kind: give 0 (logits), 1 (probabilities) or 2 (one-hot)");
  if (a.vocab_size == 0 || a.vocab_size > kVocabMax)
    return fault(kRange, "vocab_size: give 1 to 1,048,576");
  if (a.request_count == 0) return fault(kRange, "request_count: give at least 1");
  if (a.padded_draft_count > kDraftsMax)
    return fault(kRange, "padded_draft_count: give at most 65,536");
  if (a.variant >= kVariants)
    return fault(kRange, "variant: give 0 (chosen), 1 (general), 2 (by key) or 3 (split)");
  if (a.blocks_per_row > DRAFTPROOF_SPLIT_MAX)
    return fault(kRange, "blocks_per_row: give at most 64, or 0");
  if (a.block_threads % 32 != 0 || a.block_threads > block_threads_max(a))
    return fault(kRange,
                 "block_threads: give a multiple of 32 up to 1,024 (512 with adjustments), or 0");
  if (a.target_row_stride < a.vocab_size)
    return fault(kRange, "target_row_stride: give at least vocab_size");
  if (has_draft_rows(a) && a.padded_draft_count != 0 && a.draft_row_stride < a.vocab_size)
    return fault(kRange, "draft_row_stride: give at least vocab_size");
  if (!has_draft_rows(a) && a.draft_row_stride != 0)
    return fault(kRange, "draft_row_stride: give 0 for one-hot drafts, which have no rows");
  return kGood;
}

draftproof_result check_pointers(const Arguments& a) {
  constexpr auto kNull = DRAFTPROOF_NULL_POINTER;
  constexpr auto kMisaligned = DRAFTPROOF_MISALIGNED;
  const bool needs_draft_rows = has_draft_rows(a) && a.padded_draft_count != 0;
  if (a.target_rows == 0) return fault(kNull, "target_rows is null");
  if (a.requests == 0) return fault(kNull, "requests is null");
  if (a.target_records == 0) return fault(kNull, "target_records is null");
  if (needs_draft_rows && a.draft_rows == 0)
    return fault(kNull, "draft_rows is null; give rows, or draft_kind 2 (one-hot)");
  if (needs_draft_rows && a.draft_records == 0)
    return fault(kNull, "draft_records is null, and the drafts have rows");
  if (!has_draft_rows(a) && (a.draft_rows != 0 || a.draft_records != 0))
    return fault(DRAFTPROOF_OUT_OF_RANGE,
                 "draft_rows, draft_records: give null for one-hot drafts, which have no rows");
  if (has_adjustments(a) && a.draft_tokens == 0 && a.padded_draft_count != 0)
    return fault(kNull, "draft_tokens is null, and adjustments look drafted tokens up");
  if (!is_aligned(a.target_rows, logit_bytes(a)))
    return fault(kMisaligned, "target_rows: align to an element of `format`");
  if (!is_aligned(a.draft_rows, draft_element_bytes(a)))
    return fault(kMisaligned, "draft_rows: align to an element, 4 bytes for probabilities");
  if (!is_aligned(a.draft_tokens, 4) || !is_aligned(a.parents, 4))
    return fault(kMisaligned, "draft_tokens, parents: align to 4 bytes");
  if (!is_aligned(a.requests, 8)) return fault(kMisaligned, "requests: align to 8 bytes");
  if (!is_aligned(a.target_records, 8) || !is_aligned(a.draft_records, 8))
    return fault(kMisaligned, "target_records, draft_records: align to 8 bytes");
  return kGood;
}

draftproof_result check_adjustments(const Arguments& a) {
  return check(a.adjustments, adjusted_batch(a));
}

draftproof_result check_variant(const Arguments& a) {
  const draftproof_shaping_variant variant = variant_of(a);
  if (variant == DRAFTPROOF_SHAPING_BY_KEY && a.format == DRAFTPROOF_FLOAT32)
    return fault(DRAFTPROOF_UNSUPPORTED, "variant 2 (by key) takes bf16 and f16 only; give 0 or 1");
  if (variant != DRAFTPROOF_SHAPING_GENERAL && has_adjustments(a))
    return fault(DRAFTPROOF_UNSUPPORTED, "adjustments need variant 1 (general); give 0 or 1");
  if (variant != DRAFTPROOF_SHAPING_SPLIT) return kGood;
  if (a.workspace == 0)
    return fault(DRAFTPROOF_NULL_POINTER, "workspace is null; variant 3 (split) needs one");
  if (!is_aligned(a.workspace, 128))
    return fault(DRAFTPROOF_MISALIGNED, "workspace: align to 128 bytes");
  if (a.workspace_bytes < workspace_bytes(a))
    return fault(DRAFTPROOF_WORKSPACE_TOO_SMALL,
                 "workspace_bytes: give 2,432 bytes for each row slot, as the query says");
  return kGood;
}

/// Buffers that share bytes, and products that do not fit.
draftproof_result check_extents(const Arguments& a) {
  constexpr auto kLarge = DRAFTPROOF_TOO_LARGE;
  if (row_count(a) * blocks_per_row(a) > kRowsMax)
    return fault(kLarge, "request_count * padded_draft_count: at most 2^31 - 1 blocks a launch");
  std::uint64_t target_bytes = 0, draft_bytes = 0;
  if (!strided_bytes(target_slots(a), a.target_row_stride, a.vocab_size, logit_bytes(a),
                     target_bytes))
    return fault(kLarge, "target_row_stride: the rows do not fit in 63 bits");
  if (has_draft_rows(a) && !strided_bytes(draft_slots(a), a.draft_row_stride, a.vocab_size,
                                          draft_element_bytes(a), draft_bytes))
    return fault(kLarge, "draft_row_stride: the rows do not fit in 63 bits");
  if (!outputs_are_apart(
          a,
          {{{a.target_records, target_slots(a) * sizeof(draftproof_row_record), true},
            {a.draft_records, draft_slots(a) * sizeof(draftproof_row_record), true},
            {a.workspace, a.workspace_bytes, true}}},
          target_bytes, draft_bytes))
    return fault(DRAFTPROOF_OVERLAP,
                 "target_records, draft_records or workspace shares bytes with another buffer");
  return kGood;
}

/// 16-bit counts of all 65,536 values.
constexpr std::uint32_t kHistogramBytes = 65536 * 2;

/// A histogram is as long as it is, however few logits there are.
std::uint32_t block_threads_of(const Arguments& a) {
  if (a.block_threads != 0) return a.block_threads;
  if (variant_of(a) == DRAFTPROOF_SHAPING_BY_KEY) return 1024;
  return suitable_block_threads(a.vocab_size);
}

/// Arguments of a launch are looked at when it runs, so that a number of our own needs a place that
/// stays: fraction bits 0 .. 44.
const std::uint32_t& fraction_bits_for(const Arguments& a) {
  static constexpr auto kNumbers = [] {
    std::array<std::uint32_t, 45> numbers{};
    for (std::uint32_t i = 0; i < numbers.size(); ++i) numbers[i] = i;
    return numbers;
  }();
  return kNumbers[fraction_bits_of(a.vocab_size)];
}

/// The entries without adjustments take their arguments one by one.
void add_one_by_one(KernelLaunch& launch, const Arguments& a) {
  static constexpr draftproof_pointer kNull = 0;
  launch.add(a.target_rows);
  launch.add(a.target_row_stride);
  launch.add(a.draft_rows);
  launch.add(a.draft_row_stride);
  launch.add(a.parents != 0 ? kNull : a.draft_tokens);
  launch.add(a.requests);
  launch.add(a.target_records);
  launch.add(a.draft_records);
  launch.add(a.draft_kind);
  launch.add(a.request_count);
  launch.add(a.padded_draft_count);
  launch.add(a.vocab_size);
  launch.add(fraction_bits_for(a));
}

}  // namespace

std::uint32_t fraction_bits_of(std::uint32_t vocab_size) {
  if (vocab_size <= 1u << 18) return 44;
  return 62 - static_cast<std::uint32_t>(std::bit_width(vocab_size - 1));
}

draftproof_result check(const Arguments& arguments) {
  for (const auto& step :
       {check_sizes, check_pointers, check_adjustments, check_extents, check_variant})
    if (const draftproof_result result = step(arguments); !is_good(result)) return result;
  return kGood;
}

draftproof_shaping_variant variant_of(const Arguments& arguments) {
  if (arguments.variant != DRAFTPROOF_SHAPING_CHOSEN)
    return static_cast<draftproof_shaping_variant>(arguments.variant);
  return arguments.workspace != 0 && !has_adjustments(arguments) && suits_split(arguments)
             ? DRAFTPROOF_SHAPING_SPLIT
             : DRAFTPROOF_SHAPING_GENERAL;
}

std::uint64_t workspace_bytes(const Arguments& arguments) {
  const bool is_split = arguments.variant == DRAFTPROOF_SHAPING_SPLIT ||
                        (arguments.variant == DRAFTPROOF_SHAPING_CHOSEN && suits_split(arguments));
  return is_split ? row_count(arguments) * DRAFTPROOF_SPLIT_ROW_BYTES : 0;
}

KernelLaunch launch_of(const Arguments& arguments) {
  static constexpr const char* kPlain[] = DRAFTPROOF_BY_FORMAT("draftproof_shape_rows");
  static constexpr const char* kAdjusted[] = DRAFTPROOF_BY_FORMAT("draftproof_shape_adjusted_rows");
  static constexpr std::array kByKey{"draftproof_shape_rows_by_key_bf16",
                                     "draftproof_shape_rows_by_key_f16"};
  static constexpr const char* kSplit[] = DRAFTPROOF_BY_FORMAT("draftproof_shape_rows_split");
  KernelLaunch launch;
  launch.grid.x = static_cast<std::uint32_t>(row_count(arguments) * blocks_per_row(arguments));
  launch.block.x = block_threads_of(arguments);
  if (has_adjustments(arguments)) {
    launch.module = "shaping_adjusted";
    launch.entry = kAdjusted[arguments.format];
    launch.add(arguments);
  } else if (variant_of(arguments) == DRAFTPROOF_SHAPING_BY_KEY) {
    launch.module = "shaping_by_key";
    launch.entry = kByKey[arguments.format - DRAFTPROOF_BFLOAT16];
    launch.dynamic_shared_bytes = kHistogramBytes;
    launch.add(arguments);
  } else if (variant_of(arguments) == DRAFTPROOF_SHAPING_SPLIT) {
    launch.module = "shaping_split";
    launch.entry = kSplit[arguments.format];
    launch.add(arguments);
  } else {
    launch.module = "shaping";
    launch.entry = kPlain[arguments.format];
    add_one_by_one(launch, arguments);
  }
  return launch;
}

}  // namespace draftproof::gpu::launches
