// Recurrent slots on the device: of the states behind every fed token the one behind the last kept
// token becomes the committed one (reference/kv/recurrent_slots.h, keep). Nothing of a recurrent
// state can be cut off, so a wrong choice stays for ever. Determinism: gpu_to_gpu, for every block
// size, grid, order and schedule: bytes are moved.
#include <cstdint>

#include "gpu/kernels/kv/cells.cuh"
#include "gpu/kernels/kv/kept.cuh"

namespace draftproof::gpu::kernels::kv {

/// Copies one state in the columns of this thread.
__device__ __forceinline__ void copy_state(const draftproof_kv_pool& pool, std::int32_t from,
                                           std::int32_t to) {
  each_column(
      pool, pool.plane_count, blockIdx.x * blockDim.x + threadIdx.x, gridDim.x * blockDim.x,
      [](const draftproof_kv_plane&) { return true; },
      [&](std::uint32_t number) { return shape_of(pool.planes[number]); },
      [&](std::uint32_t number, const PlaneShape& shape, std::uint32_t index) {
        const draftproof_kv_plane& plane = pool.planes[number];
        const std::uint64_t at = address_of(plane, column_of(shape, index));
        with_vector(shape.width, [&](auto vector) {
          copy_column<decltype(vector)>(
              1, [&](std::uint32_t) { return at + from * plane.page_stride; },
              [&](std::uint32_t) { return at + to * plane.page_stride; });
        });
      });
}

}  // namespace draftproof::gpu::kernels::kv

/// Grid (column blocks, sequences), one column block for an exchange; a multiple of 32 threads up
/// to 1,024.
extern "C" __global__ void __launch_bounds__(1024, 1) draftproof_kv_select_states(
    const __grid_constant__ draftproof_kv_select_states_arguments arguments) {
  using namespace draftproof::gpu::kernels::kv;
  __shared__ Word word;
  const std::uint32_t number = blockIdx.y;
  const std::uint32_t slot_count = arguments.pool.page_count;
  auto* const committed = reinterpret_cast<std::int32_t*>(arguments.committed) + number;
  auto* const candidates =
      reinterpret_cast<std::int32_t*>(arguments.candidates) + number * arguments.candidate_stride;
  auto* const status = reinterpret_cast<std::uint32_t*>(arguments.statuses) + number;
  const bool is_speaker = blockIdx.x == 0 && threadIdx.x == 0;
  // Read before the barrier: an exchange writes it later.
  begin(word, [&] {
    Told told{*committed, 0, 0, 0};
    if (told.row != -1) {
      told.fed = integers(arguments.fed_counts)[number];
      told.count = count_of(arguments.kept, number);
    }
    return told;
  });
  const std::int32_t to = word.told.row;
  const std::int64_t fed = word.told.fed;
  if (to == -1) {
    if (is_speaker) *status = DRAFTPROOF_KV_OK;
    return;
  }
  Kept kept{nullptr, nullptr, 0, 0, 0};
  if (!is_page(static_cast<std::uint32_t>(to), slot_count))
    word.find(Look::kCounts, DRAFTPROOF_KV_BAD_SLOT);
  else if (fed < 0 || fed > arguments.candidate_max)
    word.find(Look::kCounts, DRAFTPROOF_KV_BAD_LENGTH);
  else
    kept = kept_of(arguments.kept, number, fed, (arguments.flags & DRAFTPROOF_KV_CLIP) != 0, word);
  __syncthreads();
  std::uint32_t found = word.status();
  std::int32_t from = to;
  std::uint32_t selected = 0;
  if (found == DRAFTPROOF_KV_OK && kept.count > 0) {
    selected = static_cast<std::uint32_t>(kept.offset(kept.count - 1));
    anchor::selected(selected);
    from = candidates[selected];
    if (!is_page(static_cast<std::uint32_t>(from), slot_count)) found = DRAFTPROOF_KV_BAD_SLOT;
  }
  __syncthreads();
  if (is_speaker) *status = found;
  if (found != DRAFTPROOF_KV_OK || from == to) return;
  if ((arguments.flags & DRAFTPROOF_KV_EXCHANGE) == 0) {
    copy_state(arguments.pool, from, to);
  } else if (is_speaker) {
    *committed = from;
    candidates[selected] = to;
  }
}
