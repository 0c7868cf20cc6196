#include "gpu/launches/adjust_rows.h"

#include <cstdint>

#include "gpu/launches/adjustments.h"
#include "gpu/launches/checks.h"
#include "gpu/launches/row_launch.h"

namespace draftproof::gpu::launches {
namespace {

using Arguments = draftproof_adjust_rows_arguments;

constexpr std::uint32_t kThreadsMax = 512;
constexpr std::uint64_t kRowsMax = 0x7fffffff;

constexpr draftproof_result fault(draftproof_code code, const char* text) { return {code, text}; }

std::uint64_t row_count(const Arguments& a) {
  return target_slots(a) + (a.draft_rows != 0 ? draft_slots(a) : 0);
}
draftproof_result check_sizes(const Arguments& a) {
  constexpr auto kRange = DRAFTPROOF_OUT_OF_RANGE;
  if (a.format > DRAFTPROOF_FLOAT16)
    return fault(kRange, "format: give 0 (f32), 1 (bf16) or 2 (f16)");
  if (a.vocab_size == 0 || a.vocab_size > 1u << 20)
    return fault(kRange, "vocab_size: give 1 to 1,048,576");
  if (a.request_count == 0) return fault(kRange, "request_count: give at least 1");
  if (a.padded_draft_count > 65536) return fault(kRange, "padded_draft_count: give at most 65,536");
  if (a.block_threads % 32 != 0 || a.block_threads > kThreadsMax)
    return fault(kRange, "block_threads: give a multiple of 32 up to 512, or 0");
  if (a.target_row_stride < a.vocab_size || a.adjusted_row_stride < a.vocab_size)
    return fault(kRange, "target_row_stride, adjusted_row_stride: give at least vocab_size");
  if (a.draft_rows == 0 && (a.draft_row_stride != 0 || a.widened_row_stride != 0))
    return fault(kRange, "draft_row_stride, widened_row_stride: give 0 without draft_rows");
  if (a.draft_rows != 0 &&
      (a.draft_row_stride < a.vocab_size || a.widened_row_stride < a.vocab_size))
    return fault(kRange, "draft_row_stride, widened_row_stride: give at least vocab_size");
  return kGood;
}

draftproof_result check_pointers(const Arguments& a) {
  constexpr auto kNull = DRAFTPROOF_NULL_POINTER;
  constexpr auto kMisaligned = DRAFTPROOF_MISALIGNED;
  if (a.target_rows == 0) return fault(kNull, "target_rows is null");
  if (a.requests == 0) return fault(kNull, "requests is null");
  if (a.adjusted_rows == 0) return fault(kNull, "adjusted_rows is null");
  if (a.adjustments.requests == 0)
    return fault(kNull, "adjustments.requests is null: nothing is adjusted; do without the launch");
  if (a.draft_tokens == 0 && a.padded_draft_count != 0)
    return fault(kNull, "draft_tokens is null, and adjustments look drafted tokens up");
  if ((a.draft_rows == 0) != (a.widened_rows == 0))
    return fault(kNull, "draft_rows, widened_rows: give both or neither");
  if (!is_aligned(a.target_rows, logit_bytes(a)) || !is_aligned(a.draft_rows, logit_bytes(a)))
    return fault(kMisaligned, "target_rows, draft_rows: align to an element of `format`");
  if (!is_aligned(a.adjusted_rows, 4) || !is_aligned(a.widened_rows, 4))
    return fault(kMisaligned, "adjusted_rows, widened_rows: align to 4 bytes");
  if (!is_aligned(a.draft_tokens, 4) || !is_aligned(a.parents, 4))
    return fault(kMisaligned, "draft_tokens, parents: align to 4 bytes");
  if (!is_aligned(a.requests, 8)) return fault(kMisaligned, "requests: align to 8 bytes");
  return kGood;
}

draftproof_result check_adjustments(const Arguments& a) {
  return check(a.adjustments, adjusted_batch(a));
}

/// Buffers that share bytes, and products that do not fit.
draftproof_result check_extents(const Arguments& a) {
  constexpr auto kLarge = DRAFTPROOF_TOO_LARGE;
  if (row_count(a) > kRowsMax)
    return fault(kLarge, "request_count * padded_draft_count: at most 2^31 - 1 rows a launch");
  std::uint64_t target_bytes = 0, draft_bytes = 0, adjusted_bytes = 0, widened_bytes = 0;
  const std::uint64_t drafts = a.draft_rows != 0 ? draft_slots(a) : 0;
  if (!strided_bytes(target_slots(a), a.target_row_stride, a.vocab_size, logit_bytes(a),
                     target_bytes) ||
      !strided_bytes(drafts, a.draft_row_stride, a.vocab_size, logit_bytes(a), draft_bytes) ||
      !strided_bytes(target_slots(a), a.adjusted_row_stride, a.vocab_size, 4, adjusted_bytes) ||
      !strided_bytes(drafts, a.widened_row_stride, a.vocab_size, 4, widened_bytes))
    return fault(kLarge, "a row stride: the rows do not fit in 63 bits; give a smaller one");
  if (!outputs_are_apart(
          a, {{{a.adjusted_rows, adjusted_bytes, true}, {a.widened_rows, widened_bytes, true}, {}}},
          target_bytes, draft_bytes))
    return fault(DRAFTPROOF_OVERLAP,
                 "adjusted_rows or widened_rows shares bytes with another buffer");
  return kGood;
}

}  // namespace

draftproof_result check(const Arguments& arguments) {
  for (const auto& step : {check_sizes, check_pointers, check_adjustments, check_extents})
    if (const draftproof_result result = step(arguments); result.code != DRAFTPROOF_OK)
      return result;
  return kGood;
}

KernelLaunch launch_of(const Arguments& arguments) {
  static constexpr const char* kEntries[] = DRAFTPROOF_BY_FORMAT("draftproof_adjust_rows");
  KernelLaunch launch;
  launch.module = "adjustments";
  launch.entry = kEntries[arguments.format];
  launch.grid.x = static_cast<std::uint32_t>(row_count(arguments));
  launch.block.x = arguments.block_threads != 0 ? arguments.block_threads
                                                : suitable_block_threads(arguments.vocab_size);
  launch.add(arguments);
  return launch;
}

}  // namespace draftproof::gpu::launches
