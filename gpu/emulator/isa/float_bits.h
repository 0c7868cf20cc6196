// Floating-point patterns: flushing, canonical NaN, and widening of 16-bit formats. All of it is
// inlined into loops, so none of it branches.
#pragma once

#include <bit>
#include <cstdint>

#include "gpu/emulator/isa/lanes.h"

namespace draftproof::gpu::emulator::isa {

/// The NaN that binary32 arithmetic produces (PTX ISA 9.0, 9.7.3), and the like of the other
/// formats; binary64 has none prescribed, ours is what the hardware is seen to give.
inline constexpr std::uint32_t kNan32 = 0x7fffffff;
inline constexpr std::uint64_t kNan64 = 0xfff8000000000000;
inline constexpr std::uint32_t kNan16 = 0x7fff;

DRAFTPROOF_INLINE float float_of(std::uint32_t bits) { return std::bit_cast<float>(bits); }
DRAFTPROOF_INLINE std::uint32_t bits_of(float value) { return std::bit_cast<std::uint32_t>(value); }
DRAFTPROOF_INLINE double double_of(std::uint64_t bits) { return std::bit_cast<double>(bits); }
DRAFTPROOF_INLINE std::uint64_t bits_of(double value) {
  return std::bit_cast<std::uint64_t>(value);
}

/// .ftz: a subnormal becomes a zero of its sign.
template <bool kFlush>
DRAFTPROOF_INLINE float flush(float value) {
  if constexpr (!kFlush) return value;
  const std::uint32_t bits = bits_of(value);
  return float_of((bits & 0x7f800000) == 0 ? bits & 0x80000000 : bits);
}

DRAFTPROOF_INLINE float canonical(float value) { return value != value ? float_of(kNan32) : value; }
DRAFTPROOF_INLINE double canonical(double value) {
  return value != value ? double_of(kNan64) : value;
}

/// .sat: to [0, 1], NaN to +0. Comparisons with NaN fail, which the order of the two uses.
template <bool kSaturate, class T>
DRAFTPROOF_INLINE T saturate(T value) {
  if constexpr (!kSaturate) return value;
  const T low = value > T{0} ? value : T{0};
  return low < T{1} ? low : T{1};
}

/// What every binary32 result passes through.
template <bool kFlush, bool kSaturate>
DRAFTPROOF_INLINE float finish(float value) {
  return saturate<kSaturate>(flush<kFlush>(canonical(value)));
}

/// binary16 to binary32, exact. Multiplying by 2^112 moves the exponent and normalises subnormals.
DRAFTPROOF_INLINE float half_to_float(std::uint32_t half) {
  const std::uint32_t magnitude = (half & 0x7fff) << 13;
  const float scaled = float_of(magnitude) * 0x1p112f;
  // Chosen by a mask: a branch around the product would keep the loop from being vectorised.
  const std::uint32_t special = 0 - static_cast<std::uint32_t>((half & 0x7c00) == 0x7c00);
  const std::uint32_t bits = (bits_of(scaled) & ~special) | ((magnitude | 0x7f800000) & special);
  return float_of(bits | (half & 0x8000) << 16);
}
DRAFTPROOF_INLINE float bfloat_to_float(std::uint32_t value) { return float_of(value << 16); }

}  // namespace draftproof::gpu::emulator::isa
