// Rows of the accepted tokens: hidden states, positions and whatever else is kept a fed token goes
// where the next draft reads it, in the order of the path (the list that a commit moves cells by).
// Determinism: gpu_to_gpu, for every block size, grid, order and schedule: bytes are moved.
#include <cstdint>

#include "gpu/kernels/kv/cells.cuh"
#include "gpu/kernels/kv/kept.cuh"

namespace draftproof::gpu::kernels::kv {

/// The first row of a sequence, or below 0.
__device__ __forceinline__ std::int64_t first_row(draftproof_pointer starts, std::uint32_t rows,
                                                  std::uint32_t number) {
  return starts == 0 ? static_cast<std::int64_t>(number) * rows : integers(starts)[number];
}

__device__ __forceinline__ bool are_rows(std::int64_t first, std::int64_t count,
                                         std::uint64_t row_count) {
  return first >= 0 && static_cast<std::uint64_t>(first + count) <= row_count;
}

}  // namespace draftproof::gpu::kernels::kv

/// Grid (column blocks, sequences); a multiple of 32 threads up to 1,024.
extern "C" __global__ void __launch_bounds__(1024, 1) draftproof_kv_gather_rows(
    const __grid_constant__ draftproof_kv_gather_rows_arguments arguments) {
  using namespace draftproof::gpu::kernels::kv;
  __shared__ Word word;
  const std::uint32_t number = blockIdx.y;
  const std::int64_t source = first_row(arguments.source_starts, arguments.source_rows, number);
  const std::int64_t destination =
      first_row(arguments.destination_starts, arguments.destination_rows, number);
  begin(word, [&] {
    return Told{0, 0, integers(arguments.fed_counts)[number], count_of(arguments.kept, number)};
  });
  const std::int64_t fed = word.told.fed;
  Kept kept{nullptr, nullptr, 0, 0, 0};
  const bool is_fed = fed >= 0 && are_rows(source, fed, arguments.source_row_count) &&
                      (arguments.source_starts != 0 || fed <= arguments.source_rows);
  if (is_fed)
    kept = kept_of(arguments.kept, number, fed, (arguments.flags & DRAFTPROOF_KV_CLIP) != 0, word);
  if (!is_fed || !are_rows(destination, kept.count, arguments.destination_row_count) ||
      (arguments.destination_starts == 0 && kept.count > arguments.destination_rows))
    word.find(Look::kPages, DRAFTPROOF_KV_BAD_LENGTH);
  __syncthreads();
  const std::uint32_t status = word.status();
  const std::uint32_t count = status == DRAFTPROOF_KV_OK ? kept.count : 0;
  if (blockIdx.x == 0 && threadIdx.x == 0) {
    reinterpret_cast<std::uint32_t*>(arguments.statuses)[number] = status;
    if (arguments.kept_counts != 0)
      reinterpret_cast<std::uint32_t*>(arguments.kept_counts)[number] = count;
  }
  std::uint64_t next = blockIdx.x * blockDim.x + threadIdx.x;
  const std::uint32_t threads = gridDim.x * blockDim.x;
#pragma unroll 1
  for (std::uint32_t i = 0; i < arguments.buffer_count && count > 0; ++i) {
    const draftproof_kv_rows& rows = arguments.buffers[i];
    const std::uint32_t width = width_of(rows.source | rows.destination | rows.source_stride |
                                         rows.destination_stride | rows.row_bytes);
    const std::uint64_t columns = rows.row_bytes / width;
#pragma unroll 1
    for (; next < columns; next += threads) {
      const std::uint64_t from = rows.source + next * width;
      const std::uint64_t to =
          rows.destination + destination * rows.destination_stride + next * width;
      with_vector(width, [&](auto vector) {
        // Two ahead: kept rows are looked up on the way, and 64 registers hold no more.
        copy_column<decltype(vector), 2>(
            count,
            [&](std::uint32_t row) {
              auto offset = static_cast<std::uint32_t>(kept.offset(row));
              anchor::gathered(offset);
              return from + (source + offset) * rows.source_stride;
            },
            [&](std::uint32_t row) { return to + row * rows.destination_stride; });
      });
    }
    next -= columns;
  }
}
