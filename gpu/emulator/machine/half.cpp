// Sums of 16-bit floats: computed in double. A double has 53 bits; the exact sum of two binary16 or
// bfloat16 numbers may need more, but then the smaller lies so far below the larger's last place
// that double's rounding, with its sticky parity, cannot cross a midpoint: p >= 2 * 11 + 2
// (Figueroa 1995).
#include "gpu/emulator/machine/half.h"

#include <bit>
#include <cmath>

namespace draftproof::gpu::emulator {

namespace {

double half_to_double(std::uint16_t bits) {
  const int exponent = bits >> 10 & 31;
  const int fraction = bits & 1023;
  double value;
  if (exponent == 31) {
    value = fraction == 0 ? HUGE_VAL : std::nan("");
  } else if (exponent == 0) {
    value = std::ldexp(fraction, -24);
  } else {
    value = std::ldexp(1024 + fraction, exponent - 25);
  }
  return (bits & 0x8000) != 0 ? -value : value;
}

/// Rounds to nearest, ties to even, with `fraction_bits` and the smallest normal exponent given.
double round_to(double value, int fraction_bits, int least_exponent) {
  if (value == 0 || !std::isfinite(value)) return value;
  int exponent;
  std::frexp(value, &exponent);
  int unit = exponent - 1 - fraction_bits;
  if (unit < least_exponent - fraction_bits) unit = least_exponent - fraction_bits;
  return std::ldexp(std::nearbyint(std::ldexp(value, -unit)), unit);
}

std::uint16_t double_to_half(double value) {
  const std::uint16_t sign = std::signbit(value) ? 0x8000 : 0;
  const double size = round_to(std::fabs(value), 10, -14);
  if (size >= 65536.0) return sign | 0x7c00;
  if (size < std::ldexp(1, -14)) {
    return static_cast<std::uint16_t>(sign | static_cast<int>(std::ldexp(size, 24)));
  }
  int exponent;
  const double fraction = std::frexp(size, &exponent);
  const int mantissa = static_cast<int>(std::ldexp(fraction, 11)) - 1024;
  return static_cast<std::uint16_t>(sign | (exponent + 14) << 10 | mantissa);
}

}  // namespace

std::uint16_t add_half(std::uint16_t a, std::uint16_t b) {
  const double sum = half_to_double(a) + half_to_double(b);
  return std::isnan(sum) ? 0x7fff : double_to_half(sum);
}

std::uint16_t add_bfloat(std::uint16_t a, std::uint16_t b) {
  const auto wide = [](std::uint16_t bits) {
    return static_cast<double>(std::bit_cast<float>(std::uint32_t{bits} << 16));
  };
  const double sum = wide(a) + wide(b);
  if (std::isnan(sum)) return 0x7fff;
  const double rounded = round_to(sum, 7, -126);
  // Beyond the largest finite bfloat16 the conversion to float gives infinity or a value whose
  // upper half is infinity's.
  const float narrow = std::fabs(rounded) >= std::ldexp(1.0, 128)
                           ? std::copysign(HUGE_VALF, static_cast<float>(rounded))
                           : static_cast<float>(rounded);
  return static_cast<std::uint16_t>(std::bit_cast<std::uint32_t>(narrow) >> 16);
}

}  // namespace draftproof::gpu::emulator
