// FloatSamples: numbers at which rounding goes wrong, and random patterns.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <vector>

namespace draftproof::gpu::emulator {

/// Edges of binary32 or binary64.
template <class T>
std::vector<T> float_edges() {
  using Limits = std::numeric_limits<T>;
  const T epsilon = Limits::epsilon();
  std::vector<T> result;
  for (const T value : {T{0},
                        Limits::denorm_min(),
                        3 * Limits::denorm_min(),
                        Limits::min() - Limits::denorm_min(),
                        Limits::min(),
                        Limits::min() * (1 + epsilon),
                        T{0.5},
                        T{1} - epsilon / 2,
                        T{1},
                        T{1} + epsilon,
                        T{1.5},
                        T{2},
                        T{3},
                        T{10},
                        1 / epsilon,
                        1 / epsilon + 1,
                        2 / epsilon,
                        Limits::max() / 2,
                        Limits::max(),
                        Limits::infinity(),
                        Limits::quiet_NaN(),
                        static_cast<T>(1e-3),
                        static_cast<T>(1e30)}) {
    result.push_back(value);
    result.push_back(-value);
  }
  return result;
}

class FloatSource {
 public:
  explicit FloatSource(std::uint64_t seed) : generator_(seed) {}
  /// Any pattern, numbers of like magnitude, or numbers with few bits (exact ties).
  float binary32() {
    const auto bits = static_cast<std::uint32_t>(generator_());
    switch (generator_() % 4) {
      case 0:
        return std::bit_cast<float>(bits);
      case 1:
        return std::bit_cast<float>((bits & 0x80ffffff) | 0x3f000000);
      case 2:
        return std::bit_cast<float>((bits & 0x81fff000) | 0x3e000000);
      default:
        return std::bit_cast<float>(bits & 0x81ffffff);
    }
  }
  double binary64() {
    const std::uint64_t bits = generator_();
    switch (generator_() % 4) {
      case 0:
        return std::bit_cast<double>(bits);
      case 1:
        return std::bit_cast<double>((bits & 0x801fffffffffffff) | 0x3fe0000000000000);
      case 2:
        return std::bit_cast<double>((bits & 0x801fffff00000000) | 0x3fe0000000000000);
      default:
        return std::bit_cast<double>(bits & 0x801fffffffffffff);
    }
  }
  std::uint64_t bits() { return generator_(); }

 private:
  std::mt19937_64 generator_;
};

}  // namespace draftproof::gpu::emulator
