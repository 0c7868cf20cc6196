// Packed integers: vabsdiff4 (bytes) and the 16x2 forms of add, min and max.
// PTX ISA 9.0, 9.7.1 and 9.7.17.
#include "gpu/emulator/isa/families.h"
#include "gpu/emulator/isa/lanes.h"

namespace draftproof::gpu::emulator::isa {
namespace {

template <bool kAdds>
struct DifferenceOfBytes {
  DRAFTPROOF_INLINE static std::uint32_t apply(std::uint32_t a, std::uint32_t b, std::uint32_t c) {
    std::uint32_t result = kAdds ? c : 0;
    for (int i = 0; i < 32; i += 8) {
      const std::uint32_t x = a >> i & 0xff, y = b >> i & 0xff;
      const std::uint32_t difference = x > y ? x - y : y - x;
      result += kAdds ? difference : difference << i;
    }
    return result;
  }
};

enum class Pairwise { kAdd, kMinimum, kMaximum };
template <class T, Pairwise kOperation>
struct OnPairs {
  DRAFTPROOF_INLINE static std::uint32_t one(std::uint32_t a, std::uint32_t b) {
    const T x = static_cast<T>(a), y = static_cast<T>(b);
    if constexpr (kOperation == Pairwise::kAdd) return (a + b) & 0xffff;
    const T result = kOperation == Pairwise::kMinimum ? (x < y ? x : y) : (x > y ? x : y);
    return static_cast<std::uint16_t>(result);
  }
  DRAFTPROOF_INLINE static std::uint32_t apply(std::uint32_t a, std::uint32_t b) {
    return one(a, b) | one(a >> 16, b >> 16) << 16;
  }
};

}  // namespace

void add_packed_forms(FormTable& table) {
  table.add("vabsdiff4.u32.u32.u32", "w:www", lanes<DifferenceOfBytes<false>>());
  table.add("vabsdiff4.u32.u32.u32.add", "w:www", lanes<DifferenceOfBytes<true>>());
  table.add("add.u16x2", "w:ww", lanes<OnPairs<std::uint16_t, Pairwise::kAdd>>());
  table.add("add.s16x2", "w:ww", lanes<OnPairs<std::int16_t, Pairwise::kAdd>>());
  table.add("min.u16x2", "w:ww", lanes<OnPairs<std::uint16_t, Pairwise::kMinimum>>());
  table.add("min.s16x2", "w:ww", lanes<OnPairs<std::int16_t, Pairwise::kMinimum>>());
  table.add("max.u16x2", "w:ww", lanes<OnPairs<std::uint16_t, Pairwise::kMaximum>>());
  table.add("max.s16x2", "w:ww", lanes<OnPairs<std::int16_t, Pairwise::kMaximum>>());
}

}  // namespace draftproof::gpu::emulator::isa
