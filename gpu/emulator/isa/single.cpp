// binary32 add, sub, mul, neg, abs, min, max. PTX ISA 9.0, 9.7.3. Without a rounding modifier the
// result is rounded to nearest; we do not fuse what the text keeps apart.
#include <string>

#include "gpu/emulator/isa/families.h"
#include "gpu/emulator/isa/lanes.h"
#include "gpu/emulator/isa/rounding.h"

namespace draftproof::gpu::emulator::isa {
namespace {

template <Rounding kRounding, bool kFlush, bool kSaturate, bool kSubtracts>
struct Sum {
  DRAFTPROOF_INLINE static float apply(float left, float right) {
    const float a = flush<kFlush>(left);
    const float b = flush<kFlush>(kSubtracts ? float_of(bits_of(right) ^ 0x80000000) : right);
    if constexpr (kRounding == Rounding::kNearest)
      return finish<kFlush, kSaturate>(a + b);
    else
      return finish<kFlush, kSaturate>(round_terms<kRounding>(a, b));
  }
};
template <Rounding kRounding, bool kFlush, bool kSaturate>
struct Product {
  DRAFTPROOF_INLINE static float apply(float left, float right) {
    const float a = flush<kFlush>(left), b = flush<kFlush>(right);
    // The product of two binary32 numbers has 48 bits: it is exact in binary64.
    if constexpr (kRounding == Rounding::kNearest)
      return finish<kFlush, kSaturate>(a * b);
    else
      return finish<kFlush, kSaturate>(round_sum<kRounding>({double{a} * b, 0.0}));
  }
};

template <bool kFlush>
struct Negate {
  DRAFTPROOF_INLINE static float apply(float a) {
    return flush<kFlush>(float_of(bits_of(a) ^ 0x80000000));
  }
};
template <bool kFlush>
struct Absolute {
  DRAFTPROOF_INLINE static float apply(float a) {
    return flush<kFlush>(float_of(bits_of(a) & 0x7fffffff));
  }
};

/// min and max: a number wins over NaN unless .NaN, and -0 is less than +0.
template <bool kMaximum, bool kFlush, bool kNan, bool kXorSign>
struct Extreme {
  DRAFTPROOF_INLINE static float apply(float left, float right) {
    float a = flush<kFlush>(left), b = flush<kFlush>(right);
    const std::uint32_t sign = (bits_of(a) ^ bits_of(b)) & 0x80000000;
    if constexpr (kXorSign) {
      a = float_of(bits_of(a) & 0x7fffffff);
      b = float_of(bits_of(b) & 0x7fffffff);
    }
    float result = (kMaximum ? a > b : a < b) ? a : b;
    // Equal numbers have equal patterns, but for the zeros.
    const std::uint32_t merged = kMaximum ? bits_of(a) & bits_of(b) : bits_of(a) | bits_of(b);
    result = a == b ? float_of(merged) : result;
    if constexpr (kNan) {
      result = a != a ? a : result;
    } else {
      result = b != b ? a : result;
    }
    if constexpr (kXorSign) result = float_of(bits_of(result) | sign);
    return canonical(result);
  }
};

template <bool kFlush, bool kSaturate>
void add_arithmetic(FormTable& table) {
  const std::string tail = std::string(kFlush ? ".ftz" : "") + (kSaturate ? ".sat" : "") + ".f32";
  for_roundings([&]<Rounding kRounding>(const std::string& rounding) {
    const Handler add = lanes<Sum<kRounding, kFlush, kSaturate, false>>();
    const Handler subtract = lanes<Sum<kRounding, kFlush, kSaturate, true>>();
    const Handler multiply = lanes<Product<kRounding, kFlush, kSaturate>>();
    const auto add_name = [&](const std::string& middle) {
      table.add("add" + middle + tail, "f:ff", add);
      table.add("sub" + middle + tail, "f:ff", subtract);
      table.add("mul" + middle + tail, "f:ff", multiply);
    };
    add_name(rounding);
    if (kRounding == Rounding::kNearest) add_name("");
  });
}

template <bool kFlush>
void add_unrounded(FormTable& table) {
  const std::string flush = kFlush ? ".ftz" : "";
  table.add("neg" + flush + ".f32", "f:f", lanes<Negate<kFlush>>());
  table.add("abs" + flush + ".f32", "f:f", lanes<Absolute<kFlush>>());
  const std::string min = "min" + flush, max = "max" + flush;
  table.add(min + ".f32", "f:ff", lanes<Extreme<false, kFlush, false, false>>());
  table.add(max + ".f32", "f:ff", lanes<Extreme<true, kFlush, false, false>>());
  table.add(min + ".NaN.f32", "f:ff", lanes<Extreme<false, kFlush, true, false>>());
  table.add(max + ".NaN.f32", "f:ff", lanes<Extreme<true, kFlush, true, false>>());
  table.add(min + ".xorsign.abs.f32", "f:ff", lanes<Extreme<false, kFlush, false, true>>());
  table.add(max + ".xorsign.abs.f32", "f:ff", lanes<Extreme<true, kFlush, false, true>>());
  table.add(min + ".NaN.xorsign.abs.f32", "f:ff", lanes<Extreme<false, kFlush, true, true>>());
  table.add(max + ".NaN.xorsign.abs.f32", "f:ff", lanes<Extreme<true, kFlush, true, true>>());
}

}  // namespace

void add_single_forms(FormTable& table) {
  add_arithmetic<false, false>(table);
  add_arithmetic<false, true>(table);
  add_arithmetic<true, false>(table);
  add_arithmetic<true, true>(table);
  add_unrounded<false>(table);
  add_unrounded<true>(table);
}

}  // namespace draftproof::gpu::emulator::isa
