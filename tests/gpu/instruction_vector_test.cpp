// Vector code for this CPU against the code that runs on any: every form, random operands, with and
// without idle lanes and undefined values. On a CPU without AVX2 both are the same.
#include <gtest/gtest.h>

#include <random>

#include "tests/gpu/one_instruction.h"

namespace draftproof::gpu::emulator {
namespace {

/// Runs both on the same bytes; true when memory, validity and report agree.
bool agree(OneInstruction& a, OneInstruction& b, std::mt19937_64& generator, LaneMask active) {
  for (std::size_t at = 0; at < a.bytes().size(); at += 8) {
    std::uint64_t bits = generator();
    // Numbers near 1 in both halves, so that not all floats are huge or tiny.
    if (bits % 3 == 0) bits = (bits & 0x80ffffff80ffffff) | 0x3f0000003f000000;
    std::memcpy(a.bytes().data() + at, &bits, sizeof(bits));
  }
  for (LaneMask& valid : a.validity()) {
    valid = ~static_cast<LaneMask>(generator() & generator() & generator());
  }
  b.bytes() = a.bytes();
  b.validity() = a.validity();
  const LaneMask reported_a = a.run(active), reported_b = b.run(active);
  return reported_a == reported_b && a.bytes() == b.bytes() && a.validity() == b.validity();
}

TEST(VectorCode, ComputesWhatBaselineCodeComputes) {
  const FormTable baseline = build_compute_forms(false);
  int different_handlers = 0;
  std::mt19937_64 generator(99);
  for (const auto& [name, form] : compute_forms().all()) {
    const Form* other = baseline.find(name);
    ASSERT_NE(other, nullptr) << name;
    if (other->prototype.handler == form.prototype.handler) continue;
    ++different_handlers;
    OneInstruction a(form, name), b(*other, name);
    for (const LaneMask active : {0xffffffffu, 0xffffffffu, 0x0f0f1234u, 0x80000000u}) {
      EXPECT_TRUE(agree(a, b, generator, active)) << name << " " << active;
    }
  }
  EXPECT_TRUE(different_handlers == 0 || different_handlers > 500) << different_handlers;
}

// The sibling that must fail: a neighbour is told apart by the same operands.
TEST(VectorCode, IsToldFromAnotherInstruction) {
  std::mt19937_64 generator(99);
  OneInstruction down("fma.rm.f32"), up("fma.rp.f32");
  EXPECT_FALSE(agree(down, up, generator, ~LaneMask{0}));
}

}  // namespace
}  // namespace draftproof::gpu::emulator
