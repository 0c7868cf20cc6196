// Pages on the device: copied before they are written, released when nothing of them is needed, and
// dropped slots poisoned so that whoever reads them shows (reference/kv/paged_cache.h, reserve,
// give_back, poison). Who holds a page is the engine's own count; tables and bytes are here.
// Determinism: gpu_to_gpu, for every block size, grid, order and schedule.
#include <cstdint>

#include "gpu/kernels/kv/cells.cuh"
#include "gpu/kernels/kv/kept.cuh"

namespace draftproof::gpu::kernels::kv {

/// What may be wrong with a copy.
__device__ __forceinline__ std::uint32_t status_of(
    const draftproof_kv_copy_pages_arguments& arguments, const draftproof_kv_page_copy& copy) {
  const draftproof_kv_pool& pool = arguments.pool;
  if (copy.row != -1 &&
      (arguments.tables == 0 || copy.row < 0 ||
       static_cast<std::uint32_t>(copy.row) >= arguments.row_count || copy.index < 0 ||
       static_cast<std::uint32_t>(copy.index) >= arguments.page_max))
    return DRAFTPROOF_KV_BAD_ROW;
  if (copy.slot_count < 0 || static_cast<std::uint32_t>(copy.slot_count) > pool.page_size)
    return DRAFTPROOF_KV_BAD_LENGTH;
  if (!is_page(static_cast<std::uint32_t>(copy.source), pool.page_count) ||
      !is_page(static_cast<std::uint32_t>(copy.destination), pool.page_count) ||
      copy.source == copy.destination)
    return DRAFTPROOF_KV_BAD_PAGE;
  return DRAFTPROOF_KV_OK;
}

/// What a release does with one table.
struct Release {
  std::uint32_t used;   ///< entries that the sequence had
  std::uint32_t kept;   ///< entries from here on leave
  std::uint32_t first;  ///< entries in front of this one leave
};

__device__ __forceinline__ std::uint32_t pages_of(std::uint32_t slots, std::uint32_t page_size) {
  return slots / page_size + (slots % page_size != 0 ? 1 : 0);
}

/// Precondition: the new length is at most length + fed, and `used` entries hold that.
__device__ __forceinline__ Release
release_of(const draftproof_kv_release_pages_arguments& arguments, std::uint32_t used,
           std::uint32_t after) {
  const std::uint32_t size = arguments.page_size;
  std::uint32_t kept = pages_of(after + arguments.spare_count, size);
  anchor::pages_kept(kept);
  kept = min(kept, used);
  const bool is_behind = arguments.window != 0 && after > arguments.window;
  return {used, kept, min(is_behind ? (after - arguments.window) / size : 0, kept)};
}

}  // namespace draftproof::gpu::kernels::kv

/// Grid (column blocks, copies); a multiple of 32 threads up to 1,024.
extern "C" __global__ void __launch_bounds__(1024, 1)
    draftproof_kv_copy_pages(const __grid_constant__ draftproof_kv_copy_pages_arguments arguments) {
  using namespace draftproof::gpu::kernels::kv;
  const draftproof_kv_pool& pool = arguments.pool;
  const auto copy = reinterpret_cast<const draftproof_kv_page_copy*>(arguments.copies)[blockIdx.y];
  const bool is_absent = copy.source == -1;
  const std::uint32_t status = is_absent ? DRAFTPROOF_KV_OK : status_of(arguments, copy);
  if (blockIdx.x == 0 && threadIdx.x == 0) {
    reinterpret_cast<std::uint32_t*>(arguments.statuses)[blockIdx.y] = status;
    if (!is_absent && status == DRAFTPROOF_KV_OK && copy.row != -1)
      reinterpret_cast<std::int32_t*>(
          arguments.tables)[copy.row * arguments.table_stride + copy.index] = copy.destination;
  }
  if (is_absent || status != DRAFTPROOF_KV_OK || copy.slot_count == 0) return;
  auto slot_count = static_cast<std::uint32_t>(copy.slot_count);
  anchor::copied(slot_count);
  each_column(
      pool, pool.plane_count, blockIdx.x * blockDim.x + threadIdx.x, gridDim.x * blockDim.x,
      [](const draftproof_kv_plane&) { return true; },
      [&](std::uint32_t number) { return shape_of(pool.planes[number]); },
      [&](std::uint32_t number, const PlaneShape& shape, std::uint32_t index) {
        const draftproof_kv_plane& plane = pool.planes[number];
        const std::uint64_t at = address_of(plane, column_of(shape, index));
        const std::uint64_t from = at + copy.source * plane.page_stride;
        const std::uint64_t to = at + copy.destination * plane.page_stride;
        const std::uint64_t step = is_of_slots(plane) ? plane.slot_stride : 0;
        const std::uint32_t count = is_of_slots(plane) ? slot_count : 1;
        with_vector(shape.width, [&](auto vector) {
          copy_column<decltype(vector)>(
              count, [&](std::uint32_t i) { return from + i * step; },
              [&](std::uint32_t i) { return to + i * step; });
        });
      });
}

/// One block a sequence; a multiple of 32 threads up to 1,024.
extern "C" __global__ void __launch_bounds__(1024, 1) draftproof_kv_release_pages(
    const __grid_constant__ draftproof_kv_release_pages_arguments arguments) {
  using namespace draftproof::gpu::kernels::kv;
  __shared__ Word word;
  const std::uint32_t number = blockIdx.x;
  begin(word, [&] { return told_of(arguments.sequences, number); });
  const Sequence sequence = sequence_of(arguments.sequences, word.told, arguments.page_size);
  const std::int64_t after =
      sequence.is_there ? integers(arguments.new_lengths)[number] : std::int64_t{0};
  const std::uint32_t needed =
      pages_of(static_cast<std::uint32_t>(sequence.length + sequence.fed), arguments.page_size);
  auto* const held_counts = reinterpret_cast<std::int32_t*>(arguments.held_counts);
  const std::uint32_t used = !sequence.is_there || held_counts == nullptr
                                 ? needed
                                 : static_cast<std::uint32_t>(held_counts[number]);
  Release release{0, 0, 0};
  std::uint32_t first_behind = 0;   // of the entries that leave behind the length
  std::uint32_t end_of_window = 0;  // entries in front of it have left before
  if (!sequence.is_sound) {
    word.find(Look::kCounts, sequence.fault);
  } else if (sequence.is_there && (after < 0 || after > sequence.length + sequence.fed ||
                                   used < needed || used > arguments.sequences.page_max)) {
    word.find(Look::kCounts, DRAFTPROOF_KV_BAD_LENGTH);
  } else if (sequence.is_there) {
    release = release_of(arguments, used, static_cast<std::uint32_t>(after));
    // Entries that the window has left behind are the first ones, so the first such ends a search,
    // this one and the next.
    first_behind = arguments.window == 0 ? release.kept : release.used;
    while (first_behind > release.kept && sequence.table[first_behind - 1] != -1) --first_behind;
    for (std::uint32_t i = first_behind + threadIdx.x; i < release.used; i += blockDim.x)
      if (!is_page(static_cast<std::uint32_t>(sequence.table[i]), arguments.page_count))
        word.find(Look::kPages, DRAFTPROOF_KV_BAD_PAGE);
    end_of_window = release.first;
    while (end_of_window > 0 && sequence.table[end_of_window - 1] != -1) {
      --end_of_window;
      if (!is_page(static_cast<std::uint32_t>(sequence.table[end_of_window]), arguments.page_count))
        word.find(Look::kPages, DRAFTPROOF_KV_BAD_PAGE);
    }
  }
  __syncthreads();
  const std::uint32_t status = word.status();
  const std::uint32_t behind = release.used - first_behind;
  const std::uint32_t count =
      status == DRAFTPROOF_KV_OK ? behind + (release.first - end_of_window) : 0;
  auto* const table = const_cast<std::int32_t*>(sequence.table);
  auto* const freed =
      reinterpret_cast<std::int32_t*>(arguments.freed) + number * arguments.freed_stride;
  for (std::uint32_t i = threadIdx.x; i < count; i += blockDim.x) {
    const std::uint32_t entry =
        i < behind ? release.used - 1 - i : release.first - 1 - (i - behind);
    freed[i] = table[entry];
    table[entry] = -1;
  }
  if (threadIdx.x != 0) return;
  reinterpret_cast<std::uint32_t*>(arguments.statuses)[number] = status;
  reinterpret_cast<std::uint32_t*>(arguments.freed_counts)[number] = count;
  if (held_counts != nullptr && sequence.is_there && status == DRAFTPROOF_KV_OK)
    held_counts[number] = static_cast<std::int32_t>(release.kept);
}

/// Grid (column blocks, sequences); a multiple of 32 threads up to 1,024.
extern "C" __global__ void __launch_bounds__(1024, 1)
    draftproof_kv_poison(const __grid_constant__ draftproof_kv_poison_arguments arguments) {
  using namespace draftproof::gpu::kernels::kv;
  __shared__ Word word;
  const draftproof_kv_pool& pool = arguments.pool;
  const std::uint32_t number = blockIdx.y;
  begin(word, [&] { return told_of(arguments.sequences, number); });
  const Sequence sequence = sequence_of(arguments.sequences, word.told, pool.page_size);
  const std::int64_t after =
      sequence.is_there ? integers(arguments.new_lengths)[number] : std::int64_t{0};
  const std::int64_t end = sequence.length + sequence.fed;
  const bool is_good = sequence.is_there && sequence.is_sound && after >= 0 && after <= end;
  if (!sequence.is_sound)
    word.find(Look::kCounts, sequence.fault);
  else if (sequence.is_there && !is_good)
    word.find(Look::kCounts, DRAFTPROOF_KV_BAD_LENGTH);
  for (std::int64_t slot = after + threadIdx.x; is_good && slot < end; slot += blockDim.x)
    if (!is_page(place_of(sequence.table, static_cast<std::uint32_t>(slot), pool.page_size).page,
                 pool.page_count))
      word.find(Look::kPages, DRAFTPROOF_KV_BAD_PAGE);
  __syncthreads();
  const std::uint32_t status = word.status();
  if (blockIdx.x == 0 && threadIdx.x == 0)
    reinterpret_cast<std::uint32_t*>(arguments.statuses)[number] = status;
  if (!is_good || status != DRAFTPROOF_KV_OK) return;
  const std::uint32_t four = arguments.byte * 0x01010101u;
  each_column(
      pool, pool.plane_count, blockIdx.x * blockDim.x + threadIdx.x, gridDim.x * blockDim.x,
      is_of_slots, [&](std::uint32_t plane) { return shape_of(pool.planes[plane]); },
      [&](std::uint32_t plane_number, const PlaneShape& shape, std::uint32_t index) {
        const draftproof_kv_plane& plane = pool.planes[plane_number];
        const std::uint64_t at = address_of(plane, column_of(shape, index));
        for (auto slot = static_cast<std::uint32_t>(after); slot < end; ++slot) {
          const Place place = place_of(sequence.table, slot, pool.page_size);
          const std::uint64_t to = at + entry_offset(plane, place.page, place.slot);
          if (shape.width == 16)
            *reinterpret_cast<uint4*>(to) = {four, four, four, four};
          else if (shape.width == 8)
            *reinterpret_cast<uint2*>(to) = {four, four};
          else
            for (std::uint32_t byte = 0; byte < shape.width; ++byte)
              reinterpret_cast<std::uint8_t*>(to)[byte] = static_cast<std::uint8_t>(four);
        }
      });
}
