// binary64 arithmetic. PTX ISA 9.0, 9.7.3.
#include <cfenv>
#include <cmath>
#include <string>

#include "gpu/emulator/isa/families.h"
#include "gpu/emulator/isa/lanes.h"
#include "gpu/emulator/isa/rounding.h"

namespace draftproof::gpu::emulator::isa {

double directed_fma(double a, double b, double c, Rounding rounding) {
  if (__builtin_cpu_supports("fma")) {
    const std::uint32_t mode = control_word(rounding);
    std::uint32_t old = 0;
    asm volatile(
        "stmxcsr %[old]\n\tldmxcsr %[mode]\n\tvfmadd213sd %[c], %[b], %[a]\n\tldmxcsr %[old]"
        : [a] "+x"(a), [old] "+m"(old)
        : [b] "x"(b), [c] "x"(c), [mode] "m"(mode));
    return a;
  }
  // glibc's fma in software follows the mode; the volatile copies keep the call inside.
  const int old = std::fegetround();
  std::fesetround(rounding == Rounding::kNearest ? FE_TONEAREST
                  : rounding == Rounding::kDown  ? FE_DOWNWARD
                  : rounding == Rounding::kUp    ? FE_UPWARD
                                                 : FE_TOWARDZERO);
  volatile double x = a, y = b, z = c;
  volatile double result = std::fma(x, y, z);
  std::fesetround(old);
  return result;
}

namespace {

struct Sum {
  DRAFTPROOF_INLINE static double apply(double a, double b) { return canonical(a + b); }
};
struct Difference {
  DRAFTPROOF_INLINE static double apply(double a, double b) { return canonical(a - b); }
};
struct Product {
  DRAFTPROOF_INLINE static double apply(double a, double b) { return canonical(a * b); }
};
struct FusedMultiplyAdd {
  DRAFTPROOF_INLINE static double apply(double a, double b, double c) {
    return canonical(__builtin_fma(a, b, c));
  }
};
template <Rounding kRounding, char kOperation>
struct Directed {
  static constexpr bool kIsSlow = true;
  DRAFTPROOF_INLINE static double apply(double a, double b) {
    constexpr std::uint32_t kMode = control_word(kRounding);
    if constexpr (kOperation == '+') return canonical(directed_add(a, b, kMode));
    if constexpr (kOperation == '-') return canonical(directed_subtract(a, b, kMode));
    return canonical(directed_multiply(a, b, kMode));
  }
};
template <Rounding kRounding>
struct DirectedFma {
  static constexpr bool kIsSlow = true;
  DRAFTPROOF_INLINE static double apply(double a, double b, double c) {
    return canonical(directed_fma(a, b, c, kRounding));
  }
};
struct Negate {
  DRAFTPROOF_INLINE static std::uint64_t apply(std::uint64_t a) {
    return a ^ std::uint64_t{1} << 63;
  }
};
struct Absolute {
  DRAFTPROOF_INLINE static std::uint64_t apply(std::uint64_t a) {
    return a & ~(std::uint64_t{1} << 63);
  }
};
/// As for binary32: a number wins over NaN and -0 is less than +0.
template <bool kMaximum>
struct Extreme {
  DRAFTPROOF_INLINE static double apply(double a, double b) {
    double result = (kMaximum ? a > b : a < b) ? a : b;
    const std::uint64_t merged = kMaximum ? bits_of(a) & bits_of(b) : bits_of(a) | bits_of(b);
    result = a == b ? double_of(merged) : result;
    result = b != b ? a : result;
    return canonical(result);
  }
};

}  // namespace

void add_double_forms(FormTable& table) {
  for (const char* rounding : {"", ".rn"}) {
    const std::string middle = rounding;
    table.add("add" + middle + ".f64", "d:dd", lanes<Sum>());
    table.add("sub" + middle + ".f64", "d:dd", lanes<Difference>());
    table.add("mul" + middle + ".f64", "d:dd", lanes<Product>());
  }
  table.add("fma.rn.f64", "d:ddd", lanes<FusedMultiplyAdd>());
  table.add("mad.rn.f64", "d:ddd", lanes<FusedMultiplyAdd>());
  for_roundings([&]<Rounding kRounding>(const std::string& rounding) {
    if constexpr (kRounding != Rounding::kNearest) {
      table.add("add" + rounding + ".f64", "d:dd", scalar_lanes<Directed<kRounding, '+'>>());
      table.add("sub" + rounding + ".f64", "d:dd", scalar_lanes<Directed<kRounding, '-'>>());
      table.add("mul" + rounding + ".f64", "d:dd", scalar_lanes<Directed<kRounding, '*'>>());
      table.add("fma" + rounding + ".f64", "d:ddd", scalar_lanes<DirectedFma<kRounding>>());
      table.add("mad" + rounding + ".f64", "d:ddd", scalar_lanes<DirectedFma<kRounding>>());
    }
  });
  table.add("neg.f64", "d:d", lanes<Negate>());
  table.add("abs.f64", "d:d", lanes<Absolute>());
  table.add("min.f64", "d:dd", lanes<Extreme<false>>());
  table.add("max.f64", "d:dd", lanes<Extreme<true>>());
}

}  // namespace draftproof::gpu::emulator::isa
