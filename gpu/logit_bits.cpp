// fp16 has five exponent bits with bias 15 against fp32's eight with bias 127; bf16 is the upper
// half of fp32.
#include "gpu/logit_bits.h"

#include <bit>
#include <cmath>

#include "reference/error.h"

namespace draftproof::gpu {
namespace {

std::uint32_t half_bits(float value) {
  const std::uint32_t sign = std::signbit(value) ? 0x8000u : 0u;
  const float magnitude = std::fabs(value);
  if (std::isnan(value)) return sign | 0x7e00u;
  if (std::isinf(value)) return sign | 0x7c00u;
  // Below 2^-14 the spacing is 2^-24, and so are the units of the bits.
  if (magnitude < 0x1p-14f) return sign | static_cast<std::uint32_t>(magnitude * 0x1p24f);
  const std::uint32_t bits = std::bit_cast<std::uint32_t>(magnitude);
  return sign | ((bits >> 13) - ((127u - 15u) << 10));
}

float half_value(std::uint32_t bits) {
  const float sign = (bits & 0x8000u) != 0 ? -1.0f : 1.0f;
  const std::uint32_t exponent = bits >> 10 & 0x1f;
  const std::uint32_t fraction = bits & 0x3ff;
  if (exponent == 0x1f)
    return fraction != 0 ? std::nanf("") : sign * std::numeric_limits<float>::infinity();
  if (exponent == 0) return sign * static_cast<float>(fraction) * 0x1p-24f;
  return sign * std::ldexp(static_cast<float>(fraction + 0x400), static_cast<int>(exponent) - 25);
}

}  // namespace

std::size_t bytes_of(reference::LogitFormat format) {
  return format == reference::LogitFormat::kFloat32 ? 4 : 2;
}

std::uint32_t bits_of(reference::LogitFormat format, float value) {
  std::uint32_t bits = std::bit_cast<std::uint32_t>(value);
  if (format == reference::LogitFormat::kBfloat16)
    bits = std::isnan(value) ? (bits >> 16) | 0x40u : bits >> 16;
  if (format == reference::LogitFormat::kFloat16) bits = half_bits(value);
  DRAFTPROOF_CHECK(std::isnan(value) || value_of(format, bits) == value, std::to_string(value));
  return bits;
}

float value_of(reference::LogitFormat format, std::uint32_t bits) {
  switch (format) {
    case reference::LogitFormat::kFloat32:
      return std::bit_cast<float>(bits);
    case reference::LogitFormat::kBfloat16:
      return std::bit_cast<float>(bits << 16);
    case reference::LogitFormat::kFloat16:
      return half_value(bits);
  }
  DRAFTPROOF_CHECK(false, "unknown format");
  return 0;
}

}  // namespace draftproof::gpu
