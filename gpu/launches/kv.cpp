// Checks of the KV launches (kv.h).
#include "gpu/launches/kv.h"

#include <algorithm>
#include <array>

#include "gpu/launches/checks.h"

namespace draftproof::gpu::launches {
namespace {

/// The first complaint of a call, and the buffers that it touches.
class Call {
 public:
  void need(bool holds, draftproof_code code, const char* text) {
    if (result_.code == DRAFTPROOF_OK && !holds) result_ = {code, text};
  }
  void need_range(bool holds, const char* text) { need(holds, DRAFTPROOF_OUT_OF_RANGE, text); }

  /// An array of `count` elements, `stride_bytes` apart.
  void array(draftproof_pointer pointer, std::uint64_t count, std::uint64_t stride_bytes,
             std::uint64_t element_bytes, bool is_written, bool is_nullable, const char* null_text,
             const char* alignment_text) {
    if (count == 0 || (pointer == 0 && is_nullable)) return;
    need(pointer != 0, DRAFTPROOF_NULL_POINTER, null_text);
    need(is_aligned(pointer, element_bytes), DRAFTPROOF_MISALIGNED, alignment_text);
    std::uint64_t bytes = 0;
    need(strided_bytes(count, stride_bytes, element_bytes, 1, bytes), DRAFTPROOF_TOO_LARGE,
         "strides and counts: the arrays of a launch lie in 2^63 bytes; lower a stride or a count");
    extents_[extent_count_++] = {pointer, bytes, is_written};
  }

  /// Rows of any bytes, at any alignment.
  void bytes(draftproof_pointer pointer, std::uint64_t rows, std::uint64_t stride,
             std::uint64_t row_bytes, bool is_written, const char* null_text) {
    std::uint64_t bytes = 0;
    need(strided_bytes(rows, stride, row_bytes, 1, bytes), DRAFTPROOF_TOO_LARGE,
         "strides and counts: the arrays of a launch lie in 2^63 bytes; lower a stride or a count");
    array(pointer, bytes, 1, 1, is_written, false, null_text, "");
  }
  /// Rows of 4-byte integers, `stride` elements apart.
  void matrix(draftproof_pointer pointer, std::uint64_t rows, std::uint64_t stride,
              std::uint64_t columns, bool is_written, bool is_nullable, const char* null_text,
              const char* alignment_text) {
    std::uint64_t bytes = 0;
    if (pointer == 0 && is_nullable) return;
    need(strided_bytes(rows, stride, columns, 4, bytes), DRAFTPROOF_TOO_LARGE,
         "strides and counts: the arrays of a launch lie in 2^63 bytes; lower a stride or a count");
    array(pointer, bytes / 4, 4, 4, is_written, is_nullable, null_text, alignment_text);
  }

  void pool(const draftproof_kv_pool& pool, bool is_written);
  void sequences(const draftproof_kv_sequences& sequences, std::uint64_t page_size,
                 bool is_table_written);
  void kept(const draftproof_kv_kept& kept, std::uint32_t sequence_count);
  void threads(std::uint32_t block_threads) {
    need_range(block_threads % 32 == 0 && block_threads <= 1024,
               "block_threads: give 0 or a multiple of 32 up to 1,024");
  }
  void sizes_of_pages(std::uint64_t page_size, std::uint64_t page_count) {
    need_range(page_size >= 1, "page_size: give 1 slot or more");
    need_range(page_count >= 1 && page_count < (std::uint64_t{1} << 31),
               "page_count: give 1 to 2^31 - 1 pages");
    need_range(page_size <= (std::uint64_t{1} << 62) / std::max<std::uint64_t>(page_count, 1),
               "page_count: page_size * page_count must be at most 2^62");
  }
  void rows(std::uint32_t sequence_count) {
    need_range(sequence_count <= 65535,
               "sequence_count: give at most 65,535 sequences (copies) to one launch");
  }
  void words(draftproof_pointer statuses, std::uint64_t count, bool is_nullable = false) {
    array(statuses, count, 4, 4, true, is_nullable,
          "statuses: is null; give uint32 for each sequence, token or copy",
          "statuses: is no multiple of 4 bytes");
  }

  draftproof_result result() {
    const std::span<const Extent> arrays(extents_.data(), extent_count_);
    need(!overlap(arrays), DRAFTPROOF_OVERLAP,
         "an array that is written overlaps another one; give each its own memory");
    for (std::size_t i = 0; i < plane_count_; ++i)
      for (const Extent& array : arrays)
        need(!overlap(std::array{planes_[i], array}), DRAFTPROOF_OVERLAP,
             "a plane overlaps an array of the launch; give each its own memory");
    return result_;
  }

 private:
  void plane(const draftproof_kv_plane& plane, const draftproof_kv_pool& pool, bool is_written);

  draftproof_result result_ = kGood;
  std::array<Extent, 24> extents_{};
  std::size_t extent_count_ = 0;
  std::array<Extent, DRAFTPROOF_KV_PLANES_MAX> planes_{};
  std::size_t plane_count_ = 0;
};

struct Dimension {
  std::uint64_t stride = 0;
  std::uint64_t count = 1;
};

/// Bytes from the first to behind the last entry. False when two entries could share a byte (each
/// stride must step over all that smaller strides span) or 63 bits do not hold it.
bool nested_bytes(std::array<Dimension, 4> dimensions, std::uint64_t entry_bytes,
                  std::uint64_t& bytes) {
  std::sort(dimensions.begin(), dimensions.end(),
            [](const Dimension& a, const Dimension& b) { return a.stride < b.stride; });
  bytes = entry_bytes;
  for (const Dimension& dimension : dimensions) {
    if (dimension.count <= 1) continue;
    std::uint64_t span = 0;
    if (dimension.stride < bytes || !multiply(dimension.stride, dimension.count - 1, span) ||
        !add(bytes, span, bytes))
      return false;
  }
  return bytes >> 63 == 0;
}

void Call::plane(const draftproof_kv_plane& plane, const draftproof_kv_pool& pool,
                 bool is_written) {
  const bool has_bases = plane.bases != 0;
  need(plane.base != 0 || has_bases, DRAFTPROOF_NULL_POINTER,
       "plane: base and bases are null; give the address of layer 0, or an array of addresses");
  need_range(plane.base == 0 || !has_bases, "plane: base and bases are both given; give one");
  need(is_aligned(plane.bases, 8), DRAFTPROOF_MISALIGNED, "plane: bases is no multiple of 8 bytes");
  const std::uint32_t alignment = plane.bases_alignment;
  need_range(has_bases ? alignment >= 1 && alignment <= 16 && (alignment & (alignment - 1)) == 0
                       : alignment == 0,
             "plane: bases_alignment: with bases 1, 2, 4, 8 or 16, without them 0");
  need_range(plane.unit <= DRAFTPROOF_KV_PAGE, "plane: unit: give an enum draftproof_kv_unit");
  need_range(plane.head_count >= 1 && plane.head_bytes >= 1,
             "plane: head_count, head_bytes: give 1 or more");
  std::uint64_t entry = 0, layers = 0;
  need_range(multiply(plane.head_count, plane.head_bytes, entry) &&
                 multiply(entry, pool.layer_count, layers) && layers < (std::uint64_t{1} << 31),
             "plane: head_count * head_bytes * layer_count must be below 2^31");
  std::uint64_t bytes = 0;
  const std::uint64_t slots = plane.unit == DRAFTPROOF_KV_SLOT ? pool.page_size : 1;
  need_range(nested_bytes({{{plane.head_stride, plane.head_count},
                            {plane.slot_stride, slots},
                            {plane.page_stride, pool.page_count},
                            {plane.layer_stride, has_bases ? 1 : pool.layer_count}}},
                          plane.head_bytes, bytes),
             "plane: strides: each must step over all that the smaller ones span, in 2^63 bytes");
  array(plane.bases, pool.layer_count, 8, 8, false, true, "", "");
  if (!has_bases) planes_[plane_count_++] = {plane.base, bytes, is_written};
}

void Call::pool(const draftproof_kv_pool& pool, bool is_written) {
  need_range(pool.plane_count >= 1 && pool.plane_count <= DRAFTPROOF_KV_PLANES_MAX,
             "plane_count: give 1 to DRAFTPROOF_KV_PLANES_MAX planes");
  need_range(pool.layer_count >= 1, "layer_count: give 1 layer or more");
  sizes_of_pages(pool.page_size, pool.page_count);
  for (std::uint32_t i = 0; i < std::min<std::uint32_t>(pool.plane_count, DRAFTPROOF_KV_PLANES_MAX);
       ++i)
    plane(pool.planes[i], pool, is_written);
}

void Call::sequences(const draftproof_kv_sequences& sequences, std::uint64_t page_size,
                     bool is_table_written) {
  const std::uint32_t count = sequences.sequence_count;
  rows(count);
  need_range(sequences.row_count >= 1, "row_count: give the rows of the tables, 1 or more");
  need_range(sequences.page_max >= 1, "page_max: give 1 entry or more");
  need_range(sequences.page_max * page_size < std::uint64_t{1} << 62,
             "page_max: page_max * page_size must be below 2^62 slots");
  need_range(sequences.rows != 0 || sequences.row_count >= count,
             "row_count: without rows each sequence needs a row of its own");
  need_range(sequences.table_stride >= sequences.page_max, "table_stride: is below page_max");
  need_range(sequences.reserved == 0, "sequences.reserved: give 0");
  if (count == 0) return;
  matrix(sequences.tables, sequences.row_count, sequences.table_stride, sequences.page_max,
         is_table_written, false, "tables: is null; give the block tables",
         "tables: is no multiple of 4 bytes");
  array(sequences.rows, count, 4, 4, false, true, "", "rows: is no multiple of 4 bytes");
  array(sequences.lengths, count, 4, 4, false, false, "lengths: is null; give int32 a sequence",
        "lengths: is no multiple of 4 bytes");
  array(sequences.fed_counts, count, 4, 4, false, false,
        "fed_counts: is null; give int32 a sequence", "fed_counts: is no multiple of 4 bytes");
}

void Call::kept(const draftproof_kv_kept& kept, std::uint32_t count) {
  constexpr std::uint32_t kListMax = 1u << 24;
  need_range(kept.kept_max < kListMax && kept.leading_count < kListMax,
             "kept_max, leading_count: give less than 2^24");
  need_range(kept.count_stride_bytes >= 4 && kept.count_stride_bytes % 4 == 0,
             "count_stride_bytes: give 4 or a larger multiple of 4");
  need_range(kept.nodes == 0 || kept.node_stride >= kept.kept_max,
             "node_stride: is below kept_max");
  need_range(kept.node_offsets == 0 || kept.offset_stride >= kept.node_max,
             "offset_stride: is below node_max");
  array(kept.counts, count, kept.count_stride_bytes, 4, false, false,
        "kept.counts: is null; give uint32 a sequence", "kept.counts: is no multiple of 4 bytes");
  matrix(kept.nodes, count, kept.node_stride, kept.kept_max, false, true, "",
         "kept.nodes: is no multiple of 4 bytes");
  matrix(kept.node_offsets, count, kept.offset_stride, kept.node_max, false, true, "",
         "kept.node_offsets: is no multiple of 4 bytes");
}

/// int32 a sequence.
void lengths(Call& call, draftproof_pointer pointer, std::uint32_t count, bool is_written,
             bool is_nullable) {
  call.array(pointer, count, 4, 4, is_written, is_nullable,
             "new_lengths: is null; give int32 a sequence",
             "new_lengths: is no multiple of 4 bytes");
}

void starts(Call& call, draftproof_pointer pointer, std::uint32_t count) {
  call.array(pointer, count, 4, 4, false, true, "", "starts: is no multiple of 4 bytes");
}

}  // namespace

draftproof_result check(const draftproof_kv_commit_arguments& arguments) {
  Call call;
  const std::uint32_t count = arguments.sequences.sequence_count;
  call.pool(arguments.pool, true);
  call.sequences(arguments.sequences, arguments.pool.page_size, false);
  call.kept(arguments.kept, count);
  lengths(call, arguments.new_lengths, count, true, true);
  call.words(arguments.statuses, count);
  call.need_range((arguments.flags & ~DRAFTPROOF_KV_CLIP) == 0,
                  "flags: give 0 or DRAFTPROOF_KV_CLIP");
  call.threads(arguments.block_threads);
  return call.result();
}

draftproof_result check(const draftproof_kv_map_slots_arguments& arguments) {
  Call call;
  const std::uint32_t count = arguments.sequences.sequence_count;
  call.sizes_of_pages(arguments.page_size, arguments.page_count);
  call.sequences(arguments.sequences, arguments.page_size, false);
  starts(call, arguments.starts, count);
  std::uint64_t places = 0;
  call.need_range(arguments.starts != 0 || (multiply(count, arguments.slot_stride, places) &&
                                            places <= arguments.slot_count),
                  "slot_count: without starts it must hold sequence_count * slot_stride places");
  call.array(arguments.slots, arguments.slot_count, 8, 8, true, false,
             "slots: is null; give int64 a place", "slots: is no multiple of 8 bytes");
  call.words(arguments.statuses, count);
  call.need_range(arguments.reserved == 0, "reserved: give 0");
  call.threads(arguments.block_threads);
  return call.result();
}

draftproof_result check(const draftproof_kv_append_arguments& arguments) {
  Call call;
  call.pool(arguments.pool, true);
  call.need_range(arguments.token_count < (1u << 31), "token_count: give less than 2^31 tokens");
  call.array(arguments.slots, arguments.token_count, 8, 8, false, false,
             "slots: is null; give int64 a token", "slots: is no multiple of 8 bytes");
  call.words(arguments.statuses, arguments.token_count, true);
  const draftproof_kv_pool& pool = arguments.pool;
  for (std::uint32_t i = 0; i < std::min<std::uint32_t>(pool.plane_count, DRAFTPROOF_KV_PLANES_MAX);
       ++i) {
    const draftproof_kv_plane& plane = pool.planes[i];
    const draftproof_kv_source& source = arguments.sources[i];
    if (plane.unit != DRAFTPROOF_KV_SLOT || arguments.token_count == 0) continue;
    std::uint64_t bytes = 0;
    call.need_range(nested_bytes({{{source.head_stride, plane.head_count},
                                   {source.token_stride, arguments.token_count},
                                   {source.layer_stride, pool.layer_count},
                                   {0, 1}}},
                                 plane.head_bytes, bytes),
                    "source: strides: each must step over all that the smaller ones span");
    call.bytes(source.base, 1, 0, bytes, false,
               "source: base is null; give the rows of each plane of slots");
  }
  call.threads(arguments.block_threads);
  return call.result();
}

draftproof_result check(const draftproof_kv_copy_pages_arguments& arguments) {
  Call call;
  call.pool(arguments.pool, true);
  call.rows(arguments.copy_count);
  constexpr std::uint64_t kWords = sizeof(draftproof_kv_page_copy) / 4;
  call.array(arguments.copies, kWords * arguments.copy_count, 4, 4, false, false,
             "copies: is null; give a draftproof_kv_page_copy each",
             "copies: is no multiple of 4 bytes");
  call.need_range(arguments.tables == 0 || arguments.table_stride >= arguments.page_max,
                  "table_stride: is below page_max");
  call.matrix(arguments.tables, arguments.row_count, arguments.table_stride, arguments.page_max,
              true, true, "", "tables: is no multiple of 4 bytes");
  call.words(arguments.statuses, arguments.copy_count);
  call.threads(arguments.block_threads);
  return call.result();
}

draftproof_result check(const draftproof_kv_release_pages_arguments& arguments) {
  Call call;
  const std::uint32_t count = arguments.sequences.sequence_count;
  call.sizes_of_pages(arguments.page_size, arguments.page_count);
  call.sequences(arguments.sequences, arguments.page_size, true);
  lengths(call, arguments.new_lengths, count, false, false);
  call.need_range(arguments.freed_stride >= arguments.sequences.page_max,
                  "freed_stride: is below page_max; a sequence may give back all of its pages");
  call.matrix(arguments.freed, count, arguments.freed_stride, arguments.sequences.page_max, true,
              false, "freed: is null; give int32 [sequence_count][freed_stride]",
              "freed: is no multiple of 4 bytes");
  call.array(arguments.freed_counts, count, 4, 4, true, false,
             "freed_counts: is null; give uint32 a sequence",
             "freed_counts: is no multiple of 4 bytes");
  call.array(arguments.held_counts, count, 4, 4, true, true, "",
             "held_counts: is no multiple of 4 bytes");
  call.words(arguments.statuses, count);
  call.need_range(arguments.spare_count < (1u << 24), "spare_count: give less than 2^24 slots");
  call.need_range(arguments.reserved == 0, "reserved: give 0");
  call.threads(arguments.block_threads);
  return call.result();
}

draftproof_result check(const draftproof_kv_poison_arguments& arguments) {
  Call call;
  const std::uint32_t count = arguments.sequences.sequence_count;
  call.pool(arguments.pool, true);
  call.sequences(arguments.sequences, arguments.pool.page_size, false);
  lengths(call, arguments.new_lengths, count, false, false);
  call.words(arguments.statuses, count);
  call.need_range(arguments.byte < 256, "byte: give less than 256");
  call.threads(arguments.block_threads);
  return call.result();
}

draftproof_result check(const draftproof_kv_gather_rows_arguments& arguments) {
  Call call;
  const std::uint32_t count = arguments.sequence_count;
  call.rows(count);
  call.need_range(arguments.buffer_count >= 1 && arguments.buffer_count <= DRAFTPROOF_KV_ROWS_MAX,
                  "buffer_count: give 1 to DRAFTPROOF_KV_ROWS_MAX buffers");
  for (std::uint32_t i = 0;
       i < std::min<std::uint32_t>(arguments.buffer_count, DRAFTPROOF_KV_ROWS_MAX); ++i) {
    const draftproof_kv_rows& rows = arguments.buffers[i];
    call.need_range(rows.row_bytes >= 1 && rows.row_bytes < (std::uint64_t{1} << 32),
                    "row_bytes: give 1 to 2^32 - 1 bytes");
    call.need_range(
        rows.source_stride >= rows.row_bytes && rows.destination_stride >= rows.row_bytes,
        "source_stride, destination_stride: a row is longer than the way to the next");
    call.bytes(rows.source, arguments.source_row_count, rows.source_stride, rows.row_bytes, false,
               "buffers: source is null; give the rows of the fed tokens");
    call.bytes(rows.destination, arguments.destination_row_count, rows.destination_stride,
               rows.row_bytes, true, "buffers: destination is null; give room for the kept rows");
  }
  call.kept(arguments.kept, count);
  starts(call, arguments.source_starts, count);
  starts(call, arguments.destination_starts, count);
  call.array(arguments.fed_counts, count, 4, 4, false, false,
             "fed_counts: is null; give int32 a sequence", "fed_counts: is no multiple of 4 bytes");
  call.array(arguments.kept_counts, count, 4, 4, true, true, "",
             "kept_counts: is no multiple of 4 bytes");
  call.words(arguments.statuses, count);
  call.need_range((arguments.flags & ~DRAFTPROOF_KV_CLIP) == 0,
                  "flags: give 0 or DRAFTPROOF_KV_CLIP");
  call.threads(arguments.block_threads);
  return call.result();
}

draftproof_result check(const draftproof_kv_select_states_arguments& arguments) {
  Call call;
  const std::uint32_t count = arguments.sequence_count;
  const bool is_exchange = (arguments.flags & DRAFTPROOF_KV_EXCHANGE) != 0;
  call.pool(arguments.pool, !is_exchange);
  call.need_range(arguments.pool.page_size == 1, "page_size: states are pages of one slot; give 1");
  call.rows(count);
  call.kept(arguments.kept, count);
  call.need_range(arguments.candidate_stride >= arguments.candidate_max,
                  "candidate_stride: is below candidate_max");
  call.matrix(arguments.candidates, count, arguments.candidate_stride, arguments.candidate_max,
              is_exchange, false, "candidates: is null; give int32 a fed token",
              "candidates: is no multiple of 4 bytes");
  call.array(arguments.committed, count, 4, 4, is_exchange, false,
             "committed: is null; give int32 a sequence", "committed: is no multiple of 4 bytes");
  call.array(arguments.fed_counts, count, 4, 4, false, false,
             "fed_counts: is null; give int32 a sequence", "fed_counts: is no multiple of 4 bytes");
  call.words(arguments.statuses, count);
  call.need_range((arguments.flags & ~(DRAFTPROOF_KV_CLIP | DRAFTPROOF_KV_EXCHANGE)) == 0,
                  "flags: give 0, DRAFTPROOF_KV_CLIP, DRAFTPROOF_KV_EXCHANGE or both");
  call.threads(arguments.block_threads);
  return call.result();
}

}  // namespace draftproof::gpu::launches
