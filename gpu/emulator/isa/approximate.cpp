// Approximate functions: ex2, lg2, rcp, sqrt, rsqrt, sin, cos, tanh, div. PTX ISA 9.0, 9.7.3 states
// error bounds and special values, not bits. With seed 0 ours round correctly (through binary64);
// with a seed each result moves inside its bound by a hash of its inputs, the same input always by
// the same amount, as hardware would. Documented special values never move.
#include <cmath>
#include <string>

#include "gpu/emulator/isa/families.h"
#include "gpu/emulator/isa/float_bits.h"
#include "gpu/emulator/isa/lanes.h"

namespace draftproof::gpu::emulator::isa {
namespace {

/// How far a result may be from the true one: units in the last place, or an absolute or relative
/// distance.
struct Bound {
  int ulp = 0;
  double absolute = 0;
  double relative = 0;
};

/// A number in [-1, 1] from the seed and the operands (the finaliser of splitmix64).
double direction(std::uint32_t seed, std::uint64_t key) {
  std::uint64_t z = key + 0x9e3779b97f4a7c15 * (seed + std::uint64_t{1});
  z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
  z = (z ^ z >> 27) * 0x94d049bb133111eb;
  z ^= z >> 31;
  return static_cast<double>(static_cast<std::int64_t>(z)) * 0x1p-63;
}

/// Rounds, and moves when there is a seed. A result that is zero, subnormal or not finite stays.
float settle(double exact, Bound bound, std::uint32_t seed, std::uint64_t key) {
  const float rounded = canonical(static_cast<float>(exact));
  if (seed == 0 || !std::isnormal(rounded)) return rounded;
  const double u = direction(seed, key);
  float moved = rounded;
  if (bound.ulp != 0) {
    // These bounds count from the correctly rounded result.
    const int units = static_cast<int>(std::lround(u * bound.ulp));
    moved = float_of(bits_of(rounded) + static_cast<std::uint32_t>(units));
  } else {
    // Rounding the moved number spends up to half a unit, 2^-24 of it.
    const double magnitude = std::fabs(exact);
    const double distance =
        std::fmax(0.0, bound.absolute + bound.relative * magnitude - 0x1p-24 * magnitude);
    moved = static_cast<float>(exact + u * distance);
  }
  return std::isnormal(moved) ? moved : rounded;
}

struct Exponential {
  static double apply(float a) { return std::exp2(double{a}); }
  static Bound bound(float a) { return {a == 0 ? 0 : 2, 0, 0}; }
};
struct Logarithm {
  static double apply(float a) { return std::log2(double{a}); }
  static Bound bound(float a) {
    return a > 0.5f && a < 2.0f ? Bound{0, 0x1p-22, 0} : Bound{0, 0, 0x1p-22};
  }
};
struct Reciprocal {
  static double apply(float a) { return 1.0 / double{a}; }
  static Bound bound(float) { return {1, 0, 0}; }
};
struct Root {
  static double apply(float a) { return std::sqrt(double{a}); }
  static Bound bound(float) { return {0, 0, 0x1p-23}; }
};
struct ReciprocalRoot {
  static double apply(float a) { return 1.0 / std::sqrt(double{a}); }
  /// 2^-22.9
  static Bound bound(float) { return {0, 0, 1.278e-7}; }
};
/// Outside [-100 pi, 100 pi] no bound is stated; inside [-2 pi, 2 pi] 2^-20.5, else 2^-14.7.
Bound trigonometric_bound(float a) {
  constexpr double kPi = 3.14159265358979323846;
  return {0, std::fabs(a) <= 2 * kPi ? 6.74e-7 : 3.75e-5, 0};
}
struct Sine {
  static double apply(float a) { return std::sin(double{a}); }
  static Bound bound(float a) { return a == 0 ? Bound{} : trigonometric_bound(a); }
};
struct Cosine {
  static double apply(float a) { return std::cos(double{a}); }
  static Bound bound(float a) { return a == 0 ? Bound{} : trigonometric_bound(a); }
};
struct HyperbolicTangent {
  static double apply(float a) { return std::tanh(double{a}); }
  static Bound bound(float a) { return a == 0 ? Bound{} : Bound{0, 0, 0x1p-11}; }
};
/// div.approx: a / b within 2 ulp for 2^-126 <= |b| <= 2^126; beyond it gives 0, or NaN for an
/// infinite a. div.full scales and has no such gap.
template <bool kIsFull>
struct Division {
  static double apply(float a, float b) {
    if (!kIsFull && std::fabs(b) > 0x1p126f && !std::isinf(b)) {
      if (std::isinf(a)) return std::nan("");
      const bool is_negative = std::signbit(a) != std::signbit(b);
      return std::isnan(a) ? std::nan("") : is_negative ? -0.0 : 0.0;
    }
    return double{a} / double{b};
  }
  static Bound bound(float, float) { return {2, 0, 0}; }
};

template <class Op, bool kFlush>
LaneMask approximate(const Instruction& instruction, const Frame& frame, LaneMask active) {
  const float* const a = frame.lanes<float>(instruction.sources[0]);
  float* const results = frame.lanes<float>(instruction.destinations[0]);
  for (LaneMask rest = active; rest != 0; rest &= rest - 1) {
    const int lane = __builtin_ctz(rest);
    const float x = flush<kFlush>(a[lane]);
    const float result = settle(Op::apply(x), Op::bound(x), frame.approximation_seed, bits_of(x));
    results[lane] = flush<kFlush>(result);
  }
  write_mask(frame.valid(instruction.destinations[0]), frame.valid(instruction.sources[0]), active);
  return 0;
}

template <class Op, bool kFlush>
LaneMask approximate_pair(const Instruction& instruction, const Frame& frame, LaneMask active) {
  const float* const a = frame.lanes<float>(instruction.sources[0]);
  const float* const b = frame.lanes<float>(instruction.sources[1]);
  float* const results = frame.lanes<float>(instruction.destinations[0]);
  for (LaneMask rest = active; rest != 0; rest &= rest - 1) {
    const int lane = __builtin_ctz(rest);
    const float x = flush<kFlush>(a[lane]), y = flush<kFlush>(b[lane]);
    const std::uint64_t key = std::uint64_t{bits_of(x)} << 32 | bits_of(y);
    const float result = settle(Op::apply(x, y), Op::bound(x, y), frame.approximation_seed, key);
    results[lane] = flush<kFlush>(result);
  }
  write_mask(frame.valid(instruction.destinations[0]),
             frame.valid(instruction.sources[0]) & frame.valid(instruction.sources[1]), active);
  return 0;
}

/// rcp and rsqrt.approx.ftz.f64 know the upper 32 bits of the operand only and give the upper 32 of
/// the result; the lower are zero. Subnormals, both ways, are zeros.
template <bool kRoot>
struct UpperHalf {
  static constexpr bool kIsSlow = true;
  DRAFTPROOF_INLINE static double apply(double a) {
    constexpr std::uint64_t kUpper = 0xffffffff00000000;
    std::uint64_t bits = bits_of(a) & kUpper;
    if (a != a) return double_of(0x7fffffff00000000);
    if ((bits & 0x7ff0000000000000) == 0) bits &= 0x8000000000000000;
    const double x = double_of(bits);
    const double exact = kRoot ? 1.0 / __builtin_sqrt(x) : 1.0 / x;
    if (exact != exact) return double_of(0x7fffffff00000000);
    std::uint64_t result = bits_of(exact) & kUpper;
    if ((result & 0x7ff0000000000000) == 0) result &= 0x8000000000000000;
    return double_of(result);
  }
};
struct ReciprocalRootDouble {
  static constexpr bool kIsSlow = true;
  DRAFTPROOF_INLINE static double apply(double a) { return canonical(1.0 / __builtin_sqrt(a)); }
};

template <class Op>
void add_function(FormTable& table, const std::string& name) {
  table.add(name + ".approx.f32", "f:f", &approximate<Op, false>);
  table.add(name + ".approx.ftz.f32", "f:f", &approximate<Op, true>);
}

}  // namespace

void add_approximate_forms(FormTable& table) {
  add_function<Exponential>(table, "ex2");
  add_function<Logarithm>(table, "lg2");
  add_function<Reciprocal>(table, "rcp");
  add_function<Root>(table, "sqrt");
  add_function<ReciprocalRoot>(table, "rsqrt");
  add_function<Sine>(table, "sin");
  add_function<Cosine>(table, "cos");
  table.add("tanh.approx.f32", "f:f", &approximate<HyperbolicTangent, false>);
  table.add("div.approx.f32", "f:ff", &approximate_pair<Division<false>, false>);
  table.add("div.approx.ftz.f32", "f:ff", &approximate_pair<Division<false>, true>);
  table.add("div.full.f32", "f:ff", &approximate_pair<Division<true>, false>);
  table.add("div.full.ftz.f32", "f:ff", &approximate_pair<Division<true>, true>);
  table.add("rcp.approx.ftz.f64", "d:d", scalar_lanes<UpperHalf<false>>());
  table.add("rsqrt.approx.ftz.f64", "d:d", scalar_lanes<UpperHalf<true>>());
  table.add("rsqrt.approx.f64", "d:d", scalar_lanes<ReciprocalRootDouble>());
}

}  // namespace draftproof::gpu::emulator::isa
