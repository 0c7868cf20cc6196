// cvt from integers to floats, in all four directions. PTX ISA 9.0, 9.7.9.21.
#include <string>

#include "gpu/emulator/isa/families.h"
#include "gpu/emulator/isa/lanes.h"
#include "gpu/emulator/isa/rounding.h"
#include "gpu/emulator/isa/types.h"

namespace draftproof::gpu::emulator::isa {
namespace {

/// The integer as a binary64 number, rounded to odd when it has more than 53 bits: rounding that
/// again to 24 bits or fewer is exact.
template <class From>
double odd_double(From value) {
  if constexpr (sizeof(From) < 8) return static_cast<double>(value);
  // The x87 format holds 64 bits, so this is exact.
  const long double exact = value;
  const double high = static_cast<double>(value);
  const double low = static_cast<double>(exact - static_cast<long double>(high));
  return round_to_odd({high, low});
}

template <class From, Rounding kRounding>
double to_double(From value) {
  const double high = static_cast<double>(value);
  if constexpr (sizeof(From) < 8 || kRounding == Rounding::kNearest) return high;
  const long double exact = value;
  const std::uint64_t bits = bits_of(high);
  const bool is_above = static_cast<long double>(high) > exact;
  const bool is_below = static_cast<long double>(high) < exact;
  const bool is_negative = high < 0;
  const bool down =
      is_above && (kRounding == Rounding::kDown || (kRounding == Rounding::kZero && !is_negative));
  const bool up =
      is_below && (kRounding == Rounding::kUp || (kRounding == Rounding::kZero && is_negative));
  if (down) return double_of(is_negative ? bits + 1 : bits - 1);
  if (up) return double_of(is_negative ? bits - 1 : bits + 1);
  return high;
}

template <class From, Rounding kRounding>
struct ToSingle {
  DRAFTPROOF_INLINE static float apply(Lane<From> lane) {
    const From value = static_cast<From>(lane);
    if constexpr (kRounding == Rounding::kNearest)
      return static_cast<float>(value);
    else
      return float_of(narrow<23, 8, kRounding>(odd_double(value)));
  }
};
template <class From, Rounding kRounding>
struct ToDouble {
  DRAFTPROOF_INLINE static double apply(Lane<From> lane) {
    return to_double<From, kRounding>(static_cast<From>(lane));
  }
};
template <class From, Rounding kRounding, int kMantissa, int kExponent>
struct ToHalf {
  DRAFTPROOF_INLINE static std::uint32_t apply(Lane<From> lane) {
    return narrow<kMantissa, kExponent, kRounding>(odd_double(static_cast<From>(lane)));
  }
};

template <class From>
void add_source(FormTable& table) {
  const std::string from = "." + type_name<From>();
  const std::string source = std::string(":") + letter_of<From>();
  for_roundings([&]<Rounding kRounding>(const std::string& rounding) {
    const std::string head = "cvt" + rounding;
    const bool is_common = kRounding == Rounding::kNearest;
    table.add(
        head + ".f32" + from, "f" + source,
        is_common ? lanes<ToSingle<From, kRounding>>() : scalar_lanes<ToSingle<From, kRounding>>(),
        Binding::kConvert);
    table.add(head + ".f64" + from, "d" + source, scalar_lanes<ToDouble<From, kRounding>>(),
              Binding::kConvert);
    table.add(head + ".f16" + from, "x" + source, scalar_lanes<ToHalf<From, kRounding, 10, 5>>(),
              Binding::kConvert);
    table.add(head + ".bf16" + from, "x" + source, scalar_lanes<ToHalf<From, kRounding, 7, 8>>(),
              Binding::kConvert);
  });
}

}  // namespace

void add_integer_to_float_conversions(FormTable& table) {
  for_types<std::int8_t, std::uint8_t, std::int16_t, std::uint16_t, std::int32_t, std::uint32_t,
            std::int64_t, std::uint64_t>([&](auto from) { add_source<decltype(from)>(table); });
}

}  // namespace draftproof::gpu::emulator::isa
