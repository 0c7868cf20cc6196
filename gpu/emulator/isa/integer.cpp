// Integer arithmetic of one width: add, sub, mul.lo, mad.lo, neg, abs, min, max, sad.
// PTX ISA 9.0, 9.7.1. Sums wrap; only .sat.s32 saturates.
#include <limits>

#include "gpu/emulator/isa/families.h"
#include "gpu/emulator/isa/lanes.h"
#include "gpu/emulator/isa/types.h"

namespace draftproof::gpu::emulator::isa {
namespace {

template <class T>
DRAFTPROOF_INLINE Lane<T> lane_of(Unsigned<T> value) {
  return value;
}

template <class T>
struct Add {
  DRAFTPROOF_INLINE static Lane<T> apply(Lane<T> a, Lane<T> b) {
    return lane_of<T>(static_cast<Unsigned<T>>(a + b));
  }
};
template <class T>
struct Subtract {
  DRAFTPROOF_INLINE static Lane<T> apply(Lane<T> a, Lane<T> b) {
    return lane_of<T>(static_cast<Unsigned<T>>(a - b));
  }
};
template <class T>
struct Multiply {
  DRAFTPROOF_INLINE static Lane<T> apply(Lane<T> a, Lane<T> b) {
    return lane_of<T>(static_cast<Unsigned<T>>(a * b));
  }
  /// Zero times anything is zero.
  static bool absorbs(Lane<T> value) { return static_cast<Unsigned<T>>(value) == 0; }
};
template <class T>
struct MultiplyAdd {
  DRAFTPROOF_INLINE static Lane<T> apply(Lane<T> a, Lane<T> b, Lane<T> c) {
    return lane_of<T>(static_cast<Unsigned<T>>(a * b + c));
  }
};
template <class T>
struct Negate {
  DRAFTPROOF_INLINE static Lane<T> apply(Lane<T> a) {
    return lane_of<T>(static_cast<Unsigned<T>>(Lane<T>{0} - a));
  }
};
template <class T>
struct Absolute {
  DRAFTPROOF_INLINE static Lane<T> apply(Lane<T> a) {
    const bool is_negative = static_cast<T>(a) < 0;
    return lane_of<T>(static_cast<Unsigned<T>>(is_negative ? Lane<T>{0} - a : a));
  }
};
template <class T>
struct Minimum {
  DRAFTPROOF_INLINE static Lane<T> apply(Lane<T> a, Lane<T> b) {
    const T x = static_cast<T>(a), y = static_cast<T>(b);
    return lane_of<T>(static_cast<Unsigned<T>>(x < y ? x : y));
  }
};
template <class T>
struct Maximum {
  DRAFTPROOF_INLINE static Lane<T> apply(Lane<T> a, Lane<T> b) {
    const T x = static_cast<T>(a), y = static_cast<T>(b);
    return lane_of<T>(static_cast<Unsigned<T>>(x > y ? x : y));
  }
};
/// c + |a - b|
template <class T>
struct SumOfDifference {
  DRAFTPROOF_INLINE static Lane<T> apply(Lane<T> a, Lane<T> b, Lane<T> c) {
    const T x = static_cast<T>(a), y = static_cast<T>(b);
    const Lane<T> difference = x < y ? b - a : a - b;
    return lane_of<T>(static_cast<Unsigned<T>>(c + difference));
  }
};

DRAFTPROOF_INLINE std::uint32_t saturate(std::int64_t value) {
  constexpr std::int64_t kLow = std::numeric_limits<std::int32_t>::min();
  constexpr std::int64_t kHigh = std::numeric_limits<std::int32_t>::max();
  return static_cast<std::uint32_t>(value < kLow ? kLow : value > kHigh ? kHigh : value);
}
struct AddSaturated {
  DRAFTPROOF_INLINE static std::uint32_t apply(std::int32_t a, std::int32_t b) {
    return saturate(std::int64_t{a} + b);
  }
};
struct SubtractSaturated {
  DRAFTPROOF_INLINE static std::uint32_t apply(std::int32_t a, std::int32_t b) {
    return saturate(std::int64_t{a} - b);
  }
};

template <class T>
void add_type(FormTable& table) {
  const std::string type = type_name<T>();
  const std::string one = same_signature(letter_of<T>(), 1);
  const std::string two = same_signature(letter_of<T>(), 2);
  const std::string three = same_signature(letter_of<T>(), 3);
  table.add("add." + type, two, lanes<Add<Unsigned<T>>>());
  table.add("sub." + type, two, lanes<Subtract<Unsigned<T>>>());
  table.add("mul.lo." + type, two, lanes<Multiply<Unsigned<T>>>());
  table.add("mad.lo." + type, three, lanes<MultiplyAdd<Unsigned<T>>>());
  table.add("min." + type, two, lanes<Minimum<T>>());
  table.add("max." + type, two, lanes<Maximum<T>>());
  table.add("sad." + type, three, lanes<SumOfDifference<T>>());
  if constexpr (std::is_signed_v<T>) {
    table.add("neg." + type, one, lanes<Negate<Unsigned<T>>>());
    table.add("abs." + type, one, lanes<Absolute<T>>());
  }
}

}  // namespace

void add_integer_forms(FormTable& table) {
  for_types<std::int16_t, std::uint16_t, std::int32_t, std::uint32_t, std::int64_t, std::uint64_t>(
      [&](auto type) { add_type<decltype(type)>(table); });
  table.add("add.sat.s32", "w:ww", lanes<AddSaturated>());
  table.add("sub.sat.s32", "w:ww", lanes<SubtractSaturated>());
}

}  // namespace draftproof::gpu::emulator::isa
