// selp, slct, testp, copysign. PTX ISA 9.0, 9.7.6.3, 9.7.6.4, 9.7.3.1, 9.7.3.2.
#include <string>

#include "gpu/emulator/isa/families.h"
#include "gpu/emulator/isa/float_bits.h"
#include "gpu/emulator/isa/lanes.h"

namespace draftproof::gpu::emulator::isa {
namespace {

/// Writes a or b by the bits of `chosen`; only the side that is taken must be defined.
template <class T>
DRAFTPROOF_INLINE void choose(const Instruction& instruction, const Frame& frame, LaneMask active,
                              LaneMask chosen, LaneMask chosen_valid) {
  const T* const a = frame.lanes<T>(instruction.sources[0]);
  const T* const b = frame.lanes<T>(instruction.sources[1]);
  const Operand& destination = instruction.destinations[0];
  T* const results = frame.lanes<T>(destination);
  const LaneMask valid = chosen_valid & ((chosen & frame.valid(instruction.sources[0])) |
                                         (~chosen & frame.valid(instruction.sources[1])));
  if (active == kAllLanes) {
#pragma GCC ivdep
    for (int lane = 0; lane < kLanes; ++lane) {
      results[lane] = (chosen & (LaneMask{1} << lane)) != 0 ? a[lane] : b[lane];
    }
  } else {
#pragma GCC ivdep
    for (int lane = 0; lane < kLanes; ++lane) {
      const T result = (chosen & (LaneMask{1} << lane)) != 0 ? a[lane] : b[lane];
      results[lane] = (active & (LaneMask{1} << lane)) != 0 ? result : results[lane];
    }
  }
  write_mask(frame.valid(destination), valid, active);
}

template <class T>
DRAFTPROOF_LOOPS LaneMask select_baseline(const Instruction& instruction, const Frame& frame,
                                          LaneMask active) {
  const Operand& p = instruction.sources[2];
  choose<T>(instruction, frame, active, frame.predicate(p), frame.valid(p));
  return 0;
}
template <class T>
DRAFTPROOF_LOOPS DRAFTPROOF_WIDE LaneMask select_wide(const Instruction& instruction,
                                                      const Frame& frame, LaneMask active) {
  const Operand& p = instruction.sources[2];
  choose<T>(instruction, frame, active, frame.predicate(p), frame.valid(p));
  return 0;
}

/// slct: a when c >= 0, else b; a NaN takes b.
template <class T, class C, bool kFlush>
LaneMask select_by_sign(const Instruction& instruction, const Frame& frame, LaneMask active) {
  const Operand& operand = instruction.sources[2];
  const C* const c = frame.lanes<C>(operand);
  LaneMask chosen = 0;
  for (int lane = 0; lane < kLanes; ++lane) {
    // A flushed negative subnormal is -0, which is >= 0.
    bool is_not_negative = c[lane] >= 0;
    if constexpr (kFlush) is_not_negative = flush<true>(c[lane]) >= 0;
    chosen |= static_cast<LaneMask>(is_not_negative) << lane;
  }
  choose<T>(instruction, frame, active, chosen, frame.valid(operand));
  return 0;
}

enum class Test { kFinite, kInfinite, kNumber, kNan, kNormal, kSubnormal };
template <class T, Test kTest>
struct TestFloat {
  DRAFTPROOF_INLINE static bool apply(T bits) {
    constexpr T kExponent =
        sizeof(T) == 8 ? static_cast<T>(0x7ff0000000000000) : static_cast<T>(0x7f800000);
    constexpr T kMagnitude = static_cast<T>(~T{0}) >> 1;
    const T magnitude = bits & kMagnitude;
    switch (kTest) {
      case Test::kFinite:
        return magnitude < kExponent;
      case Test::kInfinite:
        return magnitude == kExponent;
      case Test::kNumber:
        return magnitude <= kExponent;
      case Test::kNan:
        return magnitude > kExponent;
      case Test::kNormal:
        // Zeros count as normal numbers there.
        return magnitude < kExponent && ((magnitude & kExponent) != 0 || magnitude == 0);
      case Test::kSubnormal:
        return (magnitude & kExponent) == 0 && magnitude != 0;
    }
    return false;
  }
};

/// The sign of a with the magnitude of b.
template <class T>
struct CopySign {
  DRAFTPROOF_INLINE static T apply(T a, T b) {
    constexpr T kMagnitude = static_cast<T>(~T{0}) >> 1;
    return (a & ~kMagnitude) | (b & kMagnitude);
  }
};

template <class T>
Handler select() {
  return has_wide_vectors() ? &select_wide<T> : &select_baseline<T>;
}

template <class T>
void add_tests(FormTable& table, const std::string& type, char letter) {
  const std::string signature = std::string("p:") + letter;
  table.add("testp.finite" + type, signature, lanes<TestFloat<T, Test::kFinite>>());
  table.add("testp.infinite" + type, signature, lanes<TestFloat<T, Test::kInfinite>>());
  table.add("testp.number" + type, signature, lanes<TestFloat<T, Test::kNumber>>());
  table.add("testp.notanumber" + type, signature, lanes<TestFloat<T, Test::kNan>>());
  table.add("testp.normal" + type, signature, lanes<TestFloat<T, Test::kNormal>>());
  table.add("testp.subnormal" + type, signature, lanes<TestFloat<T, Test::kSubnormal>>());
  const std::string two = std::string(1, letter) + ":" + letter + letter;
  table.add("copysign" + type, two, lanes<CopySign<T>>());
}

}  // namespace

void add_select_forms(FormTable& table) {
  struct Type {
    const char* name;
    char letter;
  };
  constexpr Type kTypes[] = {{".b16", 'h'}, {".u16", 'h'}, {".s16", 'h'}, {".b32", 'w'},
                             {".u32", 'w'}, {".s32", 'w'}, {".f32", 'f'}, {".b64", 'q'},
                             {".u64", 'q'}, {".s64", 'q'}, {".f64", 'd'}};
  for (const Type& type : kTypes) {
    const bool is_wide = type.letter == 'q' || type.letter == 'd';
    const std::string name = type.name;
    const std::string two = std::string(1, type.letter) + ":" + type.letter + type.letter;
    table.add("selp" + name, two + "p",
              is_wide ? select<std::uint64_t>() : select<std::uint32_t>());
    table.add("slct" + name + ".s32", two + "w",
              is_wide ? &select_by_sign<std::uint64_t, std::int32_t, false>
                      : &select_by_sign<std::uint32_t, std::int32_t, false>);
    table.add("slct" + name + ".f32", two + "f",
              is_wide ? &select_by_sign<std::uint64_t, float, false>
                      : &select_by_sign<std::uint32_t, float, false>);
    table.add("slct.ftz" + name + ".f32", two + "f",
              is_wide ? &select_by_sign<std::uint64_t, float, true>
                      : &select_by_sign<std::uint32_t, float, true>);
  }
  add_tests<std::uint32_t>(table, ".f32", 'f');
  add_tests<std::uint64_t>(table, ".f64", 'd');
}

}  // namespace draftproof::gpu::emulator::isa
