// Checks: what every call of the C interface holds its arguments against before anything is
// launched. All answer by value and allocate nothing.
#pragma once

#include <cstdint>
#include <span>

#include "gpu/kernels/arguments/result.h"

namespace draftproof::gpu::launches {

inline constexpr draftproof_result kGood{DRAFTPROOF_OK, ""};

/// A buffer that a launch touches.
struct Extent {
  draftproof_pointer begin = 0;
  std::uint64_t bytes = 0;
  bool is_written = false;
};

/// True when a written extent shares a byte with another one. Empty and null extents share none.
bool overlap(std::span<const Extent> extents);

/// False when `pointer` is no multiple of `alignment`, a power of two.
constexpr bool is_aligned(draftproof_pointer pointer, std::uint64_t alignment) {
  return (pointer & (alignment - 1)) == 0;
}

/// a * b and a + b; false, and `result` is not written, when it does not fit in 64 bits.
bool multiply(std::uint64_t a, std::uint64_t b, std::uint64_t& result);
bool add(std::uint64_t a, std::uint64_t b, std::uint64_t& result);

/// Bytes from the first to behind the last of `rows` rows of `row_elements` elements, `stride`
/// elements apart. False when that does not fit in 63 bits. 0 rows: 0 bytes.
bool strided_bytes(std::uint64_t rows, std::uint64_t stride, std::uint64_t row_elements,
                   std::uint64_t element_bytes, std::uint64_t& result);

}  // namespace draftproof::gpu::launches
