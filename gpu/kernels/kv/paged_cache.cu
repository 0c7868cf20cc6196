// Commit on the device: of every sequence the kept temporary cells move together, in place, across
// pages, in all layers and planes (reference/kv/paged_cache.h, commit). One launch whatever the
// batch; a sequence that moves nothing costs a look at its list.
//
// Proof that in-place moves meet no hazard: gpu/kernels/arguments/kv.h. Determinism: gpu_to_gpu,
// for every block size, grid, order and schedule: bytes are moved, and each by one thread.
#include <cstdint>

#include "gpu/kernels/kv/anchor.cuh"
#include "gpu/kernels/kv/cells.cuh"
#include "gpu/kernels/kv/kept.cuh"

namespace draftproof::gpu::kernels::kv {

inline constexpr std::uint32_t kTileMoves = 64;

/// One cell's way.
struct Move {
  std::uint32_t from_page, from_slot, to_page, to_slot;
};

struct CommitScratch {
  Word word;
  Move moves[kTileMoves];
};

struct Commit {
  const draftproof_kv_commit_arguments& arguments;
  const Sequence& sequence;
  const Kept& kept;

  __device__ __forceinline__ Move move(std::uint32_t i) const {
    const std::uint32_t size = arguments.pool.page_size;
    const auto length = static_cast<std::uint32_t>(sequence.length);
    std::uint32_t from = length + static_cast<std::uint32_t>(kept.offset(i));
    const std::uint32_t to = length + i;
    anchor::move(from, to);
    const Place source = place_of(sequence.table, from, size);
    const Place destination = place_of(sequence.table, to, size);
    return {source.page, source.slot, destination.page, destination.slot};
  }

  /// Both pages of every move. Called by the whole block.
  __device__ __forceinline__ void look_at_pages(std::uint32_t first, Word& word) const {
    for (std::uint32_t i = first + threadIdx.x; i < kept.count; i += blockDim.x) {
      const Move way = move(i);
      const std::uint32_t page_count = arguments.pool.page_count;
      if (!is_page(way.from_page, page_count) || !is_page(way.to_page, page_count))
        word.find(Look::kPages, DRAFTPROOF_KV_BAD_PAGE);
    }
  }

  /// Cells keep their meaning: where pages have scales, both pages of a move have the same. Called
  /// by the whole block, with sound pages.
  __device__ __forceinline__ void look_at_page_scales(std::uint32_t first, Word& word) const {
    const draftproof_kv_pool& pool = arguments.pool;
    for (std::uint32_t number = 0; number < pool.plane_count; ++number) {
      const draftproof_kv_plane& plane = pool.planes[number];
      if (is_of_slots(plane)) continue;
      const PlaneShape shape = shape_of(plane);
      const std::uint32_t columns = shape.entry_columns * pool.layer_count;
      for (std::uint32_t i = first; i < kept.count; ++i) {
        const Move way = move(i);
        if (way.from_page == way.to_page) continue;
        for (std::uint32_t c = threadIdx.x; c < columns; c += blockDim.x) {
          const std::uint64_t at = address_of(plane, column_of(shape, c));
          const auto* from =
              reinterpret_cast<const std::uint8_t*>(at + way.from_page * plane.page_stride);
          const auto* to =
              reinterpret_cast<const std::uint8_t*>(at + way.to_page * plane.page_stride);
          for (std::uint32_t byte = 0; byte < shape.width; ++byte)
            if (from[byte] != to[byte]) word.find(Look::kScales, DRAFTPROOF_KV_PAGE_SCALES_DIFFER);
        }
      }
    }
  }

  /// The moves of one tile, in the columns of this thread.
  __device__ __forceinline__ void copy(const Move* moves, std::uint32_t count) const {
    const draftproof_kv_pool& pool = arguments.pool;
    std::uint32_t plane_count = pool.plane_count;
    anchor::planes(plane_count);
    each_column(
        pool, plane_count, blockIdx.x * blockDim.x + threadIdx.x, gridDim.x * blockDim.x,
        is_of_slots, [&](std::uint32_t number) { return shape_of(pool.planes[number]); },
        [&](std::uint32_t number, const PlaneShape& shape, std::uint32_t index) {
          const draftproof_kv_plane& plane = pool.planes[number];
          std::uint32_t based = number;
          anchor::base(based);
          const std::uint64_t at = address_of(pool.planes[based], column_of(shape, index));
          with_vector(shape.width, [&](auto vector) {
            copy_column<decltype(vector)>(
                count,
                [&](std::uint32_t i) {
                  return at + entry_offset(plane, moves[i].from_page, moves[i].from_slot);
                },
                [&](std::uint32_t i) {
                  return at + entry_offset(plane, moves[i].to_page, moves[i].to_slot);
                });
          });
        });
  }

  static __device__ __forceinline__ std::uint32_t place_in(std::uint32_t i, std::uint32_t count) {
    std::uint32_t place = i;
    anchor::order(place, count);
    return place;
  }

  /// All moves from number `first` on. Called by the whole block.
  __device__ __forceinline__ void run(std::uint32_t first, CommitScratch& scratch) const {
    for (std::uint32_t begin = first; begin < kept.count; begin += kTileMoves) {
      const std::uint32_t count = min(kTileMoves, kept.count - begin);
      __syncthreads();  // the tile before has been read
      for (std::uint32_t i = threadIdx.x; i < count; i += blockDim.x)
        scratch.moves[place_in(i, count)] = move(begin + i);
      __syncthreads();
      copy(scratch.moves, count);
    }
  }
};

}  // namespace draftproof::gpu::kernels::kv

/// Grid (column blocks, sequences); a multiple of 32 threads up to 1,024.
extern "C" __global__ void __launch_bounds__(1024, 1)
    draftproof_kv_commit(const __grid_constant__ draftproof_kv_commit_arguments arguments) {
  using namespace draftproof::gpu::kernels::kv;
  __shared__ CommitScratch scratch;
  const std::uint32_t number = blockIdx.y;
  Word& word = scratch.word;
  begin(word, [&] {
    Told told = told_of(arguments.sequences, number);
    if (told.row != -1) told.count = count_of(arguments.kept, number);
    return told;
  });
  const Sequence sequence = sequence_of(arguments.sequences, word.told, arguments.pool.page_size);
  const bool is_speaker = blockIdx.x == 0 && threadIdx.x == 0;
  auto* const status = reinterpret_cast<std::uint32_t*>(arguments.statuses) + number;
  if (!sequence.is_there || !sequence.is_sound) {
    if (is_speaker) *status = sequence.is_there ? sequence.fault : DRAFTPROOF_KV_OK;
    if (is_speaker && sequence.is_there && arguments.new_lengths != 0)
      reinterpret_cast<std::int32_t*>(arguments.new_lengths)[number] = word.told.length;
    return;
  }
  const Kept kept = kept_of(arguments.kept, number, sequence.fed,
                            (arguments.flags & DRAFTPROOF_KV_CLIP) != 0, word);
  const Commit commit{arguments, sequence, kept};
  __syncthreads();
  const std::uint32_t first = min(word.moved, kept.count);
  if (word.is_sound(Look::kCounts)) commit.look_at_pages(first, word);
  __syncthreads();
  if (word.is_sound(Look::kCounts) && word.is_sound(Look::kPages))
    commit.look_at_page_scales(first, word);
  __syncthreads();
  const std::uint32_t found = word.status();
  const bool is_sound = found == DRAFTPROOF_KV_OK;
  if (is_speaker) {
    *status = found;
    const auto before = static_cast<std::uint32_t>(sequence.length);
    std::uint32_t after = before + (is_sound ? kept.count : 0);
    anchor::length(after, before);
    if (arguments.new_lengths != 0)
      reinterpret_cast<std::uint32_t*>(arguments.new_lengths)[number] = after;
  }
  if (is_sound) commit.run(first, scratch);
}
