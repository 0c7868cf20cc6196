#include "gpu/launches/checks.h"

#include <cstddef>

namespace draftproof::gpu::launches {

bool overlap(std::span<const Extent> extents) {
  for (std::size_t i = 0; i < extents.size(); ++i)
    for (std::size_t j = i + 1; j < extents.size(); ++j) {
      const Extent& a = extents[i];
      const Extent& b = extents[j];
      if (!a.is_written && !b.is_written) continue;
      if (a.begin == 0 || b.begin == 0 || a.bytes == 0 || b.bytes == 0) continue;
      if (a.begin < b.begin ? b.begin - a.begin < a.bytes : a.begin - b.begin < b.bytes)
        return true;
    }
  return false;
}

bool multiply(std::uint64_t a, std::uint64_t b, std::uint64_t& result) {
  std::uint64_t product = 0;
  if (__builtin_mul_overflow(a, b, &product)) return false;
  result = product;
  return true;
}

bool add(std::uint64_t a, std::uint64_t b, std::uint64_t& result) {
  std::uint64_t sum = 0;
  if (__builtin_add_overflow(a, b, &sum)) return false;
  result = sum;
  return true;
}

bool strided_bytes(std::uint64_t rows, std::uint64_t stride, std::uint64_t row_elements,
                   std::uint64_t element_bytes, std::uint64_t& result) {
  std::uint64_t elements = 0, bytes = 0;
  if (rows != 0 &&
      (!multiply(rows - 1, stride, elements) || !add(elements, row_elements, elements)))
    return false;
  if (!multiply(elements, element_bytes, bytes) || bytes >> 63 != 0) return false;
  result = bytes;
  return true;
}

}  // namespace draftproof::gpu::launches
