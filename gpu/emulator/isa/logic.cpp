// Logic and shifts: and, or, xor, not, cnot, lop3, shl, shr, shf. PTX ISA 9.0, 9.7.8.
// Shift amounts are unsigned 32-bit and clamp at the width.
#include "gpu/emulator/isa/families.h"
#include "gpu/emulator/isa/lanes.h"
#include "gpu/emulator/isa/types.h"

namespace draftproof::gpu::emulator::isa {
namespace {

template <class T>
struct And {
  DRAFTPROOF_INLINE static Lane<T> apply(Lane<T> a, Lane<T> b) { return static_cast<T>(a & b); }
  static bool absorbs(Lane<T> value) { return static_cast<T>(value) == 0; }
};
template <class T>
struct Or {
  DRAFTPROOF_INLINE static Lane<T> apply(Lane<T> a, Lane<T> b) { return static_cast<T>(a | b); }
  static bool absorbs(Lane<T> value) { return static_cast<T>(~value) == 0; }
};
template <class T>
struct Xor {
  DRAFTPROOF_INLINE static Lane<T> apply(Lane<T> a, Lane<T> b) { return static_cast<T>(a ^ b); }
};
template <class T>
struct Not {
  DRAFTPROOF_INLINE static Lane<T> apply(Lane<T> a) { return static_cast<T>(~a); }
};
template <class T>
struct IsZero {
  DRAFTPROOF_INLINE static Lane<T> apply(Lane<T> a) { return static_cast<T>(a) == 0 ? 1 : 0; }
};
template <class T>
struct ShiftLeft {
  DRAFTPROOF_INLINE static Lane<T> apply(Lane<T> a, std::uint32_t by) {
    constexpr std::uint32_t kWidth = 8 * sizeof(T);
    const Lane<T> shifted = a << (by & (8 * sizeof(Lane<T>) - 1));
    return static_cast<T>(by >= kWidth ? 0 : shifted);
  }
};
template <class T>
struct ShiftRight {
  DRAFTPROOF_INLINE static Lane<T> apply(Lane<T> a, std::uint32_t by) {
    constexpr std::uint32_t kWidth = 8 * sizeof(T);
    const Unsigned<T> value = static_cast<Unsigned<T>>(a);
    if constexpr (std::is_signed_v<T>) {
      const std::uint32_t amount = by >= kWidth ? kWidth - 1 : by;
      return static_cast<Unsigned<T>>(static_cast<T>(value) >> amount);
    } else {
      return by >= kWidth ? 0 : static_cast<Lane<T>>(value) >> (by & (8 * sizeof(Lane<T>) - 1));
    }
  }
};

/// Shifts the pair b:a; `c` is taken modulo 32 or clamped to 32.
template <bool kLeft, bool kClamp>
struct Funnel {
  DRAFTPROOF_INLINE static std::uint32_t apply(std::uint32_t a, std::uint32_t b, std::uint32_t c) {
    const std::uint32_t by = kClamp ? (c > 32 ? 32 : c) : (c & 31);
    const std::uint64_t pair = std::uint64_t{b} << 32 | a;
    return kLeft ? static_cast<std::uint32_t>(pair << by >> 32)
                 : static_cast<std::uint32_t>(pair >> by);
  }
};

/// lop3: bit (a, b, c) of the table, the sources[3] constant, bit by bit.
struct TernaryLogic {
  DRAFTPROOF_INLINE static std::uint32_t apply(std::uint32_t a, std::uint32_t b, std::uint32_t c,
                                               std::uint32_t table) {
    std::uint32_t result = 0;
    for (std::uint32_t i = 0; i < 8; ++i) {
      const std::uint32_t term =
          ((i & 4) != 0 ? a : ~a) & ((i & 2) != 0 ? b : ~b) & ((i & 1) != 0 ? c : ~c);
      result |= term & (0 - (table >> i & 1));
    }
    return result;
  }
};

/// Predicates are whole words: one operation for all lanes.
template <int kOperation>
LaneMask predicate_logic(const Instruction& instruction, const Frame& frame, LaneMask active) {
  const Operand& first = instruction.sources[0];
  const LaneMask a = frame.predicate(first);
  const LaneMask a_valid = frame.valid(first);
  LaneMask result = a, valid = a_valid;
  if constexpr (kOperation == '~') {
    result = ~a;
  } else if constexpr (kOperation != '=') {
    const LaneMask b = frame.predicate(instruction.sources[1]);
    const LaneMask b_valid = frame.valid(instruction.sources[1]);
    valid = a_valid & b_valid;
    if constexpr (kOperation == '&') {
      result = a & b;
      valid |= (a_valid & ~a) | (b_valid & ~b);
    } else if constexpr (kOperation == '|') {
      result = a | b;
      valid |= (a_valid & a) | (b_valid & b);
    } else {
      result = a ^ b;
      const Operand& second = instruction.sources[1];
      if (first.area == second.area && first.offset == second.offset) valid = kAllLanes;
    }
  }
  write_mask(*frame.lanes<LaneMask>(instruction.destinations[0]), result, active);
  write_mask(frame.valid(instruction.destinations[0]), valid, active);
  return 0;
}

template <class T>
void add_type(FormTable& table) {
  const std::string bits = bits_name<T>();
  const char letter = letter_of<T>();
  const std::string shift = std::string(1, letter) + ":" + letter + "w";
  table.add("and." + bits, same_signature(letter, 2), lanes<And<T>>());
  table.add("or." + bits, same_signature(letter, 2), lanes<Or<T>>());
  table.add("xor." + bits, same_signature(letter, 2), lanes<Xor<T>>());
  table.add("not." + bits, same_signature(letter, 1), lanes<Not<T>>());
  table.add("cnot." + bits, same_signature(letter, 1), lanes<IsZero<T>>());
  table.add("shl." + bits, shift, lanes<ShiftLeft<T>>());
  table.add("shr." + bits, shift, lanes<ShiftRight<T>>());
  table.add("shr." + type_name<T>(), shift, lanes<ShiftRight<T>>());
  using S = std::make_signed_t<T>;
  table.add("shr." + type_name<S>(), shift, lanes<ShiftRight<S>>());
}

}  // namespace

void add_logic_forms(FormTable& table) {
  for_types<std::uint16_t, std::uint32_t, std::uint64_t>(
      [&](auto type) { add_type<decltype(type)>(table); });
  table.add("shf.l.wrap.b32", "w:www", lanes<Funnel<true, false>>());
  table.add("shf.l.clamp.b32", "w:www", lanes<Funnel<true, true>>());
  table.add("shf.r.wrap.b32", "w:www", lanes<Funnel<false, false>>());
  table.add("shf.r.clamp.b32", "w:www", lanes<Funnel<false, true>>());
  table.add("lop3.b32", "w:wwww", lanes<TernaryLogic>());
  table.add("and.pred", "p:pp", &predicate_logic<'&'>);
  table.add("or.pred", "p:pp", &predicate_logic<'|'>);
  table.add("xor.pred", "p:pp", &predicate_logic<'^'>);
  table.add("not.pred", "p:p", &predicate_logic<'~'>);
  table.add("mov.pred", "p:p", &predicate_logic<'='>);
}

}  // namespace draftproof::gpu::emulator::isa
