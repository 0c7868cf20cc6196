#include "gpu/launches/model.h"

#include <algorithm>
#include <cmath>
#include <span>

#include "gpu/launches/checks.h"

namespace draftproof::gpu::launches {
namespace {

/// A buffer of `rows` rows of `width` elements, `stride` elements apart.
struct RowBuffer {
  const char* null_text;
  const char* misaligned_text;
  const char* stride_text;
  const char* large_text;
  draftproof_pointer begin;
  std::uint64_t rows;
  std::uint64_t stride;
  std::uint64_t width;
  std::uint64_t element_bytes;
  bool is_written;
};

#define DRAFTPROOF_ROW_BUFFER(name, ...)                                                        \
  RowBuffer {                                                                                   \
    name " is null: allocate it", name " is misaligned: align it to the size of its elements",  \
        name "'s stride is less than its rows are wide: give the distance of rows in elements", \
        name " spans more than 2^63 bytes: check its sizes", __VA_ARGS__                        \
  }

constexpr std::size_t kBuffersMax = 9;

draftproof_result check_buffers(std::span<const RowBuffer> buffers,
                                const draftproof_model_rows& rows) {
  Extent extents[kBuffersMax + 1];
  std::size_t count = 0;
  for (const RowBuffer& each : buffers) {
    if (each.begin == 0) return {DRAFTPROOF_NULL_POINTER, each.null_text};
    if (!is_aligned(each.begin, each.element_bytes))
      return {DRAFTPROOF_MISALIGNED, each.misaligned_text};
    if (each.stride < each.width) return {DRAFTPROOF_OUT_OF_RANGE, each.stride_text};
    std::uint64_t bytes = 0;
    if (!strided_bytes(each.rows, each.stride, each.width, each.element_bytes, bytes))
      return {DRAFTPROOF_TOO_LARGE, each.large_text};
    extents[count++] = {each.begin, bytes, each.is_written};
  }
  if (!is_aligned(rows.count, 4))
    return {DRAFTPROOF_MISALIGNED, "rows.count is misaligned: align it to 4 bytes"};
  extents[count++] = {rows.count, 4, false};
  if (overlap({extents, count}))
    return {DRAFTPROOF_OVERLAP, "a buffer that is written overlaps another one: move one of them"};
  return kGood;
}

draftproof_result check_rows(const draftproof_model_rows& rows) {
  if (rows.row_max == 0 || rows.row_max > 0x7fffffffu)
    return {DRAFTPROOF_OUT_OF_RANGE, "rows.row_max: take 1 to 2^31 - 1"};
  if (rows.reserved != 0) return {DRAFTPROOF_OUT_OF_RANGE, "rows.reserved: give 0"};
  return kGood;
}

draftproof_result check_format(std::uint32_t format) {
  if (format == DRAFTPROOF_FLOAT32 || format == DRAFTPROOF_BFLOAT16) return kGood;
  return {DRAFTPROOF_UNSUPPORTED, "format: take DRAFTPROOF_FLOAT32 or DRAFTPROOF_BFLOAT16"};
}

draftproof_result check_heads(std::uint32_t heads, std::uint32_t kv_heads, std::uint32_t head_dim) {
  if (heads == 0 || heads > (1u << 16)) return {DRAFTPROOF_OUT_OF_RANGE, "heads: take 1 to 2^16"};
  if (kv_heads == 0 || heads % kv_heads != 0)
    return {DRAFTPROOF_OUT_OF_RANGE, "kv_heads: take a divisor of heads"};
  if (head_dim == 0 || head_dim > 256) return {DRAFTPROOF_OUT_OF_RANGE, "head_dim: take 1 to 256"};
  return kGood;
}

constexpr std::uint64_t weight_bytes(std::uint32_t format) {
  return format == DRAFTPROOF_FLOAT32 ? 4 : 2;
}

constexpr draftproof_result kNoWidth{DRAFTPROOF_OUT_OF_RANGE, "width: take 1 to 2^31 - 1"};
constexpr draftproof_result kReserved{DRAFTPROOF_OUT_OF_RANGE, "reserved: give 0"};

std::uint32_t blocks(std::uint64_t items, std::uint32_t of) {
  return static_cast<std::uint32_t>(std::min<std::uint64_t>((items + of - 1) / of, 0x7fffffffu));
}

template <class Arguments>
KernelLaunch launch(const char* entry, const Arguments& arguments, std::uint32_t threads,
                    std::uint64_t items, std::uint32_t items_of_block, std::uint64_t rows) {
  KernelLaunch launch;
  launch.module = "toy_llama";
  launch.entry = entry;
  launch.block.x = threads;
  launch.grid.x = blocks(items, items_of_block);
  launch.grid.y = static_cast<std::uint32_t>(std::min<std::uint64_t>(rows, 65535));
  launch.add(arguments);
  return launch;
}

constexpr std::uint32_t kWarpThreads = 32;
constexpr std::uint32_t kGemmRowsAtOnce = 8;

}  // namespace

draftproof_result check(const draftproof_embed_arguments& own) {
  if (const auto result = check_rows(own.rows); result.code != 0) return result;
  if (own.reserved != 0) return kReserved;
  if (const auto result = check_format(own.format); result.code != 0) return result;
  if (own.width == 0 || own.width > 0x7fffffffu) return kNoWidth;
  if (own.vocab_size == 0 || own.vocab_size > 0x7fffffffu)
    return {DRAFTPROOF_OUT_OF_RANGE, "vocab_size: take 1 to 2^31 - 1"};
  const std::uint64_t rows = own.rows.row_max;
  const RowBuffer buffers[] = {
      DRAFTPROOF_ROW_BUFFER("tokens", own.tokens, 1, rows, rows, 4, false),
      DRAFTPROOF_ROW_BUFFER("embedding", own.embedding, own.vocab_size, own.embedding_stride,
                            own.width, weight_bytes(own.format), false),
      DRAFTPROOF_ROW_BUFFER("output", own.output, rows, own.output_stride, own.width, 4, true)};
  return check_buffers(buffers, own.rows);
}

draftproof_result check(const draftproof_rms_norm_arguments& own) {
  if (const auto result = check_rows(own.rows); result.code != 0) return result;
  if (own.width == 0 || own.width > 0x7fffffffu) return kNoWidth;
  if (!(own.epsilon > 0.0f) || !std::isfinite(own.epsilon))
    return {DRAFTPROOF_OUT_OF_RANGE, "epsilon: take a positive number"};
  const std::uint64_t rows = own.rows.row_max;
  const RowBuffer buffers[] = {
      DRAFTPROOF_ROW_BUFFER("input", own.input, rows, own.input_stride, own.width, 4, false),
      DRAFTPROOF_ROW_BUFFER("weight", own.weight, 1, own.width, own.width, 4, false),
      DRAFTPROOF_ROW_BUFFER("output", own.output, rows, own.output_stride, own.width, 4, true)};
  return check_buffers(buffers, own.rows);
}

draftproof_result check(const draftproof_gemm_arguments& own) {
  if (const auto result = check_rows(own.rows); result.code != 0) return result;
  if (own.reserved != 0) return kReserved;
  if (const auto result = check_format(own.format); result.code != 0) return result;
  if (own.input_width == 0 || own.input_width > 0x7fffffffu || own.output_width == 0 ||
      own.output_width > 0x7fffffffu)
    return {DRAFTPROOF_OUT_OF_RANGE, "input_width and output_width: take 1 to 2^31 - 1"};
  const std::uint64_t rows = own.rows.row_max;
  const RowBuffer buffers[] = {
      DRAFTPROOF_ROW_BUFFER("input", own.input, rows, own.input_stride, own.input_width, 4, false),
      DRAFTPROOF_ROW_BUFFER("weight", own.weight, own.output_width, own.weight_stride,
                            own.input_width, weight_bytes(own.format), false),
      DRAFTPROOF_ROW_BUFFER("output", own.output, rows, own.output_stride, own.output_width, 4,
                            true)};
  return check_buffers(buffers, own.rows);
}

draftproof_result check(const draftproof_rope_scatter_arguments& own) {
  if (const auto result = check_rows(own.rows); result.code != 0) return result;
  if (const auto result = check_heads(own.heads, own.kv_heads, own.head_dim); result.code != 0)
    return result;
  if (own.head_dim % 2 != 0)
    return {DRAFTPROOF_OUT_OF_RANGE, "head_dim: take an even number, coordinates turn in pairs"};
  if (own.position_count == 0 || own.position_count > 0x7fffffffu)
    return {DRAFTPROOF_OUT_OF_RANGE, "position_count: take 1 to 2^31 - 1"};
  if (own.slot_count == 0 || own.slot_count >> 62 != 0)
    return {DRAFTPROOF_OUT_OF_RANGE, "slot_count: take 1 to 2^62 - 1"};
  const std::uint64_t rows = own.rows.row_max, half = own.head_dim / 2;
  const std::uint64_t cell = std::uint64_t{own.kv_heads} * own.head_dim;
  const std::uint64_t width = std::uint64_t{own.heads} * own.head_dim + 2 * cell;
  const RowBuffer buffers[] = {
      DRAFTPROOF_ROW_BUFFER("qkv", own.qkv, rows, own.qkv_stride, width, 4, true),
      DRAFTPROOF_ROW_BUFFER("positions", own.positions, 1, rows, rows, 4, false),
      DRAFTPROOF_ROW_BUFFER("slots", own.slots, 1, rows, rows, 8, false),
      DRAFTPROOF_ROW_BUFFER("cosines", own.cosines, own.position_count, half, half, 4, false),
      DRAFTPROOF_ROW_BUFFER("sines", own.sines, own.position_count, half, half, 4, false),
      DRAFTPROOF_ROW_BUFFER("key_cache", own.key_cache, own.slot_count, cell, cell, 4, true),
      DRAFTPROOF_ROW_BUFFER("value_cache", own.value_cache, own.slot_count, cell, cell, 4, true)};
  return check_buffers(buffers, own.rows);
}

draftproof_result check(const draftproof_attention_arguments& own) {
  if (const auto result = check_rows(own.rows); result.code != 0) return result;
  if (own.reserved != 0) return kReserved;
  if (const auto result = check_heads(own.heads, own.kv_heads, own.head_dim); result.code != 0)
    return result;
  if (own.sequence_count == 0 || own.sequence_count > 0x7fffffffu)
    return {DRAFTPROOF_OUT_OF_RANGE, "sequence_count: take 1 to 2^31 - 1"};
  if (own.page_max == 0 || own.page_size == 0 || own.page_count == 0 ||
      own.page_count > 0x7fffffffu)
    return {DRAFTPROOF_OUT_OF_RANGE,
            "page_max, page_size and page_count: take 1 or more, and less than 2^31 pages"};
  if (own.mask_words == 0 || own.mask_words > 64)
    return {DRAFTPROOF_OUT_OF_RANGE, "mask_words: take 1 to 64"};
  if (!(own.scale > 0.0f) || !std::isfinite(own.scale))
    return {DRAFTPROOF_OUT_OF_RANGE, "scale: take a positive number, 1 / sqrt(head_dim)"};
  const std::uint64_t rows = own.rows.row_max, sequences = own.sequence_count;
  const std::uint64_t width = std::uint64_t{own.heads} * own.head_dim;
  const std::uint64_t cell = std::uint64_t{own.kv_heads} * own.head_dim;
  const std::uint64_t slots = std::uint64_t{own.page_count} * own.page_size;
  const RowBuffer buffers[] = {
      DRAFTPROOF_ROW_BUFFER("queries", own.queries, rows, own.query_stride, width, 4, false),
      DRAFTPROOF_ROW_BUFFER("key_cache", own.key_cache, slots, cell, cell, 4, false),
      DRAFTPROOF_ROW_BUFFER("value_cache", own.value_cache, slots, cell, cell, 4, false),
      DRAFTPROOF_ROW_BUFFER("sequences", own.sequences, 1, rows, rows, 4, false),
      DRAFTPROOF_ROW_BUFFER("tables", own.tables, sequences, own.table_stride, own.page_max, 4,
                            false),
      DRAFTPROOF_ROW_BUFFER("lengths", own.lengths, 1, sequences, sequences, 4, false),
      DRAFTPROOF_ROW_BUFFER("masks", own.masks, rows, own.mask_words, own.mask_words, 8, false),
      DRAFTPROOF_ROW_BUFFER("output", own.output, rows, own.output_stride, width, 4, true)};
  return check_buffers(buffers, own.rows);
}

draftproof_result check(const draftproof_swiglu_arguments& own) {
  if (const auto result = check_rows(own.rows); result.code != 0) return result;
  if (own.reserved != 0) return kReserved;
  if (own.width == 0 || own.width > 0x7fffffffu) return kNoWidth;
  const std::uint64_t rows = own.rows.row_max, width = own.width;
  const RowBuffer buffers[] = {
      DRAFTPROOF_ROW_BUFFER("gate_up", own.gate_up, rows, own.gate_up_stride, 2 * width, 4, false),
      DRAFTPROOF_ROW_BUFFER("output", own.output, rows, own.output_stride, width, 4, true)};
  return check_buffers(buffers, own.rows);
}

draftproof_result check(const draftproof_residual_add_arguments& own) {
  if (const auto result = check_rows(own.rows); result.code != 0) return result;
  if (own.reserved != 0) return kReserved;
  if (own.width == 0 || own.width > 0x7fffffffu) return kNoWidth;
  const std::uint64_t rows = own.rows.row_max;
  const RowBuffer buffers[] = {
      DRAFTPROOF_ROW_BUFFER("sum", own.sum, rows, own.sum_stride, own.width, 4, true),
      DRAFTPROOF_ROW_BUFFER("addend", own.addend, rows, own.addend_stride, own.width, 4, false)};
  return check_buffers(buffers, own.rows);
}

KernelLaunch launch_of(const draftproof_embed_arguments& own, std::uint32_t threads) {
  return launch(own.format == DRAFTPROOF_FLOAT32 ? "draftproof_embed_f32" : "draftproof_embed_bf16",
                own, threads, own.width, threads, own.rows.row_max);
}

KernelLaunch launch_of(const draftproof_rms_norm_arguments& own, std::uint32_t threads) {
  return launch("draftproof_rms_norm", own, threads, own.rows.row_max, threads / kWarpThreads, 1);
}

KernelLaunch launch_of(const draftproof_gemm_arguments& own, std::uint32_t threads) {
  return launch(own.format == DRAFTPROOF_FLOAT32 ? "draftproof_gemm_f32" : "draftproof_gemm_bf16",
                own, threads, own.output_width, threads / kWarpThreads,
                blocks(own.rows.row_max, kGemmRowsAtOnce));
}

KernelLaunch launch_of(const draftproof_rope_scatter_arguments& own, std::uint32_t threads) {
  const std::uint64_t pairs =
      (std::uint64_t{own.heads} + 2 * std::uint64_t{own.kv_heads}) * (own.head_dim / 2);
  return launch("draftproof_rope_scatter", own, threads, pairs, threads, own.rows.row_max);
}

KernelLaunch launch_of(const draftproof_attention_arguments& own, std::uint32_t threads) {
  return launch("draftproof_attention", own, threads, std::uint64_t{own.rows.row_max} * own.heads,
                threads / kWarpThreads, 1);
}

KernelLaunch launch_of(const draftproof_swiglu_arguments& own, std::uint32_t threads) {
  return launch("draftproof_swiglu", own, threads, own.width, threads, own.rows.row_max);
}

KernelLaunch launch_of(const draftproof_residual_add_arguments& own, std::uint32_t threads) {
  return launch("draftproof_residual_add", own, threads, own.width, threads, own.rows.row_max);
}

}  // namespace draftproof::gpu::launches
