// cvt between integers. PTX ISA 9.0, 9.7.9.21: truncation, or extension by the source's sign; .sat
// clamps to the range of the result.
#include <limits>
#include <string>

#include "gpu/emulator/isa/families.h"
#include "gpu/emulator/isa/lanes.h"
#include "gpu/emulator/isa/types.h"

namespace draftproof::gpu::emulator::isa {
namespace {

/// A narrow result is extended to its 32-bit lane as its type says: the register may be that wide.
template <class T>
DRAFTPROOF_INLINE Lane<T> widen(T value) {
  if constexpr (sizeof(T) == 8) return static_cast<std::uint64_t>(value);
  if constexpr (std::is_signed_v<T>) {
    return static_cast<std::uint32_t>(static_cast<std::int32_t>(value));
  }
  return static_cast<std::uint32_t>(value);
}

template <class To, class From>
struct ConvertInteger {
  DRAFTPROOF_INLINE static Lane<To> apply(Lane<From> a) {
    return widen<To>(static_cast<To>(static_cast<From>(a)));
  }
};
template <class To, class From>
struct ConvertSaturated {
  DRAFTPROOF_INLINE static Lane<To> apply(Lane<From> a) {
    const From value = static_cast<From>(a);
    constexpr To kLow = std::numeric_limits<To>::min();
    constexpr To kHigh = std::numeric_limits<To>::max();
    if (std::cmp_less(value, kLow)) return widen<To>(kLow);
    if (std::cmp_greater(value, kHigh)) return widen<To>(kHigh);
    return widen<To>(static_cast<To>(value));
  }
};

template <class T>
constexpr char letter() {
  return sizeof(T) == 8 ? 'q' : sizeof(T) == 4 ? 'w' : 'h';
}

template <class To, class From>
void add_pair(FormTable& table) {
  const std::string types = "." + type_name<To>() + "." + type_name<From>();
  const std::string signature = std::string(1, letter<To>()) + ":" + letter<From>();
  table.add("cvt" + types, signature, lanes<ConvertInteger<To, From>>(), Binding::kConvert,
            std::is_signed_v<To>);
  table.add("cvt.sat" + types, signature, scalar_lanes<ConvertSaturated<To, From>>(),
            Binding::kConvert, std::is_signed_v<To>);
}

template <class To>
void add_result(FormTable& table) {
  for_types<std::int8_t, std::uint8_t, std::int16_t, std::uint16_t, std::int32_t, std::uint32_t,
            std::int64_t, std::uint64_t>([&](auto from) { add_pair<To, decltype(from)>(table); });
}

}  // namespace

void add_integer_conversions(FormTable& table) {
  for_types<std::int8_t, std::uint8_t, std::int16_t, std::uint16_t, std::int32_t, std::uint32_t,
            std::int64_t, std::uint64_t>([&](auto to) { add_result<decltype(to)>(table); });
}

}  // namespace draftproof::gpu::emulator::isa
