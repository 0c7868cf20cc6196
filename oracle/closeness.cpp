#include "oracle/closeness.h"

#include <algorithm>
#include <bit>
#include <cmath>

namespace draftproof::oracle {
namespace {

/// Maps bits to integers in the order of the numbers they stand for; both zeros to one integer.
/// The difference of two of these counts representable steps and fits an unsigned word.
template <class Bits, class Number>
Bits ordered(Number value) {
  constexpr Bits kSign = Bits{1} << (sizeof(Bits) * 8 - 1);
  const Bits bits = std::bit_cast<Bits>(value);
  return (bits & kSign) != 0 ? static_cast<Bits>(kSign - (bits & ~kSign))
                             : static_cast<Bits>(kSign + bits);
}

template <class Bits, class Number>
std::uint64_t distance(Number a, Number b) {
  if (std::isnan(a) || std::isnan(b)) return kNeverClose;
  if (std::isinf(a) || std::isinf(b)) return a == b ? 0 : kNeverClose;
  const Bits first = ordered<Bits>(a), second = ordered<Bits>(b);
  return first < second ? second - first : first - second;
}

}  // namespace

std::uint64_t ulp_distance(float a, float b) { return distance<std::uint32_t>(a, b); }
std::uint64_t ulp_distance(double a, double b) { return distance<std::uint64_t>(a, b); }

bool within_ulp(float a, float b, std::uint64_t ulp_max) {
  return ulp_distance(a, b) <= std::min(ulp_max, kNeverClose - 1);
}

bool within_ulp(double a, double b, std::uint64_t ulp_max) {
  return ulp_distance(a, b) <= std::min(ulp_max, kNeverClose - 1);
}

bool within_absolute(double a, double b, double tolerance) {
  if (std::isnan(a) || std::isnan(b) || std::isnan(tolerance)) return false;
  // Equal infinities differ by NaN, so equality is asked before the difference is taken.
  return (a == b && tolerance >= 0) || std::fabs(a - b) <= tolerance;
}

bool same_bits(float a, float b) {
  return !std::isnan(a) && std::bit_cast<std::uint32_t>(a) == std::bit_cast<std::uint32_t>(b);
}

bool same_bits(double a, double b) {
  return !std::isnan(a) && std::bit_cast<std::uint64_t>(a) == std::bit_cast<std::uint64_t>(b);
}

}  // namespace draftproof::oracle
