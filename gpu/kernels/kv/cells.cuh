// Cells as kernels walk them: planes of a pool cut into columns, each as wide as alignment allows.
// A column is a range of bytes inside a cell at one place of one plane of one layer; whoever copies
// cells gives a column to one thread (gpu/kernels/arguments/kv.h says why).
#pragma once

#include <cstdint>

#include "gpu/kernels/arguments/kv.h"

namespace draftproof::gpu::kernels::kv {

inline constexpr std::uint32_t kWidthMax = 16;
/// Loads that run ahead of their stores.
inline constexpr std::uint32_t kAhead = 4;

/// The largest power of two up to 16 that everything or-ed into `bits` is a multiple of.
__device__ __forceinline__ std::uint32_t width_of(std::uint64_t bits) {
  const std::uint64_t capped = bits | kWidthMax;
  return static_cast<std::uint32_t>(capped & (~capped + 1));
}

/// One plane in columns.
struct PlaneShape {
  std::uint32_t width;
  std::uint32_t row_columns;    ///< of a head; of all heads when they lie one behind the other
  std::uint32_t entry_columns;  ///< of one entry of one layer
};

/// `other_bits` and `other_head_stride`: of the buffer that is copied from, when it is another one.
__device__ __forceinline__ PlaneShape shape_of(const draftproof_kv_plane& plane,
                                               std::uint64_t other_bits,
                                               std::uint64_t other_head_stride) {
  std::uint64_t bits = plane.page_stride | plane.head_bytes | other_bits;
  if (plane.unit == DRAFTPROOF_KV_SLOT) bits |= plane.slot_stride;
  bits |= plane.bases != 0 ? plane.bases_alignment : plane.base | plane.layer_stride;
  const bool is_dense = plane.head_count == 1 || (plane.head_stride == plane.head_bytes &&
                                                  other_head_stride == plane.head_bytes);
  if (!is_dense) bits |= plane.head_stride | other_head_stride;
  const std::uint32_t width = width_of(bits);
  const std::uint32_t head_columns = plane.head_bytes / width;
  const std::uint32_t entry_columns = head_columns * plane.head_count;
  return {width, is_dense ? entry_columns : head_columns, entry_columns};
}

__device__ __forceinline__ PlaneShape shape_of(const draftproof_kv_plane& plane) {
  return shape_of(plane, 0, plane.head_stride);
}

__device__ __forceinline__ std::uint64_t base_of(const draftproof_kv_plane& plane,
                                                 std::uint32_t layer) {
  return plane.bases != 0 ? reinterpret_cast<const std::uint64_t*>(plane.bases)[layer]
                          : plane.base + layer * plane.layer_stride;
}

/// Bytes from a base to the entry of a page and a slot.
__device__ __forceinline__ std::uint64_t entry_offset(const draftproof_kv_plane& plane,
                                                      std::uint32_t page, std::uint32_t slot) {
  const std::uint64_t offset = page * plane.page_stride;
  return plane.unit == DRAFTPROOF_KV_SLOT ? offset + slot * plane.slot_stride : offset;
}

/// Where a column lies inside the entries of its plane.
struct Column {
  std::uint32_t layer;
  std::uint32_t head;    ///< 0 where heads lie one behind the other
  std::uint32_t offset;  ///< bytes in the head
};

__device__ __forceinline__ Column column_of(const PlaneShape& shape, std::uint32_t index) {
  const std::uint32_t layer = index / shape.entry_columns;
  const std::uint32_t inside = index - layer * shape.entry_columns;
  const std::uint32_t head = inside / shape.row_columns;
  return {layer, head, (inside - head * shape.row_columns) * shape.width};
}

/// The address of a column of page 0, slot 0.
__device__ __forceinline__ std::uint64_t address_of(const draftproof_kv_plane& plane,
                                                    const Column& column) {
  return base_of(plane, column.layer) + column.head * plane.head_stride + column.offset;
}

/// Calls visit(plane number, shape, column number) for the columns of this thread, of all planes
/// for which `is_wanted(plane)`, among `threads` threads of which this is number `first`.
/// `shape(i)` is the shape of plane i.
template <class IsWanted, class Shape, class Visit>
__device__ __forceinline__ void each_column(const draftproof_kv_pool& pool,
                                            std::uint32_t plane_count, std::uint32_t first,
                                            std::uint32_t threads, const IsWanted& is_wanted,
                                            const Shape& shape, const Visit& visit) {
  std::uint64_t next = first;
#pragma unroll 1
  for (std::uint32_t number = 0; number < plane_count; ++number) {
    if (!is_wanted(pool.planes[number])) continue;
    const PlaneShape own = shape(number);
    const std::uint64_t columns = static_cast<std::uint64_t>(own.entry_columns) * pool.layer_count;
#pragma unroll 1
    for (; next < columns; next += threads) visit(number, own, static_cast<std::uint32_t>(next));
    next -= columns;
  }
}

/// Calls act(Vector{}) with the vector type of so many bytes.
template <class Act>
__device__ __forceinline__ void with_vector(std::uint32_t width, const Act& act) {
  switch (width) {
    case 16:
      return act(uint4{});
    case 8:
      return act(uint2{});
    case 4:
      return act(std::uint32_t{});
    case 2:
      return act(std::uint16_t{});
    default:
      return act(std::uint8_t{});
  }
}

/// Copies one column `count` times in order, the loads of `ahead` copies before their stores:
/// from(i) and to(i) are addresses.
template <class Vector, std::uint32_t ahead = kAhead, class From, class To>
__device__ __forceinline__ void copy_column(std::uint32_t count, const From& from, const To& to) {
#pragma unroll 1
  for (std::uint32_t i = 0; i < count; i += ahead) {
    Vector held[ahead];
#pragma unroll
    for (std::uint32_t j = 0; j < ahead; ++j)
      if (i + j < count) held[j] = *reinterpret_cast<const Vector*>(from(i + j));
#pragma unroll
    for (std::uint32_t j = 0; j < ahead; ++j)
      if (i + j < count) *reinterpret_cast<Vector*>(to(i + j)) = held[j];
  }
}

__device__ __forceinline__ bool is_of_slots(const draftproof_kv_plane& plane) {
  return plane.unit == DRAFTPROOF_KV_SLOT;
}

}  // namespace draftproof::gpu::kernels::kv
