// Rounding in a direction other than to nearest, exactly, without touching the host's rounding mode
// where a compiler could move arithmetic across: binary32 from an unrounded sum in binary64,
// everything else in one assembly statement or from integers. PTX ISA 9.0, 9.7.3.
#pragma once

#include <cmath>
#include <cstdint>

#include "gpu/emulator/isa/float_bits.h"

namespace draftproof::gpu::emulator::isa {

enum class Rounding : std::uint8_t { kNearest, kZero, kDown, kUp };

/// A number as the unevaluated sum of two: `high` is the sum rounded to nearest.
struct UnroundedSum {
  double high;
  double low;
};

/// The exact sum (Knuth's TwoSum). No overflow: the operands come from binary32.
DRAFTPROOF_INLINE UnroundedSum exact_sum(double a, double b) {
  const double high = a + b;
  const double b_part = high - a;
  const double a_part = high - b_part;
  return {high, (a - a_part) + (b - b_part)};
}

/// Rounds high + low to binary32. The nearest number to `high` is at most half a unit away, so the
/// wanted one is it or its neighbour; where it equals `high`, the sign of `low` decides. NaN and
/// infinity fail every comparison and stay. Neighbouring patterns are neighbouring numbers, an
/// infinity's is the largest number, and a zero has the sign of `high`, so that the step away from
/// it is one pattern up. No branches: the loops around this are to be vectorised.
template <Rounding kRounding>
DRAFTPROOF_INLINE float round_sum(UnroundedSum sum) {
  static_assert(kRounding != Rounding::kNearest);
  const float nearest = static_cast<float>(sum.high);
  const double back = nearest;
  const int is_equal = back == sum.high;
  int down = (back > sum.high) | (is_equal & (sum.low < 0));
  int up = (back < sum.high) | (is_equal & (sum.low > 0));
  if constexpr (kRounding == Rounding::kDown) up = 0;
  if constexpr (kRounding == Rounding::kUp) down = 0;
  if constexpr (kRounding == Rounding::kZero) {
    down &= sum.high > 0;
    up &= sum.high < 0;
  }
  const std::uint32_t bits = bits_of(nearest);
  const std::uint32_t away = 1 - 2 * (bits >> 31);
  return float_of(bits + static_cast<std::uint32_t>(up - down) * away);
}

/// Same for a sum of two terms, whose exact zero is -0 when rounding down unless both are +0.
template <Rounding kRounding>
DRAFTPROOF_INLINE float round_terms(double a, double b) {
  const UnroundedSum sum = exact_sum(a, b);
  const float result = round_sum<kRounding>(sum);
  if constexpr (kRounding == Rounding::kDown) {
    const std::uint32_t has_minus = static_cast<std::uint32_t>((bits_of(a) | bits_of(b)) >> 63) &
                                    static_cast<std::uint32_t>(sum.high == 0);
    return float_of(bits_of(result) | has_minus << 31);
  }
  return result;
}

/// high + low as one double whose last bit is odd when it is inexact: rounding that to a format of
/// at most 51 bits gives the correctly rounded sum (Boldo and Melquiond, 2008).
DRAFTPROOF_INLINE double round_to_odd(UnroundedSum sum) {
  const std::uint64_t bits = bits_of(sum.high);
  const bool is_exact = !(sum.low < 0 || sum.low > 0) || (bits & 1) != 0;
  // Towards the side of `low`: away from zero when both have the same sign.
  const bool grows = (sum.low > 0) == (sum.high > 0);
  const std::uint64_t moved = grows ? bits + 1 : bits - 1;
  return double_of(is_exact ? bits : moved);
}

/// The pattern of `value` in a format with kMantissa stored bits and kExponent exponent bits, by
/// integer arithmetic. NaN gives all ones without the sign.
template <int kMantissa, int kExponent, Rounding kRounding>
DRAFTPROOF_INLINE std::uint32_t narrow(double value) {
  constexpr int kBias = (1 << (kExponent - 1)) - 1;
  constexpr std::uint32_t kInfinity = ((1u << kExponent) - 1) << kMantissa;
  constexpr std::uint32_t kSign = 1u << (kMantissa + kExponent);
  const std::uint64_t bits = bits_of(value);
  const bool is_negative = bits >> 63 != 0;
  const std::uint32_t sign = is_negative ? kSign : 0;
  const int biased = static_cast<int>(bits >> 52 & 0x7ff);
  const std::uint64_t fraction = bits & 0xfffffffffffff;
  if (biased == 0x7ff) return fraction != 0 ? kSign - 1 : sign | kInfinity;
  const int exponent = biased == 0 ? -1022 : biased - 1023;
  const std::uint64_t significand = fraction | (biased == 0 ? 0 : std::uint64_t{1} << 52);
  const bool is_small = exponent < 1 - kBias;
  int shift = 52 - kMantissa + (is_small ? 1 - kBias - exponent : 0);
  if (shift > 60) shift = 60;
  const std::uint64_t rest = significand & ((std::uint64_t{1} << shift) - 1);
  const std::uint64_t half = std::uint64_t{1} << (shift - 1);
  std::uint64_t kept = significand >> shift;
  if constexpr (kRounding == Rounding::kNearest) {
    kept += rest > half || (rest == half && (kept & 1) != 0);
  } else if constexpr (kRounding == Rounding::kDown) {
    kept += is_negative && rest != 0;
  } else if constexpr (kRounding == Rounding::kUp) {
    kept += !is_negative && rest != 0;
  }
  std::int64_t result = static_cast<std::int64_t>(kept);
  if (!is_small) result += static_cast<std::int64_t>(exponent + kBias - 1) * (1 << kMantissa);
  if (result >= static_cast<std::int64_t>(kInfinity)) {
    const bool to_infinity = kRounding == Rounding::kNearest ||
                             (kRounding == Rounding::kDown && is_negative) ||
                             (kRounding == Rounding::kUp && !is_negative);
    return sign | (to_infinity ? kInfinity : kInfinity - 1);
  }
  return sign | static_cast<std::uint32_t>(result);
}

/// The host's control word for a direction, exceptions masked.
constexpr std::uint32_t control_word(Rounding rounding) {
  const std::uint32_t field = rounding == Rounding::kNearest ? 0
                              : rounding == Rounding::kDown  ? 1
                              : rounding == Rounding::kUp    ? 2
                                                             : 3;
  return 0x1f80 | field << 13;
}

// One statement each: the mode is set, used and restored where no compiler can come between.
#define DRAFTPROOF_DIRECTED(name, type, instruction)                 \
  inline type name(type a, type b, std::uint32_t mode) {             \
    std::uint32_t old = 0;                                           \
    asm volatile("stmxcsr %[old]\n\tldmxcsr %[mode]\n\t" instruction \
                 " %[b], %[a]\n\tldmxcsr %[old]"                     \
                 : [a] "+x"(a), [old] "+m"(old)                      \
                 : [b] "x"(b), [mode] "m"(mode));                    \
    return a;                                                        \
  }
DRAFTPROOF_DIRECTED(directed_add, double, "addsd")
DRAFTPROOF_DIRECTED(directed_subtract, double, "subsd")
DRAFTPROOF_DIRECTED(directed_multiply, double, "mulsd")
DRAFTPROOF_DIRECTED(directed_divide, double, "divsd")
DRAFTPROOF_DIRECTED(directed_divide, float, "divss")
#undef DRAFTPROOF_DIRECTED

inline double directed_root(double a, std::uint32_t mode) {
  std::uint32_t old = 0;
  asm volatile("stmxcsr %[old]\n\tldmxcsr %[mode]\n\tsqrtsd %[a], %[a]\n\tldmxcsr %[old]"
               : [a] "+x"(a), [old] "+m"(old)
               : [mode] "m"(mode));
  return a;
}
inline float directed_root(float a, std::uint32_t mode) {
  std::uint32_t old = 0;
  asm volatile("stmxcsr %[old]\n\tldmxcsr %[mode]\n\tsqrtss %[a], %[a]\n\tldmxcsr %[old]"
               : [a] "+x"(a), [old] "+m"(old)
               : [mode] "m"(mode));
  return a;
}

/// a * b + c in binary64, rounded once in the direction of `rounding`.
double directed_fma(double a, double b, double c, Rounding rounding);

/// ".rn" and its like, for the loops over modifiers.
template <class F>
void for_roundings(F&& visit) {
  visit.template operator()<Rounding::kNearest>(".rn");
  visit.template operator()<Rounding::kZero>(".rz");
  visit.template operator()<Rounding::kDown>(".rm");
  visit.template operator()<Rounding::kUp>(".rp");
}

}  // namespace draftproof::gpu::emulator::isa
