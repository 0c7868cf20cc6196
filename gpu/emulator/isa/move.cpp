// mov, and the internal steps of packing and unpacking, whose names hold a space so that no text
// can name them.
#include "gpu/emulator/isa/families.h"
#include "gpu/emulator/isa/lanes.h"

namespace draftproof::gpu::emulator::isa {
namespace {

template <class T>
struct Copy {
  DRAFTPROOF_INLINE static T apply(T a) { return a; }
};
struct Pack16 {
  DRAFTPROOF_INLINE static std::uint32_t apply(std::uint32_t a, std::uint32_t b) {
    return (a & 0xffff) | b << 16;
  }
};
struct Pack32 {
  DRAFTPROOF_INLINE static std::uint64_t apply(std::uint32_t a, std::uint32_t b) {
    return a | std::uint64_t{b} << 32;
  }
};

/// modifier: position of the lowest bit, and the number of bits (16 or 32) from bit 8 on.
template <class T>
DRAFTPROOF_INLINE LaneMask extract(const Instruction& instruction, const Frame& frame,
                                   LaneMask active) {
  const T* const source = frame.lanes<T>(instruction.sources[0]);
  std::uint32_t* const results = frame.lanes<std::uint32_t>(instruction.destinations[0]);
  const unsigned shift = instruction.modifier & 0xff;
  const std::uint32_t mask = instruction.modifier >> 8 == 32 ? 0xffffffff : 0xffff;
#pragma GCC ivdep
  for (int lane = 0; lane < kLanes; ++lane) {
    const auto value = static_cast<std::uint32_t>(source[lane] >> shift) & mask;
    results[lane] = (active & (LaneMask{1} << lane)) != 0 ? value : results[lane];
  }
  write_mask(frame.valid(instruction.destinations[0]), frame.valid(instruction.sources[0]), active);
  return 0;
}
template <class T>
DRAFTPROOF_LOOPS LaneMask extract_baseline(const Instruction& instruction, const Frame& frame,
                                           LaneMask active) {
  return extract<T>(instruction, frame, active);
}
template <class T>
DRAFTPROOF_LOOPS DRAFTPROOF_WIDE LaneMask extract_wide(const Instruction& instruction,
                                                       const Frame& frame, LaneMask active) {
  return extract<T>(instruction, frame, active);
}

}  // namespace

void add_move_forms(FormTable& table) {
  struct Type {
    const char* name;
    const char* signature;
  };
  constexpr Type kTypes[] = {{"mov.b16", "h:h"}, {"mov.u16", "h:h"}, {"mov.s16", "h:h"},
                             {"mov.b32", "w:w"}, {"mov.u32", "w:w"}, {"mov.s32", "w:w"},
                             {"mov.f32", "f:f"}, {"mov.b64", "q:q"}, {"mov.u64", "q:q"},
                             {"mov.s64", "q:q"}, {"mov.f64", "d:d"}};
  for (const Type& type : kTypes) {
    const bool is_wide = type.signature[0] == 'q' || type.signature[0] == 'd';
    table.add(type.name, type.signature,
              is_wide ? lanes<Copy<std::uint64_t>>() : lanes<Copy<std::uint32_t>>(),
              Binding::kMove);
  }
  table.add("pack 16 32", "w:hh", lanes<Pack16>());
  table.add("pack 32 64", "q:ww", lanes<Pack32>());
  table.add("extract 32", "w:w",
            has_wide_vectors() ? &extract_wide<std::uint32_t> : &extract_baseline<std::uint32_t>);
  table.add("extract 64", "w:q",
            has_wide_vectors() ? &extract_wide<std::uint64_t> : &extract_baseline<std::uint64_t>);
}

}  // namespace draftproof::gpu::emulator::isa
