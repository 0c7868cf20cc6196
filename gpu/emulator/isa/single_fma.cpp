// binary32 fma and mad: one rounding. PTX ISA 9.0, 9.7.3.7 (mad is fma from sm_20 on).
#include <string>

#include "gpu/emulator/isa/families.h"
#include "gpu/emulator/isa/lanes.h"
#include "gpu/emulator/isa/rounding.h"

namespace draftproof::gpu::emulator::isa {
namespace {

template <Rounding kRounding, bool kFlush, bool kSaturate>
struct FusedMultiplyAdd {
  DRAFTPROOF_INLINE static float apply(float x, float y, float z) {
    const float a = flush<kFlush>(x), b = flush<kFlush>(y), c = flush<kFlush>(z);
    if constexpr (kRounding == Rounding::kNearest) {
      return finish<kFlush, kSaturate>(__builtin_fmaf(a, b, c));
    } else {
      // The product is exact in binary64, so two terms are left.
      return finish<kFlush, kSaturate>(round_terms<kRounding>(double{a} * b, c));
    }
  }
};

template <bool kFlush, bool kSaturate>
void add_flavour(FormTable& table) {
  const std::string tail = std::string(kFlush ? ".ftz" : "") + (kSaturate ? ".sat" : "") + ".f32";
  for_roundings([&]<Rounding kRounding>(const std::string& rounding) {
    const Handler handler = lanes<FusedMultiplyAdd<kRounding, kFlush, kSaturate>>();
    table.add("fma" + rounding + tail, "f:fff", handler);
    table.add("mad" + rounding + tail, "f:fff", handler);
  });
}

}  // namespace

void add_single_fma_forms(FormTable& table) {
  add_flavour<false, false>(table);
  add_flavour<false, true>(table);
  add_flavour<true, false>(table);
  add_flavour<true, true>(table);
}

}  // namespace draftproof::gpu::emulator::isa
