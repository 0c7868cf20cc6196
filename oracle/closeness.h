// Closeness: comparisons of floating-point numbers in which NaN never passes. A comparison that NaN
// can pass turns a broken kernel green, so every one of them is written here once, and each is
// tested where it must say no.
#pragma once

#include <cstdint>

namespace draftproof::oracle {

/// The distance of numbers that are never close: a NaN, or an infinity and anything but itself.
inline constexpr std::uint64_t kNeverClose = ~std::uint64_t{0};

/// How many representable steps apart: 0 for equal numbers (-0 and +0 included), kNeverClose when
/// either is NaN or exactly one of them is infinite.
std::uint64_t ulp_distance(float a, float b);
std::uint64_t ulp_distance(double a, double b);

/// At most `ulp_max` steps apart. kNeverClose is not a limit that lets everything in: it is capped
/// below the distance of a NaN.
bool within_ulp(float a, float b, std::uint64_t ulp_max);
bool within_ulp(double a, double b, std::uint64_t ulp_max);

/// |a - b| <= tolerance. False when a, b or the tolerance is NaN; equal infinities are close.
bool within_absolute(double a, double b, double tolerance);

/// The same bits, and a number: -0 is not +0, and a NaN is not even itself.
bool same_bits(float a, float b);
bool same_bits(double a, double b);

}  // namespace draftproof::oracle
