// ExactReal: what an operation on floats gives in exact arithmetic rounded once, from MPFR, in any
// binary format and direction, with subnormals and overflow as IEEE 754 has them.
#pragma once

#include <mpfr.h>

#include <cmath>
#include <cstdint>
#include <string>

namespace draftproof::gpu::emulator {

struct FloatFormat {
  int precision;     ///< bits of the significand, the hidden one included
  int exponent_min;  ///< MPFR's emin: the smallest positive number is 0.5 * 2^emin
  int exponent_max;
};
inline constexpr FloatFormat kBinary16Format{11, -23, 16};
inline constexpr FloatFormat kBfloat16Format{8, -132, 128};
inline constexpr FloatFormat kBinary32Format{24, -148, 128};
inline constexpr FloatFormat kBinary64Format{53, -1073, 1024};

inline mpfr_rnd_t rounding_named(const std::string& name) {
  if (name == "rn") return MPFR_RNDN;
  if (name == "rz") return MPFR_RNDZ;
  if (name == "rm") return MPFR_RNDD;
  return MPFR_RNDU;
}

/// Evaluates `operation` (+ - * / f for a*b+c, s for the root of a, = for a itself), rounded once
/// to the format. The result is a double, which holds every format's numbers.
inline double exact_result(char operation, double a, double b, double c, const FloatFormat& format,
                           mpfr_rnd_t rounding) {
  const mpfr_exp_t old_min = mpfr_get_emin(), old_max = mpfr_get_emax();
  mpfr_t x, y, z, r;
  mpfr_inits2(53, x, y, z, static_cast<mpfr_ptr>(nullptr));
  mpfr_init2(r, format.precision);
  mpfr_set_d(x, a, MPFR_RNDN);
  mpfr_set_d(y, b, MPFR_RNDN);
  mpfr_set_d(z, c, MPFR_RNDN);
  mpfr_set_emin(format.exponent_min);
  mpfr_set_emax(format.exponent_max);
  int inexact = 0;
  switch (operation) {
    case '+':
      inexact = mpfr_add(r, x, y, rounding);
      break;
    case '-':
      inexact = mpfr_sub(r, x, y, rounding);
      break;
    case '*':
      inexact = mpfr_mul(r, x, y, rounding);
      break;
    case '/':
      inexact = mpfr_div(r, x, y, rounding);
      break;
    case 'f':
      inexact = mpfr_fma(r, x, y, z, rounding);
      break;
    case 's':
      inexact = mpfr_sqrt(r, x, rounding);
      break;
    default:
      inexact = mpfr_set(r, x, rounding);
      break;
  }
  inexact = mpfr_check_range(r, inexact, rounding);
  mpfr_subnormalize(r, inexact, rounding);
  mpfr_set_emin(old_min);
  mpfr_set_emax(old_max);
  const double result = mpfr_get_d(r, MPFR_RNDN);
  mpfr_clears(x, y, z, r, static_cast<mpfr_ptr>(nullptr));
  return result;
}

}  // namespace draftproof::gpu::emulator
