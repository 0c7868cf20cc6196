// binary16 and bfloat16 arithmetic, single and in pairs. PTX ISA 9.0, 9.7.4. Operands widen
// exactly; sums and products are formed exactly, as one binary64 number or rounded to odd, and
// rounded once.
#include <cmath>
#include <string>

#include "gpu/emulator/isa/families.h"
#include "gpu/emulator/isa/lanes.h"
#include "gpu/emulator/isa/rounding.h"

namespace draftproof::gpu::emulator::isa {
namespace {

struct Binary16 {
  static constexpr std::uint32_t kInfinity = 0x7c00;
  static constexpr std::uint32_t kSmallestNormal = 0x0400;
  static constexpr const char* kName = "f16";
  static double widen(std::uint32_t value) { return half_to_float(value); }
  static std::uint32_t round(double value) { return narrow<10, 5, Rounding::kNearest>(value); }
};
struct Bfloat16 {
  static constexpr std::uint32_t kInfinity = 0x7f80;
  static constexpr std::uint32_t kSmallestNormal = 0x0080;
  static constexpr const char* kName = "bf16";
  static double widen(std::uint32_t value) { return bfloat_to_float(value); }
  static std::uint32_t round(double value) { return narrow<7, 8, Rounding::kNearest>(value); }
};

template <class Format, bool kFlush>
std::uint32_t flush_half(std::uint32_t value) {
  if (kFlush && (value & 0x7fff) < Format::kSmallestNormal) return value & 0x8000;
  return value & 0xffff;
}

enum class Limit { kNone, kSaturate, kRelu };

/// Limits and rounds. Limiting first is the same as limiting the rounded result: 0 and 1 are exact.
template <class Format, bool kFlush, Limit kLimit>
std::uint32_t finish_half(double value) {
  if (kLimit == Limit::kSaturate) value = saturate<true>(value);
  if (kLimit == Limit::kRelu && value < 0) value = 0;
  std::uint32_t result = Format::round(value);
  if (kLimit == Limit::kRelu && result == 0x8000) result = 0;
  return flush_half<Format, kFlush>(result);
}

template <class Format, bool kFlush, Limit kLimit, bool kSubtracts>
struct HalfSum {
  static std::uint32_t apply(std::uint32_t left, std::uint32_t right) {
    const double a = Format::widen(flush_half<Format, kFlush>(left));
    const double b = Format::widen(flush_half<Format, kFlush>(right));
    const UnroundedSum sum = exact_sum(a, kSubtracts ? -b : b);
    return finish_half<Format, kFlush, kLimit>(round_to_odd(sum));
  }
};
template <class Format, bool kFlush, Limit kLimit>
struct HalfProduct {
  static std::uint32_t apply(std::uint32_t left, std::uint32_t right) {
    const double a = Format::widen(flush_half<Format, kFlush>(left));
    const double b = Format::widen(flush_half<Format, kFlush>(right));
    return finish_half<Format, kFlush, kLimit>(a * b);
  }
};
template <class Format, bool kFlush, Limit kLimit>
struct HalfFma {
  static std::uint32_t apply(std::uint32_t x, std::uint32_t y, std::uint32_t z) {
    const double a = Format::widen(flush_half<Format, kFlush>(x));
    const double b = Format::widen(flush_half<Format, kFlush>(y));
    const double c = Format::widen(flush_half<Format, kFlush>(z));
    return finish_half<Format, kFlush, kLimit>(round_to_odd(exact_sum(a * b, c)));
  }
};
template <class Format, bool kFlush, bool kAbsolute>
struct HalfSign {
  static std::uint32_t apply(std::uint32_t value) {
    const std::uint32_t result = kAbsolute ? value & 0x7fff : value ^ 0x8000;
    return flush_half<Format, kFlush>(result);
  }
};
template <class Format, bool kMaximum, bool kFlush, bool kNan>
struct HalfExtreme {
  static std::uint32_t apply(std::uint32_t left, std::uint32_t right) {
    const std::uint32_t a = flush_half<Format, kFlush>(left);
    const std::uint32_t b = flush_half<Format, kFlush>(right);
    const bool a_nan = (a & 0x7fff) > Format::kInfinity;
    const bool b_nan = (b & 0x7fff) > Format::kInfinity;
    if ((a_nan && b_nan) || (kNan && (a_nan || b_nan))) return kNan16;
    if (a_nan) return b;
    if (b_nan) return a;
    // Sign and magnitude as a whole number, in which -0 is one less than +0.
    const auto key = [](std::uint32_t value) {
      const int magnitude = static_cast<int>(value & 0x7fff);
      return (value & 0x8000) != 0 ? -1 - magnitude : magnitude;
    };
    return (key(a) < key(b)) != kMaximum ? a : b;
  }
};
template <class Format>
struct HalfExponential {
  static std::uint32_t apply(std::uint32_t value) {
    return Format::round(std::exp2(Format::widen(value & 0xffff)));
  }
};
template <class Format>
struct HalfTangent {
  static std::uint32_t apply(std::uint32_t value) {
    return Format::round(std::tanh(Format::widen(value & 0xffff)));
  }
};

/// The same on both halves of a 32-bit register.
template <class Op, class... A>
std::uint32_t on_halves(A... lanes) {
  return (Op::apply((lanes & 0xffff)...) & 0xffff) | Op::apply((lanes >> 16)...) << 16;
}
template <class Op, int kSources, bool kPair>
struct HalfLanes;
template <class Op, bool kPair>
struct HalfLanes<Op, 1, kPair> {
  static constexpr bool kIsSlow = true;
  static std::uint32_t apply(std::uint32_t a) {
    return kPair ? on_halves<Op>(a) : Op::apply(a & 0xffff);
  }
};
template <class Op, bool kPair>
struct HalfLanes<Op, 2, kPair> {
  static constexpr bool kIsSlow = true;
  static std::uint32_t apply(std::uint32_t a, std::uint32_t b) {
    return kPair ? on_halves<Op>(a, b) : Op::apply(a & 0xffff, b & 0xffff);
  }
};
template <class Op, bool kPair>
struct HalfLanes<Op, 3, kPair> {
  static constexpr bool kIsSlow = true;
  static std::uint32_t apply(std::uint32_t a, std::uint32_t b, std::uint32_t c) {
    return kPair ? on_halves<Op>(a, b, c) : Op::apply(a & 0xffff, b & 0xffff, c & 0xffff);
  }
};

template <class Op, int kSources, class Format>
void add_both(FormTable& table, const std::string& head) {
  const std::string one = std::string("x:") + std::string(kSources, 'x');
  const std::string two = std::string("w:") + std::string(kSources, 'w');
  const std::string name = head + "." + Format::kName;
  table.add(name, one, scalar_lanes<HalfLanes<Op, kSources, false>>());
  table.add(name + "x2", two, scalar_lanes<HalfLanes<Op, kSources, true>>());
}

template <class Format, bool kFlush, Limit kLimit>
void add_arithmetic(FormTable& table) {
  const std::string tail = std::string(kFlush ? ".ftz" : "") +
                           (kLimit == Limit::kSaturate ? ".sat" : "") +
                           (kLimit == Limit::kRelu ? ".relu" : "");
  if constexpr (kLimit != Limit::kRelu) {
    for (const char* rounding : {"", ".rn"}) {
      const std::string middle = rounding + tail;
      add_both<HalfSum<Format, kFlush, kLimit, false>, 2, Format>(table, "add" + middle);
      add_both<HalfSum<Format, kFlush, kLimit, true>, 2, Format>(table, "sub" + middle);
      add_both<HalfProduct<Format, kFlush, kLimit>, 2, Format>(table, "mul" + middle);
    }
  }
  add_both<HalfFma<Format, kFlush, kLimit>, 3, Format>(table, "fma.rn" + tail);
}

template <class Format, bool kFlush>
void add_unrounded(FormTable& table) {
  const std::string flush = kFlush ? ".ftz" : "";
  add_both<HalfSign<Format, kFlush, false>, 1, Format>(table, "neg" + flush);
  add_both<HalfSign<Format, kFlush, true>, 1, Format>(table, "abs" + flush);
  add_both<HalfExtreme<Format, false, kFlush, false>, 2, Format>(table, "min" + flush);
  add_both<HalfExtreme<Format, true, kFlush, false>, 2, Format>(table, "max" + flush);
  add_both<HalfExtreme<Format, false, kFlush, true>, 2, Format>(table, "min" + flush + ".NaN");
  add_both<HalfExtreme<Format, true, kFlush, true>, 2, Format>(table, "max" + flush + ".NaN");
}

}  // namespace

void add_half_forms(FormTable& table) {
  add_arithmetic<Binary16, false, Limit::kNone>(table);
  add_arithmetic<Binary16, false, Limit::kSaturate>(table);
  add_arithmetic<Binary16, false, Limit::kRelu>(table);
  add_arithmetic<Binary16, true, Limit::kNone>(table);
  add_arithmetic<Binary16, true, Limit::kSaturate>(table);
  add_arithmetic<Binary16, true, Limit::kRelu>(table);
  add_arithmetic<Bfloat16, false, Limit::kNone>(table);
  add_arithmetic<Bfloat16, false, Limit::kRelu>(table);
  add_unrounded<Binary16, false>(table);
  add_unrounded<Binary16, true>(table);
  add_unrounded<Bfloat16, false>(table);
  add_both<HalfExponential<Binary16>, 1, Binary16>(table, "ex2.approx");
  add_both<HalfExponential<Bfloat16>, 1, Bfloat16>(table, "ex2.approx.ftz");
  add_both<HalfTangent<Binary16>, 1, Binary16>(table, "tanh.approx");
  add_both<HalfTangent<Bfloat16>, 1, Bfloat16>(table, "tanh.approx");
}

}  // namespace draftproof::gpu::emulator::isa
