// cvt from floats to integers. PTX ISA 9.0, 9.7.9.21: rounded as told, then clamped to the result's
// range. NaN gives 0, but the sign bit alone when the source is .f64 or the result has 64 bits.
#include <limits>
#include <string>

#include "gpu/emulator/isa/families.h"
#include "gpu/emulator/isa/lanes.h"
#include "gpu/emulator/isa/rounding.h"
#include "gpu/emulator/isa/types.h"

namespace draftproof::gpu::emulator::isa {
namespace {

/// To an integral value. Beyond 2^52 every number is one; adding and taking away 2^52 rounds to
/// nearest even below it.
template <Rounding kRounding>
DRAFTPROOF_INLINE double integral(double value) {
  const double magnitude = value < 0 ? -value : value;
  if (!(magnitude < 0x1p52)) return value;
  double result;
  if constexpr (kRounding == Rounding::kNearest) {
    result = (magnitude + 0x1p52) - 0x1p52;
    if (value < 0) result = -result;
  } else {
    const double truncated = static_cast<double>(static_cast<std::int64_t>(value));
    result = truncated;
    if (kRounding == Rounding::kDown && truncated > value) result = truncated - 1;
    if (kRounding == Rounding::kUp && truncated < value) result = truncated + 1;
  }
  // A zero keeps the sign of what it was rounded from.
  if (result == 0) return double_of(bits_of(value) & 0x8000000000000000);
  return result;
}

template <class To, bool kFromDouble, Rounding kRounding>
DRAFTPROOF_INLINE Lane<To> to_integer(double value) {
  constexpr int kBits = 8 * sizeof(To);
  constexpr To kLow = std::numeric_limits<To>::min();
  constexpr To kHigh = std::numeric_limits<To>::max();
  // 2^n is the first number above the range; the lower end is a number itself.
  constexpr double kAbove = std::is_signed_v<To>
                                ? static_cast<double>(std::uint64_t{1} << (kBits - 1))
                                : 2.0 * static_cast<double>(std::uint64_t{1} << (kBits - 1));
  To result;
  if (value != value) {
    const bool is_marked = kFromDouble || sizeof(To) == 8;
    result = static_cast<To>(is_marked ? Unsigned<To>{1} << (kBits - 1) : 0);
  } else {
    const double rounded = integral<kRounding>(value);
    if (rounded >= kAbove)
      result = kHigh;
    else if (rounded < static_cast<double>(kLow))
      result = kLow;
    else
      result = static_cast<To>(rounded);
  }
  if constexpr (sizeof(To) == 8) return static_cast<std::uint64_t>(result);
  if constexpr (std::is_signed_v<To>) {
    return static_cast<std::uint32_t>(static_cast<std::int32_t>(result));
  }
  return static_cast<std::uint32_t>(result);
}

template <class To, Rounding kRounding, bool kFlush>
struct FromSingle {
  static constexpr bool kIsSlow = true;
  DRAFTPROOF_INLINE static Lane<To> apply(float a) {
    return to_integer<To, false, kRounding>(double{flush<kFlush>(a)});
  }
};
template <class To, Rounding kRounding>
struct FromDouble {
  static constexpr bool kIsSlow = true;
  DRAFTPROOF_INLINE static Lane<To> apply(double a) { return to_integer<To, true, kRounding>(a); }
};
template <class To, Rounding kRounding, bool kBfloat>
struct FromHalf {
  static constexpr bool kIsSlow = true;
  DRAFTPROOF_INLINE static Lane<To> apply(std::uint32_t a) {
    return to_integer<To, false, kRounding>(
        double{kBfloat ? bfloat_to_float(a) : half_to_float(a)});
  }
};

/// cvt.rzi.s32.f32 in vectors: what does not fit is moved to where the host's cast is defined.
struct TruncateSingle {
  DRAFTPROOF_INLINE static std::uint32_t apply(float a) {
    const float below = a < 0x1p31f ? a : 0.0f;
    const float inside = below >= -0x1p31f ? below : -0x1p31f;
    const auto result = static_cast<std::uint32_t>(static_cast<std::int32_t>(inside));
    return a >= 0x1p31f ? 0x7fffffff : result;
  }
};

template <class T>
constexpr char result_letter() {
  return sizeof(T) == 8 ? 'q' : sizeof(T) == 4 ? 'w' : 'h';
}

template <class To>
void add_result(FormTable& table) {
  const std::string to = "." + type_name<To>();
  const std::string result(1, result_letter<To>());
  constexpr bool kSigned = std::is_signed_v<To>;
  for_roundings([&]<Rounding kRounding>(const std::string& rounding) {
    const std::string head = "cvt" + rounding + "i";
    const auto add = [&](const std::string& name, const char* source, Handler handler) {
      table.add(name, result + source, handler, Binding::kConvert, kSigned);
    };
    constexpr bool kIsCommon = std::is_same_v<To, std::int32_t> && kRounding == Rounding::kZero;
    add(head + to + ".f32", ":f",
        kIsCommon ? lanes<TruncateSingle>() : scalar_lanes<FromSingle<To, kRounding, false>>());
    add(head + ".ftz" + to + ".f32", ":f", scalar_lanes<FromSingle<To, kRounding, true>>());
    add(head + to + ".f64", ":d", scalar_lanes<FromDouble<To, kRounding>>());
    add(head + to + ".f16", ":x", scalar_lanes<FromHalf<To, kRounding, false>>());
    add(head + to + ".bf16", ":x", scalar_lanes<FromHalf<To, kRounding, true>>());
  });
}

/// cvt.rni.f32.f32 and its like: to an integral value of the same type.
template <Rounding kRounding, bool kFlush, bool kSaturate>
struct IntegralSingle {
  DRAFTPROOF_INLINE static float apply(float a) {
    const double rounded = integral<kRounding>(double{flush<kFlush>(a)});
    return finish<kFlush, kSaturate>(static_cast<float>(rounded));
  }
};
template <Rounding kRounding, bool kSaturate>
struct IntegralDouble {
  DRAFTPROOF_INLINE static double apply(double a) {
    return saturate<kSaturate>(canonical(integral<kRounding>(a)));
  }
};
template <Rounding kRounding, bool kBfloat>
struct IntegralHalf {
  DRAFTPROOF_INLINE static std::uint32_t apply(std::uint32_t a) {
    const double rounded =
        integral<kRounding>(double{kBfloat ? bfloat_to_float(a) : half_to_float(a)});
    return kBfloat ? narrow<7, 8, Rounding::kNearest>(rounded)
                   : narrow<10, 5, Rounding::kNearest>(rounded);
  }
};

void add_integral(FormTable& table) {
  for_roundings([&]<Rounding kRounding>(const std::string& rounding) {
    const std::string head = "cvt" + rounding + "i";
    const auto add = [&](const std::string& tail, const char* signature, Handler handler) {
      table.add(head + tail, signature, handler, Binding::kConvert);
    };
    add(".f32.f32", "f:f", scalar_lanes<IntegralSingle<kRounding, false, false>>());
    add(".ftz.f32.f32", "f:f", scalar_lanes<IntegralSingle<kRounding, true, false>>());
    add(".sat.f32.f32", "f:f", scalar_lanes<IntegralSingle<kRounding, false, true>>());
    add(".ftz.sat.f32.f32", "f:f", scalar_lanes<IntegralSingle<kRounding, true, true>>());
    add(".f64.f64", "d:d", scalar_lanes<IntegralDouble<kRounding, false>>());
    add(".sat.f64.f64", "d:d", scalar_lanes<IntegralDouble<kRounding, true>>());
    add(".f16.f16", "x:x", scalar_lanes<IntegralHalf<kRounding, false>>());
    add(".bf16.bf16", "x:x", scalar_lanes<IntegralHalf<kRounding, true>>());
  });
}

}  // namespace

void add_float_to_integer_conversions(FormTable& table) {
  for_types<std::int8_t, std::uint8_t, std::int16_t, std::uint16_t, std::int32_t, std::uint32_t,
            std::int64_t, std::uint64_t>([&](auto to) { add_result<decltype(to)>(table); });
  add_integral(table);
}

}  // namespace draftproof::gpu::emulator::isa
