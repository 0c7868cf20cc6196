// Lanes: how an operation on one lane becomes a handler for a warp. The loops are written so that
// the compiler vectorises them; each is compiled for the baseline CPU and for AVX2, and the choice
// is made once. Nothing else may be compiled for AVX2: an inline function that the linker picks
// from such a place would fault on an older CPU, hence [[gnu::always_inline]] on all that is
// shared.
#pragma once

#include <emmintrin.h>

#include <array>
#include <cstdint>
#include <tuple>
#include <type_traits>
#include <utility>

#include "gpu/emulator/code/program.h"

#define DRAFTPROOF_INLINE [[gnu::always_inline]] inline
#define DRAFTPROOF_LOOPS [[gnu::optimize("O3")]]
#define DRAFTPROOF_WIDE [[gnu::target("avx2,fma,bmi,bmi2,lzcnt,popcnt,f16c")]]

namespace draftproof::gpu::emulator::isa {

inline constexpr LaneMask kAllLanes = ~LaneMask{0};

/// Whether the table that is being built may hold what DRAFTPROOF_WIDE compiles.
bool has_wide_vectors();

/// The values of one source operand; a predicate's are the bits of a word.
template <class T>
struct Source {
  const T* values;
  DRAFTPROOF_INLINE Source(const Frame& frame, const Operand& operand)
      : values(frame.lanes<T>(operand)) {}
  DRAFTPROOF_INLINE T operator[](int lane) const { return values[lane]; }
};
template <>
struct Source<bool> {
  LaneMask bits;
  DRAFTPROOF_INLINE Source(const Frame& frame, const Operand& operand)
      : bits(frame.predicate(operand)) {}
  DRAFTPROOF_INLINE bool operator[](int lane) const { return (bits >> lane & 1) != 0; }
};

DRAFTPROOF_INLINE void write_mask(LaneMask& word, LaneMask value, LaneMask active) {
  word = (word & ~active) | (value & active);
}

/// The signs of 32 values, aligned to 16 bytes, as a mask.
DRAFTPROOF_INLINE LaneMask collect_signs(const std::int32_t* flags) {
  const __m128i* const words = reinterpret_cast<const __m128i*>(flags);
  const __m128i low =
      _mm_packs_epi16(_mm_packs_epi32(words[0], words[1]), _mm_packs_epi32(words[2], words[3]));
  const __m128i high =
      _mm_packs_epi16(_mm_packs_epi32(words[4], words[5]), _mm_packs_epi32(words[6], words[7]));
  return static_cast<LaneMask>(_mm_movemask_epi8(low)) |
         static_cast<LaneMask>(_mm_movemask_epi8(high)) << 16;
}

/// Lanes whose result is defined although a source is not, such as x & 0. Rare, hence out of line.
template <class Op, class A, class B>
[[gnu::noinline]] LaneMask absorbed(const A* a, LaneMask a_valid, const B* b, LaneMask b_valid) {
  LaneMask result = 0;
  for (int lane = 0; lane < kLanes; ++lane) {
    const bool left = (a_valid >> lane & 1) != 0 && Op::absorbs(a[lane]);
    const bool right = (b_valid >> lane & 1) != 0 && Op::absorbs(b[lane]);
    result |= static_cast<LaneMask>(left || right) << lane;
  }
  return result;
}

template <class Op, class R, class... A, std::size_t... I>
DRAFTPROOF_INLINE void run_lanes(const Instruction& instruction, const Frame& frame,
                                 LaneMask active, R (*)(A...), std::index_sequence<I...>) {
  const std::tuple<Source<A>...> sources{Source<A>(frame, instruction.sources[I])...};
  LaneMask valid = (kAllLanes & ... & frame.valid(instruction.sources[I]));
  if constexpr (requires { Op::absorbs(0); }) {
    if ((valid & active) != active) {
      const Operand& a = instruction.sources[0];
      const Operand& b = instruction.sources[1];
      valid |= absorbed<Op>(std::get<0>(sources).values, frame.valid(a),
                            std::get<1>(sources).values, frame.valid(b));
    }
  }
  const Operand& destination = instruction.destinations[0];
  if constexpr (std::is_same_v<R, bool>) {
    alignas(64) std::int32_t flags[kLanes];
    for (int lane = 0; lane < kLanes; ++lane) {
      flags[lane] = Op::apply(std::get<I>(sources)[lane]...) ? -1 : 0;
    }
    write_mask(*frame.lanes<LaneMask>(destination), collect_signs(flags), active);
  } else {
    R* const results = frame.lanes<R>(destination);
    if (active == kAllLanes) {
#pragma GCC ivdep
      for (int lane = 0; lane < kLanes; ++lane) {
        results[lane] = Op::apply(std::get<I>(sources)[lane]...);
      }
    } else if constexpr (requires { Op::kIsSlow; }) {
      for (LaneMask rest = active; rest != 0; rest &= rest - 1) {
        const int lane = __builtin_ctz(rest);
        results[lane] = Op::apply(std::get<I>(sources)[lane]...);
      }
    } else {
#pragma GCC ivdep
      for (int lane = 0; lane < kLanes; ++lane) {
        const R result = Op::apply(std::get<I>(sources)[lane]...);
        results[lane] = (active & (LaneMask{1} << lane)) != 0 ? result : results[lane];
      }
    }
  }
  write_mask(frame.valid(destination), valid, active);
}

template <class R, class... A>
constexpr std::index_sequence_for<A...> indices_of(R (*)(A...)) {
  return {};
}

template <class Op>
DRAFTPROOF_LOOPS LaneMask run_baseline(const Instruction& instruction, const Frame& frame,
                                       LaneMask active) {
  run_lanes<Op>(instruction, frame, active, &Op::apply, indices_of(&Op::apply));
  return 0;
}
template <class Op>
DRAFTPROOF_LOOPS DRAFTPROOF_WIDE LaneMask run_wide(const Instruction& instruction,
                                                   const Frame& frame, LaneMask active) {
  run_lanes<Op>(instruction, frame, active, &Op::apply, indices_of(&Op::apply));
  return 0;
}

/// The handler of an operation `static R Op::apply(A...)`, which must be DRAFTPROOF_INLINE. The
/// types are those of the registers: 4 or 8 bytes, or bool for a predicate.
template <class Op>
Handler lanes() {
  return has_wide_vectors() ? &run_wide<Op> : &run_baseline<Op>;
}

/// For operations that gain nothing from vectors (calls into the mathematics library).
template <class Op>
Handler scalar_lanes() {
  return &run_baseline<Op>;
}

}  // namespace draftproof::gpu::emulator::isa
