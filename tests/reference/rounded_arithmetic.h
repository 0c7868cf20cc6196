// Rounded arithmetic: fp32 results by the definition of rounding, in rationals and without any
// floating-point operation, so that a test of fp32 code does not use fp32 code.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

#include "reference/scalar.h"

namespace draftproof::reference {

/// The finite float nearest to `value`, ties to even, subnormals kept; infinity from the value
/// half a step above the largest float on. Zero keeps `is_negative` as its sign.
inline float nearest_float(const Exact& value, bool is_negative_zero = false) {
  if (value == 0) return is_negative_zero ? -0.0F : 0.0F;
  const bool is_negative = value < 0;
  const Exact size = is_negative ? Exact(-value) : value;
  // The exponent e with 2^e <= size < 2^(e+1), at least that of the subnormals.
  int exponent = 0;
  const auto power = [](int e) {
    return e >= 0 ? Exact(BigInteger(1) << e) : Exact(BigInteger(1), BigInteger(1) << -e);
  };
  while (size >= power(exponent + 1)) ++exponent;
  while (size < power(exponent)) --exponent;
  if (exponent < -126) exponent = -126;
  const Exact steps = size / power(exponent - 23);
  BigInteger whole = numerator(steps) / denominator(steps);
  const Exact rest = steps - Exact(whole);
  if (rest > Exact(1, 2) || (rest == Exact(1, 2) && whole % 2 == 1)) ++whole;
  const double result = std::ldexp(whole.convert_to<double>(), exponent - 23);
  if (result >= 0x1p128) {
    const float infinity = std::numeric_limits<float>::infinity();
    return is_negative ? -infinity : infinity;
  }
  const auto exact = static_cast<float>(is_negative ? -result : result);
  return exact == 0 && is_negative ? -0.0F : exact;
}

inline std::uint32_t bits_of(float value) { return std::bit_cast<std::uint32_t>(value); }

}  // namespace draftproof::reference
