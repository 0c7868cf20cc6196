// Where cells go, and how they get there: slots of the fed tokens from the tables, and the tokens'
// keys, values and scales written to them (reference/kv/paged_cache.h, address and write). A slot
// below 0 is no slot: padded rows of a captured graph have it, and it is never written.
// Determinism: gpu_to_gpu, for every block size, grid, order and schedule: bytes are moved.
#include <cstdint>

#include "gpu/kernels/kv/cells.cuh"
#include "gpu/kernels/kv/kept.cuh"

/// One block a sequence; a multiple of 32 threads up to 1,024.
extern "C" __global__ void __launch_bounds__(1024, 1)
    draftproof_kv_map_slots(const __grid_constant__ draftproof_kv_map_slots_arguments arguments) {
  using namespace draftproof::gpu::kernels::kv;
  __shared__ Word word;
  const std::uint32_t number = blockIdx.x;
  begin(word, [&] { return told_of(arguments.sequences, number); });
  const Sequence sequence = sequence_of(arguments.sequences, word.told, arguments.page_size);
  const bool is_packed = arguments.starts != 0;
  const std::int64_t start = is_packed ? integers(arguments.starts)[number]
                                       : static_cast<std::int64_t>(number * arguments.slot_stride);
  const std::uint64_t room = is_packed ? arguments.slot_count : arguments.slot_stride;
  const std::uint64_t used = static_cast<std::uint64_t>(sequence.fed) + (is_packed ? start : 0);
  const bool has_room = start >= 0 && used <= room;
  if (!sequence.is_sound)
    word.find(Look::kCounts, sequence.fault);
  else if (sequence.is_there && !has_room)
    word.find(Look::kCounts, DRAFTPROOF_KV_BAD_LENGTH);
  const bool is_good = sequence.is_there && sequence.is_sound && has_room;
  const auto length = static_cast<std::uint32_t>(sequence.length);
  for (std::uint32_t i = threadIdx.x; is_good && i < sequence.fed; i += blockDim.x)
    if (!is_page(place_of(sequence.table, length + i, arguments.page_size).page,
                 arguments.page_count))
      word.find(Look::kPages, DRAFTPROOF_KV_BAD_PAGE);
  __syncthreads();
  const std::uint32_t status = word.status();
  if (threadIdx.x == 0) reinterpret_cast<std::uint32_t*>(arguments.statuses)[number] = status;
  const bool is_placed = is_good && status == DRAFTPROOF_KV_OK;
  // Of a packed sequence that cannot be placed the places are known only if there is room for them.
  const std::uint64_t places = !is_packed ? arguments.slot_stride : is_good ? sequence.fed : 0;
  auto* const slots = reinterpret_cast<std::int64_t*>(arguments.slots) + start;
  for (std::uint64_t i = threadIdx.x; i < places; i += blockDim.x) {
    std::int64_t slot = -1;
    if (is_placed && i < static_cast<std::uint64_t>(sequence.fed)) {
      const Place place =
          place_of(sequence.table, length + static_cast<std::uint32_t>(i), arguments.page_size);
      slot = static_cast<std::int64_t>(place.page) * arguments.page_size + place.slot;
    }
    slots[i] = slot;
  }
}

/// Grid (tokens, column blocks); a multiple of 32 threads up to 1,024.
extern "C" __global__ void __launch_bounds__(1024, 1)
    draftproof_kv_append(const __grid_constant__ draftproof_kv_append_arguments arguments) {
  using namespace draftproof::gpu::kernels::kv;
  const draftproof_kv_pool& pool = arguments.pool;
  const std::uint32_t token = blockIdx.x;
  std::int64_t slot = reinterpret_cast<const std::int64_t*>(arguments.slots)[token];
  const std::int64_t slots = static_cast<std::int64_t>(pool.page_count) * pool.page_size;
  anchor::slot(slot, slots);
  const bool is_outside = slot >= slots;
  if (arguments.statuses != 0 && blockIdx.y == 0 && threadIdx.x == 0)
    reinterpret_cast<std::uint32_t*>(arguments.statuses)[token] =
        is_outside ? DRAFTPROOF_KV_BAD_SLOT : DRAFTPROOF_KV_OK;
  if (slot < 0 || is_outside) return;
  const auto page = static_cast<std::uint32_t>(slot / pool.page_size);
  const auto inside = static_cast<std::uint32_t>(slot % pool.page_size);
  each_column(
      pool, pool.plane_count, blockIdx.y * blockDim.x + threadIdx.x, gridDim.y * blockDim.x,
      is_of_slots,
      [&](std::uint32_t number) {
        const draftproof_kv_source& source = arguments.sources[number];
        return shape_of(pool.planes[number],
                        source.base | source.layer_stride | source.token_stride,
                        source.head_stride);
      },
      [&](std::uint32_t number, const PlaneShape& shape, std::uint32_t index) {
        const draftproof_kv_plane& plane = pool.planes[number];
        const draftproof_kv_source& source = arguments.sources[number];
        const Column column = column_of(shape, index);
        const std::uint64_t from = source.base + column.layer * source.layer_stride +
                                   token * source.token_stride + column.head * source.head_stride +
                                   column.offset;
        const std::uint64_t to = address_of(plane, column) + entry_offset(plane, page, inside);
        with_vector(shape.width, [&](auto vector) {
          using Vector = decltype(vector);
          *reinterpret_cast<Vector*>(to) = *reinterpret_cast<const Vector*>(from);
        });
      });
}
