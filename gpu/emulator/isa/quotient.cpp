// Correctly rounded div, rcp and sqrt. PTX ISA 9.0, 9.7.3.8, .13 and .15.
#include <string>

#include "gpu/emulator/isa/families.h"
#include "gpu/emulator/isa/lanes.h"
#include "gpu/emulator/isa/rounding.h"

namespace draftproof::gpu::emulator::isa {
namespace {

template <Rounding kRounding, bool kFlush>
struct SingleQuotient {
  DRAFTPROOF_INLINE static float apply(float left, float right) {
    const float a = flush<kFlush>(left), b = flush<kFlush>(right);
    if constexpr (kRounding == Rounding::kNearest)
      return finish<kFlush, false>(a / b);
    else
      return finish<kFlush, false>(directed_divide(a, b, control_word(kRounding)));
  }
};
template <Rounding kRounding, bool kFlush>
struct SingleReciprocal {
  DRAFTPROOF_INLINE static float apply(float a) {
    return SingleQuotient<kRounding, kFlush>::apply(1.0f, a);
  }
};
template <Rounding kRounding, bool kFlush>
struct SingleRoot {
  static constexpr bool kIsSlow = true;
  DRAFTPROOF_INLINE static float apply(float a) {
    return finish<kFlush, false>(directed_root(flush<kFlush>(a), control_word(kRounding)));
  }
};
template <Rounding kRounding>
struct DoubleQuotient {
  DRAFTPROOF_INLINE static double apply(double a, double b) {
    if constexpr (kRounding == Rounding::kNearest)
      return canonical(a / b);
    else
      return canonical(directed_divide(a, b, control_word(kRounding)));
  }
};
template <Rounding kRounding>
struct DoubleReciprocal {
  DRAFTPROOF_INLINE static double apply(double a) {
    return DoubleQuotient<kRounding>::apply(1.0, a);
  }
};
template <Rounding kRounding>
struct DoubleRoot {
  static constexpr bool kIsSlow = true;
  DRAFTPROOF_INLINE static double apply(double a) {
    return canonical(directed_root(a, control_word(kRounding)));
  }
};

template <bool kFlush>
void add_single(FormTable& table) {
  const std::string tail = std::string(kFlush ? ".ftz" : "") + ".f32";
  for_roundings([&]<Rounding kRounding>(const std::string& rounding) {
    if constexpr (kRounding == Rounding::kNearest) {
      table.add("div.rn" + tail, "f:ff", lanes<SingleQuotient<kRounding, kFlush>>());
      table.add("rcp.rn" + tail, "f:f", lanes<SingleReciprocal<kRounding, kFlush>>());
    } else {
      table.add("div" + rounding + tail, "f:ff", scalar_lanes<SingleQuotient<kRounding, kFlush>>());
      table.add("rcp" + rounding + tail, "f:f",
                scalar_lanes<SingleReciprocal<kRounding, kFlush>>());
    }
    table.add("sqrt" + rounding + tail, "f:f", scalar_lanes<SingleRoot<kRounding, kFlush>>());
  });
}

}  // namespace

void add_quotient_forms(FormTable& table) {
  add_single<false>(table);
  add_single<true>(table);
  for_roundings([&]<Rounding kRounding>(const std::string& rounding) {
    if constexpr (kRounding == Rounding::kNearest) {
      table.add("div.rn.f64", "d:dd", lanes<DoubleQuotient<kRounding>>());
      table.add("rcp.rn.f64", "d:d", lanes<DoubleReciprocal<kRounding>>());
    } else {
      table.add("div" + rounding + ".f64", "d:dd", scalar_lanes<DoubleQuotient<kRounding>>());
      table.add("rcp" + rounding + ".f64", "d:d", scalar_lanes<DoubleReciprocal<kRounding>>());
    }
    table.add("sqrt" + rounding + ".f64", "d:d", scalar_lanes<DoubleRoot<kRounding>>());
  });
}

}  // namespace draftproof::gpu::emulator::isa
