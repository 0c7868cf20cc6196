// Wide numbers: exact unsigned integers below 2^192, for the one rule whose sums leave 128 bits
// (block verification, numerics contract, section 3). A number is kept as high 2^64 + low, so that
// every operation is two or three 128-bit ones; there is no division.
#pragma once

#include <compare>
#include <cstdint>

#include "reference/mass.h"

namespace draftproof::reference::verify {

class Wide {
 public:
  Wide() = default;
  /// Any number below 2^128.
  Wide(WideMass value) : high_(value >> 64), low_(static_cast<std::uint64_t>(value)) {}

  /// factor x, exactly.
  static Wide product(std::uint64_t factor, WideMass x);

  /// Throws BrokenInvariant from 2^192 on.
  Wide& operator+=(const Wide& other);
  friend Wide operator+(Wide a, const Wide& b) { return a += b; }
  /// Precondition: b <= a.
  friend Wide operator-(const Wide& a, const Wide& b);
  friend auto operator<=>(const Wide&, const Wide&) = default;

  /// floor(coin x / 2^64).
  friend Wide scaled(std::uint64_t coin, const Wide& x);

  /// The number of binary digits; 0 for 0.
  int bits() const;
  /// floor(x / 2^shift), 0 <= shift < 192. Precondition: it is below 2^64.
  std::uint64_t word_above(int shift) const;

  WideMass high() const { return high_; }
  std::uint64_t low() const { return low_; }

 private:
  WideMass high_ = 0;  // first, so that the comparison looks at it first
  std::uint64_t low_ = 0;
};

}  // namespace draftproof::reference::verify
