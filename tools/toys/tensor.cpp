#include "tools/toys/tensor.h"

#include <bit>
#include <cmath>
#include <utility>

#include "reference/error.h"

namespace draftproof::tools::toys {
namespace {

std::uint32_t bits_of(float value) { return std::bit_cast<std::uint32_t>(value); }

/// IEEE 754 binary16 of a value that it holds.
std::uint16_t half_of(float value) {
  const std::uint32_t sign = bits_of(value) >> 16 & 0x8000u;
  const double magnitude = std::abs(static_cast<double>(value));
  // Below 2^-14 numbers are multiples of 2^-24 without an implicit bit.
  if (magnitude < 0x1p-14) {
    const double units = magnitude * 0x1p24;
    DRAFTPROOF_CHECK(units == std::floor(units), "f16 does not hold " + std::to_string(value));
    return static_cast<std::uint16_t>(sign | static_cast<std::uint32_t>(units));
  }
  DRAFTPROOF_CHECK(magnitude <= 65504 && (bits_of(value) & 0x1fffu) == 0,
                   "f16 does not hold " + std::to_string(value));
  const std::uint32_t exponent = (bits_of(value) >> 23 & 0xffu) - 127 + 15;
  return static_cast<std::uint16_t>(sign | exponent << 10 | (bits_of(value) >> 13 & 0x3ffu));
}

std::uint16_t bfloat_of(float value) {
  DRAFTPROOF_CHECK((bits_of(value) & 0xffffu) == 0, "bf16 does not hold " + std::to_string(value));
  return static_cast<std::uint16_t>(bits_of(value) >> 16);
}

}  // namespace

std::string_view to_string(TensorFormat format) {
  return format == TensorFormat::kF32 ? "f32" : format == TensorFormat::kF16 ? "f16" : "bf16";
}

TensorFormat tensor_format(std::string_view name) {
  for (const TensorFormat format : {TensorFormat::kF32, TensorFormat::kF16, TensorFormat::kBf16})
    if (to_string(format) == name) return format;
  throw Error(ErrorKind::kInput, "there is no " + std::string(name) + "; known: f32, f16, bf16",
              "--dtype");
}

Tensor tensor_of(std::string name, std::vector<std::uint64_t> shape, TensorFormat format,
                 const std::vector<float>& values) {
  std::uint64_t count = 1;
  for (const std::uint64_t size : shape) count *= size;
  DRAFTPROOF_CHECK(count == values.size(), name);
  Tensor tensor{std::move(name), std::move(shape), format, {}};
  tensor.bytes.reserve(values.size() * 4);
  for (const float value : values) {
    if (format == TensorFormat::kF32) {
      append_little_endian(tensor.bytes, bits_of(value), 4);
    } else {
      append_little_endian(tensor.bytes,
                           format == TensorFormat::kF16 ? half_of(value) : bfloat_of(value), 2);
    }
  }
  return tensor;
}

void append_little_endian(std::string& bytes, std::uint64_t value, int size) {
  for (int i = 0; i < size; ++i) bytes.push_back(static_cast<char>(value >> 8 * i & 0xff));
}

}  // namespace draftproof::tools::toys
