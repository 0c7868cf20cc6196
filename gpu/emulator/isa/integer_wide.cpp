// Products of double width: mul.hi, mul.wide, mad.hi, mad.wide, mul24, mad24, dp4a, dp2a.
// PTX ISA 9.0, 9.7.1.
#include <limits>

#include "gpu/emulator/isa/families.h"
#include "gpu/emulator/isa/lanes.h"
#include "gpu/emulator/isa/types.h"

namespace draftproof::gpu::emulator::isa {
namespace {

__extension__ using Int128 = __int128;
__extension__ using UInt128 = unsigned __int128;

template <class T>
using Double = std::conditional_t<
    sizeof(T) == 8, std::conditional_t<std::is_signed_v<T>, Int128, UInt128>,
    std::conditional_t<sizeof(T) == 4,
                       std::conditional_t<std::is_signed_v<T>, std::int64_t, std::uint64_t>,
                       std::conditional_t<std::is_signed_v<T>, std::int32_t, std::uint32_t>>>;

template <class T>
DRAFTPROOF_INLINE Unsigned<T> high_product(Lane<T> a, Lane<T> b) {
  const Double<T> product = Double<T>{static_cast<T>(a)} * static_cast<T>(b);
  return static_cast<Unsigned<T>>(product >> (8 * sizeof(T)));
}

template <class T>
struct MultiplyHigh {
  DRAFTPROOF_INLINE static Lane<T> apply(Lane<T> a, Lane<T> b) { return high_product<T>(a, b); }
  static bool absorbs(Lane<T> value) { return static_cast<Unsigned<T>>(value) == 0; }
};
template <class T>
struct MultiplyHighAdd {
  DRAFTPROOF_INLINE static Lane<T> apply(Lane<T> a, Lane<T> b, Lane<T> c) {
    return static_cast<Unsigned<T>>(high_product<T>(a, b) + c);
  }
};
template <class T>
using Wide = std::conditional_t<sizeof(T) == 4, std::uint64_t, std::uint32_t>;
template <class T>
struct MultiplyWide {
  DRAFTPROOF_INLINE static Wide<T> apply(Lane<T> a, Lane<T> b) {
    return static_cast<Wide<T>>(Double<T>{static_cast<T>(a)} * static_cast<T>(b));
  }
  static bool absorbs(Lane<T> value) { return static_cast<Unsigned<T>>(value) == 0; }
};
template <class T>
struct MultiplyWideAdd {
  DRAFTPROOF_INLINE static Wide<T> apply(Lane<T> a, Lane<T> b, Wide<T> c) {
    return static_cast<Wide<T>>(Double<T>{static_cast<T>(a)} * static_cast<T>(b)) + c;
  }
};
struct MultiplyHighAddSaturated {
  DRAFTPROOF_INLINE static std::uint32_t apply(std::int32_t a, std::int32_t b, std::int32_t c) {
    const std::int64_t sum = (std::int64_t{a} * b >> 32) + c;
    constexpr std::int64_t kLow = std::numeric_limits<std::int32_t>::min();
    constexpr std::int64_t kHigh = std::numeric_limits<std::int32_t>::max();
    return static_cast<std::uint32_t>(sum < kLow ? kLow : sum > kHigh ? kHigh : sum);
  }
};

/// The lower 24 bits, extended as T is.
template <class T>
DRAFTPROOF_INLINE std::int64_t low_24(std::uint32_t value) {
  if constexpr (std::is_signed_v<T>) return static_cast<std::int32_t>(value << 8) >> 8;
  return value & 0xffffff;
}
template <class T, int kShift>
struct Multiply24 {
  DRAFTPROOF_INLINE static std::uint32_t apply(std::uint32_t a, std::uint32_t b) {
    return static_cast<std::uint32_t>(low_24<T>(a) * low_24<T>(b) >> kShift);
  }
};
template <class T, int kShift>
struct Multiply24Add {
  DRAFTPROOF_INLINE static std::uint32_t apply(std::uint32_t a, std::uint32_t b, std::uint32_t c) {
    return static_cast<std::uint32_t>(low_24<T>(a) * low_24<T>(b) >> kShift) + c;
  }
};

template <class A, class B>
struct DotOfBytes {
  DRAFTPROOF_INLINE static std::uint32_t apply(std::uint32_t a, std::uint32_t b, std::uint32_t c) {
    for (int i = 0; i < 32; i += 8) {
      const int x = static_cast<A>(a >> i);
      const int y = static_cast<B>(b >> i);
      c += static_cast<std::uint32_t>(x * y);
    }
    return c;
  }
};
/// Two 16-bit values of a against two bytes of b, the lower or the upper pair.
template <class A, class B, int kByte>
struct DotOfHalves {
  DRAFTPROOF_INLINE static std::uint32_t apply(std::uint32_t a, std::uint32_t b, std::uint32_t c) {
    for (int i = 0; i < 2; ++i) {
      const int x = static_cast<A>(a >> 16 * i);
      const int y = static_cast<B>(b >> (8 * (kByte + i)));
      c += static_cast<std::uint32_t>(x * y);
    }
    return c;
  }
};

template <class T>
void add_type(FormTable& table) {
  const std::string type = type_name<T>();
  const char letter = letter_of<T>();
  table.add("mul.hi." + type, same_signature(letter, 2), lanes<MultiplyHigh<T>>());
  table.add("mad.hi." + type, same_signature(letter, 3), lanes<MultiplyHighAdd<T>>());
  if constexpr (sizeof(T) < 8) {
    const char wide = sizeof(T) == 4 ? 'q' : 'w';
    const std::string head = std::string(1, wide) + ":" + letter + letter;
    table.add("mul.wide." + type, head, lanes<MultiplyWide<T>>());
    table.add("mad.wide." + type, head + wide, lanes<MultiplyWideAdd<T>>());
  }
  if constexpr (sizeof(T) == 4) {
    table.add("mul24.lo." + type, "w:ww", lanes<Multiply24<T, 0>>());
    table.add("mul24.hi." + type, "w:ww", lanes<Multiply24<T, 16>>());
    table.add("mad24.lo." + type, "w:www", lanes<Multiply24Add<T, 0>>());
    table.add("mad24.hi." + type, "w:www", lanes<Multiply24Add<T, 16>>());
  }
}

template <class A, class B>
void add_dots(FormTable& table) {
  using A8 = std::conditional_t<std::is_signed_v<A>, std::int8_t, std::uint8_t>;
  using B8 = std::conditional_t<std::is_signed_v<B>, std::int8_t, std::uint8_t>;
  using A16 = std::conditional_t<std::is_signed_v<A>, std::int16_t, std::uint16_t>;
  const std::string types = type_name<A>() + "." + type_name<B>();
  table.add("dp4a." + types, "w:www", lanes<DotOfBytes<A8, B8>>());
  table.add("dp2a.lo." + types, "w:www", lanes<DotOfHalves<A16, B8, 0>>());
  table.add("dp2a.hi." + types, "w:www", lanes<DotOfHalves<A16, B8, 2>>());
}

}  // namespace

void add_integer_wide_forms(FormTable& table) {
  for_types<std::int16_t, std::uint16_t, std::int32_t, std::uint32_t, std::int64_t, std::uint64_t>(
      [&](auto type) { add_type<decltype(type)>(table); });
  table.add("mad.hi.sat.s32", "w:www", lanes<MultiplyHighAddSaturated>());
  add_dots<std::int32_t, std::int32_t>(table);
  add_dots<std::int32_t, std::uint32_t>(table);
  add_dots<std::uint32_t, std::int32_t>(table);
  add_dots<std::uint32_t, std::uint32_t>(table);
}

}  // namespace draftproof::gpu::emulator::isa
