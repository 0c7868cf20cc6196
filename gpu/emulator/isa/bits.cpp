// Bit fields and counts: popc, clz, bfind, brev, bfe, bfi, bmsk, szext, fns, prmt.
// PTX ISA 9.0, 9.7.1.15 to 9.7.1.22 and 9.7.9.7.
#include "gpu/emulator/isa/families.h"
#include "gpu/emulator/isa/lanes.h"
#include "gpu/emulator/isa/types.h"

namespace draftproof::gpu::emulator::isa {
namespace {

/// Sums of neighbouring fields of 1, 2 and 4 bits, then of the bytes by a product.
template <class T>
struct CountOnes {
  DRAFTPROOF_INLINE static std::uint32_t apply(T a) {
    constexpr T kOnes = static_cast<T>(~T{0});
    T value = a - (a >> 1 & (kOnes / 3));
    value = (value & (kOnes / 5)) + (value >> 2 & (kOnes / 5));
    value = (value + (value >> 4)) & (kOnes / 17);
    return static_cast<std::uint32_t>(value * (kOnes / 255) >> (8 * sizeof(T) - 8));
  }
};
template <class T>
struct CountLeadingZeros {
  DRAFTPROOF_INLINE static std::uint32_t apply(T a) {
    constexpr int kBits = 8 * sizeof(T);
    return a == 0 ? kBits : static_cast<std::uint32_t>(__builtin_clzll(a) - (64 - kBits));
  }
};
/// Position of the highest bit that differs from the sign, or its distance from the top.
template <class T, bool kShiftAmount>
struct FindHighest {
  DRAFTPROOF_INLINE static std::uint32_t apply(Lane<T> a) {
    constexpr int kBits = 8 * sizeof(T);
    const Lane<T> value = static_cast<T>(a) < 0 ? ~a : a;
    if (value == 0) return ~std::uint32_t{0};
    const int position = 63 - __builtin_clzll(value);
    return static_cast<std::uint32_t>(kShiftAmount ? kBits - 1 - position : position);
  }
};
template <class T>
struct Reverse {
  DRAFTPROOF_INLINE static T apply(T a) {
    constexpr int kBits = 8 * sizeof(T);
    T value = a;
    T mask = static_cast<T>(~T{0});
    for (int width = kBits / 2; width > 0; width /= 2) {
      mask = static_cast<T>(mask ^ (mask << width));
      value = static_cast<T>((value >> width & mask) | (value << width & ~mask));
    }
    return value;
  }
};
/// The field of `length` bits from `start`, both modulo 256; past the top there are sign bits.
template <class T>
struct ExtractField {
  DRAFTPROOF_INLINE static Lane<T> apply(Lane<T> a, std::uint32_t start, std::uint32_t length) {
    constexpr std::uint32_t kBits = 8 * sizeof(T);
    const std::uint32_t from = start & 0xff;
    const std::uint32_t count = length & 0xff;
    if (count == 0) return 0;
    const std::uint32_t top = from + count - 1 < kBits - 1 ? from + count - 1 : kBits - 1;
    const bool sign = std::is_signed_v<T> && (a >> top & 1) != 0;
    const Lane<T> shifted = from >= kBits ? 0 : a >> from;
    const std::uint32_t held = from >= kBits ? 0 : (count < kBits - from ? count : kBits - from);
    const Lane<T> mask = held >= kBits ? ~Lane<T>{0} : (Lane<T>{1} << held) - 1;
    return (shifted & mask) | (sign ? ~mask : 0);
  }
};
template <class T>
struct InsertField {
  DRAFTPROOF_INLINE static T apply(T a, T b, std::uint32_t start, std::uint32_t length) {
    constexpr std::uint32_t kBits = 8 * sizeof(T);
    const std::uint32_t from = start & 0xff;
    const std::uint32_t count = length & 0xff;
    if (from >= kBits || count == 0) return b;
    const T field = count >= kBits ? static_cast<T>(~T{0}) : static_cast<T>((T{1} << count) - 1);
    const T mask = field << from;
    return (b & ~mask) | (a << from & mask);
  }
};
/// A mask of `b` ones from position `a`.
template <bool kClamp>
struct MakeMask {
  DRAFTPROOF_INLINE static std::uint32_t apply(std::uint32_t a, std::uint32_t b) {
    const std::uint32_t start = kClamp ? a : a & 31;
    const std::uint32_t count = kClamp ? b : b & 31;
    if (start >= 32 || count == 0) return 0;
    const std::uint32_t ones = count >= 32 ? ~0u : (1u << count) - 1;
    return ones << start;
  }
};
/// Extends the lowest `b` bits of a.
template <class T, bool kClamp>
struct ExtendField {
  DRAFTPROOF_INLINE static std::uint32_t apply(std::uint32_t a, std::uint32_t b) {
    const std::uint32_t count = kClamp ? b : b & 31;
    if (count >= 32) return a;
    if (count == 0) return 0;
    const std::uint32_t shift = 32 - count;
    return static_cast<std::uint32_t>(static_cast<T>(a << shift) >> shift);
  }
};
/// fns: the position of the |n|-th one of the mask from `base` on, upwards or downwards; n = 0 asks
/// about bit `base` itself. All ones when there is none.
struct FindNthOne {
  static constexpr bool kIsSlow = true;
  DRAFTPROOF_INLINE static std::uint32_t apply(std::uint32_t mask, std::uint32_t base,
                                               std::int32_t n) {
    const std::uint32_t step = n < 0 ? ~std::uint32_t{0} : 1;
    std::uint32_t left = n < 0 ? 0 - static_cast<std::uint32_t>(n) : static_cast<std::uint32_t>(n);
    if (left == 0) return base < 32 && (mask >> base & 1) != 0 ? base : ~std::uint32_t{0};
    for (std::uint32_t at = base; at < 32; at += step) {
      if ((mask >> at & 1) != 0 && --left == 0) return at;
    }
    return ~std::uint32_t{0};
  }
};

/// prmt: byte selectors, whose bit 3 replicates the sign of the byte.
struct PermuteBytes {
  DRAFTPROOF_INLINE static std::uint32_t apply(std::uint32_t a, std::uint32_t b, std::uint32_t c) {
    const std::uint64_t pair = std::uint64_t{b} << 32 | a;
    std::uint32_t result = 0;
    for (int i = 0; i < 4; ++i) {
      const std::uint32_t selector = c >> 4 * i & 0xf;
      const std::uint32_t byte = static_cast<std::uint32_t>(pair >> 8 * (selector & 7)) & 0xff;
      const std::uint32_t sign = (0 - (byte >> 7)) & 0xff;
      const std::uint32_t replicate = 0 - (selector >> 3);
      result |= ((byte & ~replicate) | (sign & replicate)) << 8 * i;
    }
    return result;
  }
};
enum class PermuteMode { kForward4, kBackward4, kReplicate8, kEdgeLeft, kEdgeRight, kReplicate16 };
/// The selectors of the named modes, PTX ISA table of prmt.
constexpr std::uint16_t kPermuteSelectors[6][4] = {
    {0x3210, 0x4321, 0x5432, 0x6543}, {0x5670, 0x6701, 0x7012, 0x0123},
    {0x0000, 0x1111, 0x2222, 0x3333}, {0x3210, 0x3211, 0x3222, 0x3333},
    {0x0000, 0x1110, 0x2210, 0x3210}, {0x1010, 0x3232, 0x1010, 0x3232}};
template <PermuteMode kMode>
struct PermuteNamed {
  DRAFTPROOF_INLINE static std::uint32_t apply(std::uint32_t a, std::uint32_t b, std::uint32_t c) {
    return PermuteBytes::apply(a, b, kPermuteSelectors[static_cast<int>(kMode)][c & 3]);
  }
};

template <class T>
void add_type(FormTable& table) {
  using S = std::make_signed_t<T>;
  const char letter = letter_of<T>();
  const std::string bits = bits_name<T>();
  const std::string count = std::string("w:") + letter;
  const std::string field = std::string(1, letter) + ":" + letter;
  table.add("popc." + bits, count, lanes<CountOnes<T>>());
  table.add("clz." + bits, count, lanes<CountLeadingZeros<T>>());
  table.add("brev." + bits, field, lanes<Reverse<T>>());
  table.add("bfind." + type_name<T>(), count, lanes<FindHighest<T, false>>());
  table.add("bfind." + type_name<S>(), count, lanes<FindHighest<S, false>>());
  table.add("bfind.shiftamt." + type_name<T>(), count, lanes<FindHighest<T, true>>());
  table.add("bfind.shiftamt." + type_name<S>(), count, lanes<FindHighest<S, true>>());
  table.add("bfe." + type_name<T>(), field + "ww", lanes<ExtractField<T>>());
  table.add("bfe." + type_name<S>(), field + "ww", lanes<ExtractField<S>>());
  table.add("bfi." + bits, field + letter + "ww", lanes<InsertField<T>>());
}

}  // namespace

void add_bit_forms(FormTable& table) {
  add_type<std::uint32_t>(table);
  add_type<std::uint64_t>(table);
  table.add("bmsk.clamp.b32", "w:ww", lanes<MakeMask<true>>());
  table.add("bmsk.wrap.b32", "w:ww", lanes<MakeMask<false>>());
  table.add("szext.clamp.u32", "w:ww", lanes<ExtendField<std::uint32_t, true>>());
  table.add("szext.wrap.u32", "w:ww", lanes<ExtendField<std::uint32_t, false>>());
  table.add("szext.clamp.s32", "w:ww", lanes<ExtendField<std::int32_t, true>>());
  table.add("szext.wrap.s32", "w:ww", lanes<ExtendField<std::int32_t, false>>());
  table.add("fns.b32", "w:www", scalar_lanes<FindNthOne>());
  table.add("prmt.b32", "w:www", lanes<PermuteBytes>());
  table.add("prmt.b32.f4e", "w:www", lanes<PermuteNamed<PermuteMode::kForward4>>());
  table.add("prmt.b32.b4e", "w:www", lanes<PermuteNamed<PermuteMode::kBackward4>>());
  table.add("prmt.b32.rc8", "w:www", lanes<PermuteNamed<PermuteMode::kReplicate8>>());
  table.add("prmt.b32.ecl", "w:www", lanes<PermuteNamed<PermuteMode::kEdgeLeft>>());
  table.add("prmt.b32.ecr", "w:www", lanes<PermuteNamed<PermuteMode::kEdgeRight>>());
  table.add("prmt.b32.rc16", "w:www", lanes<PermuteNamed<PermuteMode::kReplicate16>>());
}

}  // namespace draftproof::gpu::emulator::isa
