// Grids of the KV launches: one thread a column where that fills the device, no more blocks than
// keep it busy, and one block a sequence where no cell can move.
#include <algorithm>

#include "gpu/launches/kv.h"

namespace draftproof::gpu::launches {
namespace {

/// Blocks of one launch, about: several for each multiprocessor of any device, so that more would
/// only look at the same lists again.
constexpr std::uint64_t kBlocksWanted = 4096;

std::uint32_t width_of(std::uint64_t bits) {
  const std::uint64_t capped = bits | 16;
  return static_cast<std::uint32_t>(capped & (~capped + 1));
}

/// Columns of one entry in all layers, at most: what alignment cannot be seen here makes more.
std::uint64_t columns_of(const draftproof_kv_plane& plane, std::uint32_t layer_count) {
  std::uint64_t bits = plane.page_stride | plane.head_bytes;
  bits |= plane.bases != 0 ? plane.bases_alignment : plane.base | plane.layer_stride;
  if (plane.unit == DRAFTPROOF_KV_SLOT) bits |= plane.slot_stride;
  if (plane.head_count > 1) bits |= plane.head_stride;
  return std::uint64_t{plane.head_bytes} / width_of(bits) * plane.head_count * layer_count;
}

std::uint64_t columns_of(const draftproof_kv_pool& pool) {
  std::uint64_t columns = 0;
  for (std::uint32_t i = 0; i < pool.plane_count; ++i)
    columns += columns_of(pool.planes[i], pool.layer_count);
  return columns;
}

std::uint32_t threads_of(std::uint32_t asked, std::uint32_t usual) {
  return asked == 0 ? usual : asked;
}

std::uint32_t column_blocks(std::uint64_t columns, std::uint32_t threads, std::uint64_t others) {
  const std::uint64_t most =
      std::max<std::uint64_t>(1, kBlocksWanted / std::max<std::uint64_t>(1, others));
  return static_cast<std::uint32_t>(
      std::clamp<std::uint64_t>((columns + threads - 1) / threads, 1, most));
}

template <class Arguments>
KernelLaunch made(const char* module, const char* entry, Dim3 grid, std::uint32_t threads,
                  const Arguments& arguments) {
  KernelLaunch launch;
  launch.module = module;
  launch.entry = entry;
  launch.grid = grid;
  launch.block = {threads, 1, 1};
  launch.add(arguments);
  return launch;
}

}  // namespace

KernelLaunch launch_of(const draftproof_kv_commit_arguments& arguments) {
  const std::uint32_t threads = threads_of(arguments.block_threads, 256);
  const std::uint32_t sequences = arguments.sequences.sequence_count;
  const bool can_move = arguments.kept.nodes != 0 || arguments.kept.node_offsets != 0;
  const std::uint64_t columns = can_move ? columns_of(arguments.pool) : 1;
  return made("paged_cache", "draftproof_kv_commit",
              {column_blocks(columns, threads, sequences), sequences, 1}, threads, arguments);
}

KernelLaunch launch_of(const draftproof_kv_map_slots_arguments& arguments) {
  return made("paged_cache_slots", "draftproof_kv_map_slots",
              {arguments.sequences.sequence_count, 1, 1}, threads_of(arguments.block_threads, 128),
              arguments);
}

KernelLaunch launch_of(const draftproof_kv_append_arguments& arguments) {
  const std::uint32_t threads = threads_of(arguments.block_threads, 128);
  return made("paged_cache_slots", "draftproof_kv_append",
              {arguments.token_count,
               column_blocks(columns_of(arguments.pool), threads, arguments.token_count), 1},
              threads, arguments);
}

KernelLaunch launch_of(const draftproof_kv_copy_pages_arguments& arguments) {
  const std::uint32_t threads = threads_of(arguments.block_threads, 256);
  return made("paged_cache_pages", "draftproof_kv_copy_pages",
              {column_blocks(columns_of(arguments.pool), threads, arguments.copy_count),
               arguments.copy_count, 1},
              threads, arguments);
}

KernelLaunch launch_of(const draftproof_kv_release_pages_arguments& arguments) {
  return made("paged_cache_pages", "draftproof_kv_release_pages",
              {arguments.sequences.sequence_count, 1, 1}, threads_of(arguments.block_threads, 128),
              arguments);
}

KernelLaunch launch_of(const draftproof_kv_poison_arguments& arguments) {
  const std::uint32_t threads = threads_of(arguments.block_threads, 256);
  const std::uint32_t sequences = arguments.sequences.sequence_count;
  return made("paged_cache_pages", "draftproof_kv_poison",
              {column_blocks(columns_of(arguments.pool), threads, sequences), sequences, 1},
              threads, arguments);
}

KernelLaunch launch_of(const draftproof_kv_gather_rows_arguments& arguments) {
  const std::uint32_t threads = threads_of(arguments.block_threads, 256);
  std::uint64_t columns = 0;
  for (std::uint32_t i = 0; i < arguments.buffer_count; ++i) {
    const draftproof_kv_rows& rows = arguments.buffers[i];
    columns += rows.row_bytes / width_of(rows.source | rows.destination | rows.source_stride |
                                         rows.destination_stride | rows.row_bytes);
  }
  return made(
      "paged_cache_rows", "draftproof_kv_gather_rows",
      {column_blocks(columns, threads, arguments.sequence_count), arguments.sequence_count, 1},
      threads, arguments);
}

KernelLaunch launch_of(const draftproof_kv_select_states_arguments& arguments) {
  const std::uint32_t threads = threads_of(arguments.block_threads, 256);
  const bool is_exchange = (arguments.flags & DRAFTPROOF_KV_EXCHANGE) != 0;
  const std::uint64_t columns = is_exchange ? 1 : columns_of(arguments.pool);
  return made(
      "recurrent_slots", "draftproof_kv_select_states",
      {column_blocks(columns, threads, arguments.sequence_count), arguments.sequence_count, 1},
      threads, arguments);
}

}  // namespace draftproof::gpu::launches
