// cvt between floating-point formats. PTX ISA 9.0, 9.7.9.21. Widening is exact; narrowing rounds as
// told; a NaN becomes the canonical one of the result's format.
#include <string>

#include "gpu/emulator/isa/families.h"
#include "gpu/emulator/isa/lanes.h"
#include "gpu/emulator/isa/rounding.h"

namespace draftproof::gpu::emulator::isa {
namespace {

template <bool kBfloat>
DRAFTPROOF_INLINE float half_value(std::uint32_t a) {
  return kBfloat ? bfloat_to_float(a) : half_to_float(a);
}
template <bool kBfloat, Rounding kRounding>
DRAFTPROOF_INLINE std::uint32_t half_bits(double value) {
  return kBfloat ? narrow<7, 8, kRounding>(value) : narrow<10, 5, kRounding>(value);
}

template <bool kBfloat>
struct HalfToSingle {
  DRAFTPROOF_INLINE static float apply(std::uint32_t a) {
    return canonical(half_value<kBfloat>(a));
  }
};
template <bool kBfloat>
struct HalfToDouble {
  DRAFTPROOF_INLINE static double apply(std::uint32_t a) {
    return canonical(double{half_value<kBfloat>(a)});
  }
};
template <bool kFlush, bool kSaturate>
struct SingleToDouble {
  DRAFTPROOF_INLINE static double apply(float a) {
    return saturate<kSaturate>(canonical(double{flush<kFlush>(a)}));
  }
};
template <Rounding kRounding, bool kFlush, bool kSaturate>
struct DoubleToSingle {
  DRAFTPROOF_INLINE static float apply(double a) {
    return finish<kFlush, kSaturate>(float_of(narrow<23, 8, kRounding>(a)));
  }
};
template <bool kFlush, bool kSaturate>
struct SingleToSingle {
  DRAFTPROOF_INLINE static float apply(float a) {
    return finish<kFlush, kSaturate>(flush<kFlush>(a));
  }
};
struct SaturateDouble {
  DRAFTPROOF_INLINE static double apply(double a) { return saturate<true>(a); }
};
template <bool kBfloat, Rounding kRounding, bool kRelu>
struct SingleToHalf {
  DRAFTPROOF_INLINE static std::uint32_t apply(float a) {
    const double value = kRelu && !(a > 0) && a == a ? 0.0 : double{a};
    return half_bits<kBfloat, kRounding>(value);
  }
};
/// The commonest narrowing without branches: half a unit of the kept bits, less one for ties to
/// even, carries into them; an overflow carries into infinity.
struct SingleToBfloat {
  DRAFTPROOF_INLINE static std::uint32_t apply(float a) {
    const std::uint32_t bits = bits_of(a);
    const std::uint32_t rounded = (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
    return a != a ? kNan16 : rounded;
  }
};
template <bool kBfloat, Rounding kRounding>
struct DoubleToHalf {
  DRAFTPROOF_INLINE static std::uint32_t apply(double a) {
    return half_bits<kBfloat, kRounding>(a);
  }
};
/// The first source goes to the upper half.
template <bool kBfloat, Rounding kRounding, bool kRelu>
struct PairToHalves {
  using One = SingleToHalf<kBfloat, kRounding, kRelu>;
  DRAFTPROOF_INLINE static std::uint32_t apply(float a, float b) {
    return One::apply(a) << 16 | One::apply(b);
  }
};

template <bool kBfloat>
void add_halves(FormTable& table) {
  const std::string type = kBfloat ? ".bf16" : ".f16";
  const auto add = [&](const std::string& name, const char* signature, Handler handler) {
    table.add(name, signature, handler, Binding::kConvert);
  };
  add("cvt.f32" + type, "f:x", lanes<HalfToSingle<kBfloat>>());
  add("cvt.f64" + type, "d:x", scalar_lanes<HalfToDouble<kBfloat>>());
  for_roundings([&]<Rounding kRounding>(const std::string& rounding) {
    // Of the narrowing directions only these two exist for the packed and relu forms.
    constexpr bool kIsCommon = kBfloat && kRounding == Rounding::kNearest;
    add("cvt" + rounding + type + ".f32", "x:f",
        kIsCommon ? lanes<SingleToBfloat>()
                  : scalar_lanes<SingleToHalf<kBfloat, kRounding, false>>());
    add("cvt" + rounding + type + ".f64", "x:d", scalar_lanes<DoubleToHalf<kBfloat, kRounding>>());
    if constexpr (kRounding == Rounding::kNearest || kRounding == Rounding::kZero) {
      add("cvt" + rounding + ".relu" + type + ".f32", "x:f",
          scalar_lanes<SingleToHalf<kBfloat, kRounding, true>>());
      add("cvt" + rounding + type + "x2.f32", "w:ff",
          scalar_lanes<PairToHalves<kBfloat, kRounding, false>>());
      add("cvt" + rounding + ".relu" + type + "x2.f32", "w:ff",
          scalar_lanes<PairToHalves<kBfloat, kRounding, true>>());
    }
  });
}

template <bool kFlush, bool kSaturate>
void add_singles(FormTable& table) {
  const std::string tail = std::string(kFlush ? ".ftz" : "") + (kSaturate ? ".sat" : "");
  const auto add = [&](const std::string& name, const char* signature, Handler handler) {
    table.add(name, signature, handler, Binding::kConvert);
  };
  add("cvt" + tail + ".f64.f32", "d:f", lanes<SingleToDouble<kFlush, kSaturate>>());
  add("cvt" + tail + ".f32.f32", "f:f", lanes<SingleToSingle<kFlush, kSaturate>>());
  for_roundings([&]<Rounding kRounding>(const std::string& rounding) {
    add("cvt" + rounding + tail + ".f32.f64", "f:d",
        scalar_lanes<DoubleToSingle<kRounding, kFlush, kSaturate>>());
  });
}

}  // namespace

void add_float_conversions(FormTable& table) {
  add_halves<false>(table);
  add_halves<true>(table);
  add_singles<false, false>(table);
  add_singles<false, true>(table);
  add_singles<true, false>(table);
  add_singles<true, true>(table);
  table.add("cvt.sat.f64.f64", "d:d", lanes<SaturateDouble>(), Binding::kConvert);
}

}  // namespace draftproof::gpu::emulator::isa
