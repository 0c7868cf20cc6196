// Comparison operators of setp, set and of nothing else. PTX ISA 9.0, 9.3.1: the ordered ones are
// false when an operand is NaN, the unordered ones (..u) true.
#pragma once

#include <string>

#include "gpu/emulator/isa/float_bits.h"
#include "gpu/emulator/isa/form.h"
#include "gpu/emulator/isa/lanes.h"

namespace draftproof::gpu::emulator::isa {

enum class Comparison : std::uint8_t {
  kEqual,
  kNotEqual,
  kLess,
  kLessEqual,
  kGreater,
  kGreaterEqual,
  kEqualUnordered,
  kNotEqualUnordered,
  kLessUnordered,
  kLessEqualUnordered,
  kGreaterUnordered,
  kGreaterEqualUnordered,
  kNumber,
  kNan
};

template <Comparison kComparison, class T>
DRAFTPROOF_INLINE bool compare(T a, T b) {
  switch (kComparison) {
    case Comparison::kEqual:
      return a == b;
    // For floats `ne` is ordered: NaN is not unequal to anything, hence not simply a != b.
    case Comparison::kNotEqual:
      return a < b || a > b;
    case Comparison::kLess:
      return a < b;
    case Comparison::kLessEqual:
      return a <= b;
    case Comparison::kGreater:
      return a > b;
    case Comparison::kGreaterEqual:
      return a >= b;
    case Comparison::kEqualUnordered:
      return !(a < b || a > b);
    case Comparison::kNotEqualUnordered:
      return !(a == b);
    case Comparison::kLessUnordered:
      return !(a >= b);
    case Comparison::kLessEqualUnordered:
      return !(a > b);
    case Comparison::kGreaterUnordered:
      return !(a <= b);
    case Comparison::kGreaterEqualUnordered:
      return !(a < b);
    case Comparison::kNumber:
      return a == a && b == b;
    case Comparison::kNan:
      return a != a || b != b;
  }
  return false;
}

/// How a comparison's result meets a third, predicate operand.
enum class Combination : std::uint8_t { kNone, kAnd, kOr, kXor };

/// Reads both operands of type T from their registers. kFormat: 'i' integers and binary32/64,
/// 'h' binary16, 'b' bfloat16.
template <class T, class L, char kFormat, bool kFlush>
DRAFTPROOF_INLINE T comparand(L lane) {
  if constexpr (kFormat == 'h') return half_to_float(lane);
  if constexpr (kFormat == 'b') return bfloat_to_float(lane);
  if constexpr (std::is_same_v<T, float>) return flush<kFlush>(lane);
  return static_cast<T>(lane);
}

template <class T, class L, char kFormat, bool kFlush, Comparison kComparison>
struct CompareLanes {
  DRAFTPROOF_INLINE static LaneMask apply(const L* a, const L* b) {
    alignas(64) std::int32_t flags[kLanes];
    for (int lane = 0; lane < kLanes; ++lane) {
      const T x = comparand<T, L, kFormat, kFlush>(a[lane]);
      const T y = comparand<T, L, kFormat, kFlush>(b[lane]);
      flags[lane] = compare<kComparison>(x, y) ? -1 : 0;
    }
    return collect_signs(flags);
  }
  using LaneType = L;
};

/// Writes the result of setp or set, whose modifier holds the combination and, for set, the
/// pattern that stands for true (bits 8 and up).
void write_comparison(const Instruction& instruction, const Frame& frame, LaneMask active,
                      LaneMask result);
void write_comparison_value(const Instruction& instruction, const Frame& frame, LaneMask active,
                            LaneMask result);

template <class Op, bool kIsSet>
DRAFTPROOF_INLINE LaneMask run_compare(const Instruction& instruction, const Frame& frame,
                                       LaneMask active) {
  using L = typename Op::LaneType;
  const LaneMask result =
      Op::apply(frame.lanes<L>(instruction.sources[0]), frame.lanes<L>(instruction.sources[1]));
  // The plain setp with one result is most of all; the rest is out of line.
  if (!kIsSet && instruction.modifier == 0 && !instruction.destinations[1].present) {
    const Operand& destination = instruction.destinations[0];
    const LaneMask valid =
        frame.valid(instruction.sources[0]) & frame.valid(instruction.sources[1]);
    write_mask(*frame.lanes<LaneMask>(destination), result, active);
    write_mask(frame.valid(destination), valid, active);
    return 0;
  }
  if (kIsSet) {
    write_comparison_value(instruction, frame, active, result);
  } else {
    write_comparison(instruction, frame, active, result);
  }
  return 0;
}
template <class Op, bool kIsSet>
DRAFTPROOF_LOOPS LaneMask compare_baseline(const Instruction& instruction, const Frame& frame,
                                           LaneMask active) {
  return run_compare<Op, kIsSet>(instruction, frame, active);
}
template <class Op, bool kIsSet>
DRAFTPROOF_LOOPS DRAFTPROOF_WIDE LaneMask compare_wide(const Instruction& instruction,
                                                       const Frame& frame, LaneMask active) {
  return run_compare<Op, kIsSet>(instruction, frame, active);
}

/// One comparison of one type, visited with its operator's name.
template <class T, class L, char kFormat, bool kFlush, bool kIsSet, class F>
void for_float_comparisons(F&& visit) {
  const auto one = [&]<Comparison kComparison>(const char* name) {
    using Op = CompareLanes<T, L, kFormat, kFlush, kComparison>;
    if constexpr (kIsSet) {
      visit(name, &compare_baseline<Op, kIsSet>);
    } else {
      visit(name, has_wide_vectors() ? &compare_wide<Op, kIsSet> : &compare_baseline<Op, kIsSet>);
    }
  };
  one.template operator()<Comparison::kEqual>("eq");
  one.template operator()<Comparison::kNotEqual>("ne");
  one.template operator()<Comparison::kLess>("lt");
  one.template operator()<Comparison::kLessEqual>("le");
  one.template operator()<Comparison::kGreater>("gt");
  one.template operator()<Comparison::kGreaterEqual>("ge");
  one.template operator()<Comparison::kEqualUnordered>("equ");
  one.template operator()<Comparison::kNotEqualUnordered>("neu");
  one.template operator()<Comparison::kLessUnordered>("ltu");
  one.template operator()<Comparison::kLessEqualUnordered>("leu");
  one.template operator()<Comparison::kGreaterUnordered>("gtu");
  one.template operator()<Comparison::kGreaterEqualUnordered>("geu");
  one.template operator()<Comparison::kNumber>("num");
  one.template operator()<Comparison::kNan>("nan");
}

template <class T, bool kIsSet, class F>
void for_integer_comparisons(bool is_bits, F&& visit) {
  using L = std::conditional_t<sizeof(T) == 8, std::uint64_t, std::uint32_t>;
  const auto one = [&]<Comparison kComparison>(const char* name) {
    using Op = CompareLanes<T, L, 'i', false, kComparison>;
    if constexpr (kIsSet) {
      visit(name, &compare_baseline<Op, kIsSet>);
    } else {
      visit(name, has_wide_vectors() ? &compare_wide<Op, kIsSet> : &compare_baseline<Op, kIsSet>);
    }
  };
  one.template operator()<Comparison::kEqual>("eq");
  one.template operator()<Comparison::kNotEqual>("ne");
  if (is_bits) return;
  one.template operator()<Comparison::kLess>("lt");
  one.template operator()<Comparison::kLessEqual>("le");
  one.template operator()<Comparison::kGreater>("gt");
  one.template operator()<Comparison::kGreaterEqual>("ge");
  if (std::is_signed_v<T>) return;
  one.template operator()<Comparison::kLess>("lo");
  one.template operator()<Comparison::kLessEqual>("ls");
  one.template operator()<Comparison::kGreater>("hi");
  one.template operator()<Comparison::kGreaterEqual>("hs");
}

/// ".and" and its like, with the empty name for no combination.
struct CombinationName {
  const char* name;
  Combination combination;
};
inline constexpr CombinationName kCombinations[] = {{"", Combination::kNone},
                                                    {".and", Combination::kAnd},
                                                    {".or", Combination::kOr},
                                                    {".xor", Combination::kXor}};

}  // namespace draftproof::gpu::emulator::isa
