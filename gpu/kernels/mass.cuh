// Masses on the device: one elementwise function from a logit to an integer (numerics contract,
// section 1). Rounding towards minus infinity does the floor, the exponent bits do the shift; the
// reference does both in double, so that the two check each other.
//
// Every operation is a single IEEE instruction with its rounding named. Compile with --fmad=false
// and without any fast-math flag.
#pragma once

#include <cstdint>

namespace draftproof::gpu::kernels {

/// 1.5 * 2^23: adding it under rounding towards minus infinity leaves the floor in the low bits.
inline constexpr float kAnchor = 12582912.0f;
inline constexpr std::uint32_t kAnchorBits = 0x4B400000u;
/// Largest |maximum * scale| that a row can be resolved at.
inline constexpr float kRangeLimit = 2097152.0f;

/// Fraction bits of the masses of a row: 44 up to 2^18 tokens, else 62 - ceil(log2 vocab_size).
__device__ __forceinline__ std::uint32_t fraction_bits_for(std::uint32_t vocab_size) {
  return vocab_size <= 1u << 18 ? 44u : 30u + __clz(static_cast<int>(vocab_size - 1));
}

/// What mass_of needs of a row, computed once a row.
struct MassFrame {
  float scale;
  float anchor;              ///< kAnchor - floor(maximum * scale), exact
  std::uint32_t shift_base;  ///< kAnchorBits + 55 - fraction_bits
};

/// False unless |maximum * scale| <= 2^21; NaN is out of range.
__device__ __forceinline__ bool in_range(float maximum, float scale) {
  return fabsf(__fmul_rn(maximum, scale)) <= kRangeLimit;
}

__device__ __forceinline__ MassFrame mass_frame(float maximum, float scale,
                                                std::uint32_t fraction_bits) {
  const float floored = __fsub_rn(__fmaf_rd(maximum, scale, kAnchor), kAnchor);
  return {scale, __fsub_rn(kAnchor, floored), kAnchorBits + 55u - fraction_bits};
}

/// Mass of `logit`. -inf has none: its shift, taken as unsigned, exceeds 63. Preconditions: not
/// NaN, not above the row's maximum, the row in range.
__device__ __forceinline__ std::uint64_t mass_of(float logit, const MassFrame& frame) {
  const float whole = __fmaf_rd(logit, frame.scale, frame.anchor);
  const float fraction = __fmaf_rn(logit, frame.scale, __fsub_rn(frame.anchor, whole));
  float power = __uint_as_float(0x3af4b488u);
  power = __fmaf_rn(power, fraction, __uint_as_float(0x3c13be0eu));
  power = __fmaf_rn(power, fraction, __uint_as_float(0x3d648e08u));
  power = __fmaf_rn(power, fraction, __uint_as_float(0x3e75edb5u));
  power = __fmaf_rn(power, fraction, __uint_as_float(0x3f31725du));
  power = __fmaf_rn(power, fraction, 1.0f);
  const std::uint32_t integer = __float_as_uint(power) - 0x3f000000u;
  const std::uint32_t shift = frame.shift_base - __float_as_uint(whole);
  return shift > 63u ? 0u : (std::uint64_t{integer} << 32) >> shift;
}

/// A probability in fixed point: floor(probability * 2^fraction_bits + 1/2), by shifts alone.
/// Precondition: probability_is_valid.
__device__ __forceinline__ std::uint64_t mass_of_probability(float probability,
                                                             std::uint32_t fraction_bits) {
  const std::uint32_t bits = __float_as_uint(probability) & 0x7fffffffu;
  const std::uint32_t exponent = bits >> 23;
  const std::uint64_t significand = (bits & 0x7fffffu) | (exponent != 0 ? 0x800000u : 0u);
  // probability = significand * 2^(max(exponent, 1) - 150)
  const int shift = static_cast<int>(max(exponent, 1u)) - 150 + static_cast<int>(fraction_bits);
  if (shift >= 0) return significand << shift;
  if (shift < -24) return 0;
  return (significand + (std::uint64_t{1} << (-shift - 1))) >> -shift;
}

/// In [0, 1]; NaN is not.
__device__ __forceinline__ bool probability_is_valid(float probability) {
  return probability >= 0.0f && probability <= 1.0f;
}

/// ceil(mantissa * 2^-exponent * x), exact: the product is carried in 128 bits. Precondition: the
/// fraction is at most 1.
__device__ __forceinline__ std::uint64_t ceil_fraction(std::uint64_t mantissa, int exponent,
                                                       std::uint64_t x) {
  std::uint64_t high = __umul64hi(mantissa, x);
  std::uint64_t low = mantissa * x;
  if (exponent <= 0) return low << -exponent;
  if (exponent >= 120) return (high | low) != 0 ? 1 : 0;
  // Add 2^exponent - 1, then shift right by exponent.
  const std::uint64_t add_low =
      exponent >= 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << exponent) - 1;
  const std::uint64_t add_high = exponent > 64 ? (std::uint64_t{1} << (exponent - 64)) - 1 : 0;
  low += add_low;
  high += add_high + (low < add_low ? 1 : 0);
  if (exponent >= 64) return high >> (exponent - 64);
  return exponent == 0 ? low : (high << (64 - exponent)) | (low >> exponent);
}

/// The order of logits as unsigned integers: larger logit, larger key; -0 and +0 are one key. The
/// key 0 is below every logit. Precondition: not NaN.
__device__ __forceinline__ std::uint32_t key_of(float logit) {
  const std::uint32_t bits = __float_as_uint(__fadd_rn(logit, 0.0f));
  return (bits & 0x80000000u) != 0 ? ~bits : bits | 0x80000000u;
}

/// The logit with this key; +0 for either zero.
__device__ __forceinline__ float logit_of(std::uint32_t key) {
  return __uint_as_float((key & 0x80000000u) != 0 ? key & 0x7fffffffu : ~key);
}

}  // namespace draftproof::gpu::kernels
