// Extended precision: add.cc, addc, sub.cc, subc, mad.cc, madc. PTX ISA 9.0, 9.7.2. The condition
// code is a hidden predicate register of each function; sub and subc keep the borrow in it.
#include <string>

#include "gpu/emulator/isa/families.h"
#include "gpu/emulator/isa/lanes.h"
#include "gpu/emulator/isa/types.h"

namespace draftproof::gpu::emulator::isa {
namespace {

__extension__ using UInt128 = unsigned __int128;
__extension__ using Int128 = __int128;

enum class Chain { kAdd, kSubtract, kMultiplyLow, kMultiplyHigh };

template <class T>
DRAFTPROOF_INLINE Unsigned<T> high(Unsigned<T> a, Unsigned<T> b) {
  if constexpr (sizeof(T) == 4) {
    using Wide = std::conditional_t<std::is_signed_v<T>, std::int64_t, std::uint64_t>;
    return static_cast<Unsigned<T>>(Wide{static_cast<T>(a)} * static_cast<T>(b) >> 32);
  } else {
    using Wide = std::conditional_t<std::is_signed_v<T>, Int128, UInt128>;
    return static_cast<Unsigned<T>>(Wide{static_cast<T>(a)} * static_cast<T>(b) >> 64);
  }
}

/// The carry comes in as the last source and goes out as the second destination.
template <class T, Chain kChain, bool kIn, bool kOut>
LaneMask run_chain(const Instruction& instruction, const Frame& frame, LaneMask active) {
  using U = Unsigned<T>;
  constexpr bool kMultiplies = kChain == Chain::kMultiplyLow || kChain == Chain::kMultiplyHigh;
  constexpr int kCarry = kMultiplies ? 3 : 2;
  const U* const a = frame.lanes<U>(instruction.sources[0]);
  const U* const b = frame.lanes<U>(instruction.sources[1]);
  const U* const c = kMultiplies ? frame.lanes<U>(instruction.sources[2]) : nullptr;
  U* const results = frame.lanes<U>(instruction.destinations[0]);
  LaneMask valid = frame.valid(instruction.sources[0]) & frame.valid(instruction.sources[1]);
  if (kMultiplies) valid &= frame.valid(instruction.sources[2]);
  LaneMask carry_in = 0, carry_out = 0;
  if (kIn) {
    carry_in = frame.predicate(instruction.sources[kCarry]);
    valid &= frame.valid(instruction.sources[kCarry]);
  }
  for (LaneMask rest = active; rest != 0; rest &= rest - 1) {
    const int lane = __builtin_ctz(rest);
    const U in = carry_in >> lane & 1;
    U left = a[lane];
    U right = b[lane];
    if constexpr (kChain == Chain::kMultiplyLow) left = a[lane] * b[lane];
    if constexpr (kChain == Chain::kMultiplyHigh) left = high<T>(a[lane], b[lane]);
    if constexpr (kMultiplies) right = c[lane];
    U result, part;
    bool out;
    if constexpr (kChain == Chain::kSubtract) {
      out = __builtin_sub_overflow(left, right, &part);
      out = __builtin_sub_overflow(part, in, &result) || out;
    } else {
      out = __builtin_add_overflow(left, right, &part);
      out = __builtin_add_overflow(part, in, &result) || out;
    }
    results[lane] = result;
    carry_out |= static_cast<LaneMask>(out) << lane;
  }
  write_mask(frame.valid(instruction.destinations[0]), valid, active);
  if (kOut) {
    write_mask(*frame.lanes<LaneMask>(instruction.destinations[1]), carry_out, active);
    write_mask(frame.valid(instruction.destinations[1]), valid, active);
  }
  return 0;
}

template <class T, Chain kChain>
void add_chain(FormTable& table, const std::string& first, const std::string& later,
               const std::string& part, int sources) {
  const std::string type = "." + type_name<T>();
  const std::string operands(static_cast<std::size_t>(sources), letter_of<T>());
  const std::string result(1, letter_of<T>());
  table.add(first + part + ".cc" + type, result + "c:" + operands,
            &run_chain<T, kChain, false, true>);
  table.add(later + part + type, result + ":" + operands + "c", &run_chain<T, kChain, true, false>);
  table.add(later + part + ".cc" + type, result + "c:" + operands + "c",
            &run_chain<T, kChain, true, true>);
}

}  // namespace

void add_carry_forms(FormTable& table) {
  for_types<std::int32_t, std::uint32_t, std::int64_t, std::uint64_t>([&](auto type) {
    using T = decltype(type);
    add_chain<T, Chain::kAdd>(table, "add", "addc", "", 2);
    add_chain<T, Chain::kSubtract>(table, "sub", "subc", "", 2);
    add_chain<T, Chain::kMultiplyLow>(table, "mad", "madc", ".lo", 3);
    add_chain<T, Chain::kMultiplyHigh>(table, "mad", "madc", ".hi", 3);
  });
}

}  // namespace draftproof::gpu::emulator::isa
