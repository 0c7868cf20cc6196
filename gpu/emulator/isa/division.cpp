// Integer division and remainder. Dividing by zero gives an unspecified value (PTX ISA 9.0,
// 9.7.1.9): ours is undefined and reported. The host's trap for the lowest value over -1 is
// avoided; the hardware's quotient wraps.
#include "gpu/emulator/isa/families.h"
#include "gpu/emulator/isa/lanes.h"
#include "gpu/emulator/isa/types.h"

namespace draftproof::gpu::emulator::isa {
namespace {

template <class T>
struct Quotient {
  static Unsigned<T> apply(T a, T b) {
    if (std::is_signed_v<T> && b == static_cast<T>(-1)) {
      return static_cast<Unsigned<T>>(Unsigned<T>{0} - static_cast<Unsigned<T>>(a));
    }
    return static_cast<Unsigned<T>>(a / b);
  }
};
template <class T>
struct Remainder {
  static Unsigned<T> apply(T a, T b) {
    if (std::is_signed_v<T> && b == static_cast<T>(-1)) return 0;
    return static_cast<Unsigned<T>>(a % b);
  }
};

template <class Op, class T>
LaneMask divide(const Instruction& instruction, const Frame& frame, LaneMask active) {
  const Lane<T>* const a = frame.lanes<Lane<T>>(instruction.sources[0]);
  const Lane<T>* const b = frame.lanes<Lane<T>>(instruction.sources[1]);
  Lane<T>* const results = frame.lanes<Lane<T>>(instruction.destinations[0]);
  const LaneMask divisor_valid = frame.valid(instruction.sources[1]);
  LaneMask valid = frame.valid(instruction.sources[0]) & divisor_valid;
  LaneMask faults = 0;
  for (LaneMask rest = active; rest != 0; rest &= rest - 1) {
    const int lane = __builtin_ctz(rest);
    const T divisor = static_cast<T>(b[lane]);
    if (divisor == 0) {
      // An undefined divisor is the other check's business, not a division by zero.
      faults |= LaneMask{1} << lane & divisor_valid;
      valid &= ~(LaneMask{1} << lane);
      results[lane] = static_cast<Unsigned<T>>(~Unsigned<T>{0});
    } else {
      results[lane] = Op::apply(static_cast<T>(a[lane]), divisor);
    }
  }
  write_mask(frame.valid(instruction.destinations[0]), valid, active);
  return faults;
}

}  // namespace

void add_division_forms(FormTable& table) {
  for_types<std::int16_t, std::uint16_t, std::int32_t, std::uint32_t, std::int64_t, std::uint64_t>(
      [&](auto type) {
        using T = decltype(type);
        const std::string signature = same_signature(letter_of<T>(), 2);
        table.add("div." + type_name<T>(), signature, &divide<Quotient<T>, T>);
        table.add("rem." + type_name<T>(), signature, &divide<Remainder<T>, T>);
      });
}

}  // namespace draftproof::gpu::emulator::isa
