// Masses: the one place of the reference where a floating-point logit becomes an integer (numerics
// contract, section 1). The exponent is split in double, where the product of two fp32 numbers is
// exact, and scaled with ldexp; kernels use directed rounding and bit shifts instead. Only the five
// coefficients are common to both, and both are held against 2^x in multiprecision.
#include "reference/mass.h"

#include <cmath>
#include <string>

#include "reference/error.h"

namespace draftproof::reference {
namespace {

// A polynomial for 2^f on [0, 1] with h(0) = 1 and h(1) <= 2. All coefficients are positive, so
// that every fused step is non-decreasing in f >= 0 and masses are monotone in the logit.
float two_to_the_fraction(float f) {
  float h = 0x1.e96910p-10F;
  h = std::fma(h, f, 0x1.277c1cp-7F);
  h = std::fma(h, f, 0x1.c91c10p-5F);
  h = std::fma(h, f, 0x1.ebdb6ap-3F);
  h = std::fma(h, f, 0x1.62e4bap-1F);
  return std::fma(h, f, 1.0F);
}

}  // namespace

int fraction_bits(std::size_t vocab_size) {
  int bits = 0;
  while ((std::size_t{1} << bits) < vocab_size) ++bits;
  return bits <= 18 ? 44 : 62 - bits;
}

bool in_range(float max_logit, float scale) {
  const float product = max_logit * scale;
  return std::fabs(product) <= 2097152.0F;  // 2^21; a NaN product compares false
}

Mass mass_of(float logit, float max_logit, float scale, int fraction_bits) {
  DRAFTPROOF_CHECK(logit <= max_logit && std::isfinite(max_logit) && scale >= 0,
                   std::to_string(logit) + ", " + std::to_string(max_logit));
  if (std::isinf(logit)) return 0;
  // 24 + 24 significant bits and exponents far inside those of double: both products are exact.
  const double exponent = static_cast<double>(logit) * static_cast<double>(scale);
  const double whole = std::floor(exponent);
  const double below_max = whole - std::floor(static_cast<double>(max_logit) * scale);
  // h < 2, so one bit below the last fraction bit nothing is left; the cut keeps ldexp in int.
  if (below_max < -fraction_bits - 1) return 0;
  const float fraction = std::fma(logit, scale, static_cast<float>(-whole));
  const double weight = std::ldexp(static_cast<double>(two_to_the_fraction(fraction)),
                                   fraction_bits + static_cast<int>(below_max));
  return static_cast<Mass>(std::floor(weight));
}

Mass ceil_product(double factor, Mass x) {
  DRAFTPROOF_CHECK(factor > 0 && factor <= 1, std::to_string(factor));
  DRAFTPROOF_CHECK(x < (Mass{1} << 63), std::to_string(x));
  // factor = significand / 2^shift with a whole significand of at most 53 bits.
  int exponent = 0;
  const auto significand =
      static_cast<std::uint64_t>(std::ldexp(std::frexp(factor, &exponent), 53));
  const int shift = 53 - exponent;
  const WideMass product = static_cast<WideMass>(significand) * x;  // < 2^116
  if (shift >= 116) return product == 0 ? 0 : 1;
  const WideMass divisor = static_cast<WideMass>(1) << shift;
  return static_cast<Mass>(product / divisor + (product % divisor != 0 ? 1 : 0));
}

WideMass scaled(std::uint64_t coin, WideMass x) {
  // x = high 2^64 + low, so floor(coin x / 2^64) = coin high + floor(coin low / 2^64) exactly.
  const WideMass high = x >> 64;
  const WideMass low = x & ~std::uint64_t{0};
  return high * coin + ((low * coin) >> 64);
}

}  // namespace draftproof::reference
