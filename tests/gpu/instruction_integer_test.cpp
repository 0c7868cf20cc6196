// Integer instructions against plain 128-bit code, over edges and random operands.
#include <gtest/gtest.h>

#include <cstdlib>
#include <functional>
#include <random>

#include "tests/gpu/one_instruction.h"

namespace draftproof::gpu::emulator {
namespace {

__extension__ using Wide = __int128;
using Reference = std::function<Wide(Wide a, Wide b, Wide c)>;

std::uint64_t mask_of(int bits) {
  return bits == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << bits) - 1;
}

/// The value of the low bits, signed or not.
Wide value_of(std::uint64_t pattern, int bits, bool is_signed) {
  const std::uint64_t kept = pattern & mask_of(bits);
  if (is_signed && (kept >> (bits - 1) & 1) != 0)
    return static_cast<Wide>(kept) - (Wide{1} << bits);
  return static_cast<Wide>(kept);
}

struct Shape {
  int bits;
  bool is_signed;
};

/// Number of lanes in which the form differs from the reference, modulo 2^result_bits.
int differences(const std::string& form, int sources, Shape operand, Shape last, int result_bits,
                const Reference& reference) {
  OneInstruction run(form);
  std::mt19937_64 generator(7);
  const auto next = [&](int bits) -> std::uint64_t {
    const std::uint64_t edges[] = {0,
                                   1,
                                   2,
                                   31,
                                   32,
                                   33,
                                   63,
                                   64,
                                   mask_of(bits),
                                   mask_of(bits) - 1,
                                   mask_of(bits) >> 1,
                                   (mask_of(bits) >> 1) + 1};
    const std::uint64_t random = generator();
    if (random % 3 == 0) return edges[generator() % 12] & mask_of(bits);
    return generator() >> (random % 5 == 0 ? generator() % 64 : 0);
  };
  int count = 0;
  for (int round = 0; round < 60; ++round) {
    Wide values[32][3] = {};
    for (int lane = 0; lane < 32; ++lane) {
      for (int i = 0; i < sources; ++i) {
        const Shape shape = i == sources - 1 ? last : operand;
        // 16-bit registers hold garbage above: it must not matter.
        const std::uint64_t pattern = next(shape.bits);
        values[lane][i] = value_of(pattern, shape.bits, shape.is_signed);
        if (shape.bits == 64)
          run.set_source(i, lane, pattern);
        else
          run.set_source(i, lane, static_cast<std::uint32_t>(pattern));
      }
    }
    run.run();
    for (int lane = 0; lane < 32; ++lane) {
      const std::uint64_t got =
          result_bits == 64 ? run.result<std::uint64_t>(lane) : run.result<std::uint32_t>(lane);
      const Wide expected = reference(values[lane][0], values[lane][1], values[lane][2]);
      if ((got & mask_of(result_bits)) !=
          (static_cast<std::uint64_t>(expected) & mask_of(result_bits))) {
        ++count;
      }
    }
  }
  return count;
}

Wide floor_shift(Wide value, int by) { return value >> by; }

TEST(IntegerInstructions, AgreeWithPlainArithmetic) {
  struct Case {
    const char* name;
    int sources;
    Reference reference;
  };
  for (const int bits : {16, 32, 64}) {
    for (const bool is_signed : {false, true}) {
      const std::vector<Case> cases = {
          {"add.", 2, [](Wide a, Wide b, Wide) { return a + b; }},
          {"sub.", 2, [](Wide a, Wide b, Wide) { return a - b; }},
          {"mul.lo.", 2, [](Wide a, Wide b, Wide) { return a * b; }},
          {"mul.hi.", 2,
           [bits](Wide a, Wide b, Wide) {
             // The unsigned product of 64-bit numbers fills 128 bits: shift it as unsigned.
             __extension__ using Unsigned = unsigned __int128;
             if (a >= 0 && b >= 0) {
               return static_cast<Wide>(static_cast<Unsigned>(a) * static_cast<Unsigned>(b) >>
                                        bits);
             }
             return floor_shift(a * b, bits);
           }},
          {"mad.lo.", 3, [](Wide a, Wide b, Wide c) { return a * b + c; }},
          {"min.", 2, [](Wide a, Wide b, Wide) { return a < b ? a : b; }},
          {"max.", 2, [](Wide a, Wide b, Wide) { return a > b ? a : b; }},
          {"sad.", 3, [](Wide a, Wide b, Wide c) { return c + (a > b ? a - b : b - a); }}};
      const std::string type = (is_signed ? "s" : "u") + std::to_string(bits);
      for (const Case& c : cases) {
        const Shape shape{bits, is_signed};
        EXPECT_EQ(differences(c.name + type, c.sources, shape, shape, bits, c.reference), 0)
            << c.name << type;
      }
      const Shape shape{bits, is_signed};
      const Shape amount{32, false};
      EXPECT_EQ(differences("shr." + type, 2, shape, amount, bits,
                            [bits](Wide a, Wide by, Wide) {
                              return a >> static_cast<int>(by > bits ? Wide{bits} : by);
                            }),
                0)
          << type;
    }
    const std::string type = "b" + std::to_string(bits);
    const Shape shape{bits, false};
    EXPECT_EQ(differences("shl." + type, 2, shape, {32, false}, bits,
                          [bits](Wide a, Wide by, Wide) {
                            return by >= bits ? 0 : a << static_cast<int>(by);
                          }),
              0);
    EXPECT_EQ(differences("and." + type, 2, shape, shape, bits,
                          [](Wide a, Wide b, Wide) { return a & b; }),
              0);
    EXPECT_EQ(differences("xor." + type, 2, shape, shape, bits,
                          [](Wide a, Wide b, Wide) { return a ^ b; }),
              0);
  }
}

TEST(IntegerInstructions, WidenProducts) {
  for (const int bits : {16, 32}) {
    for (const bool is_signed : {false, true}) {
      const std::string type = (is_signed ? "s" : "u") + std::to_string(bits);
      const Shape shape{bits, is_signed};
      EXPECT_EQ(differences("mul.wide." + type, 2, shape, shape, 2 * bits,
                            [](Wide a, Wide b, Wide) { return a * b; }),
                0);
      EXPECT_EQ(differences("mad.wide." + type, 3, shape, {2 * bits, is_signed}, 2 * bits,
                            [](Wide a, Wide b, Wide c) { return a * b + c; }),
                0);
    }
  }
}

// The sibling that must fail: signedness and the kept half are noticed.
TEST(IntegerInstructions, AreToldFromTheirNeighbours) {
  const Shape s{32, true}, u{32, false};
  const Reference high = [](Wide a, Wide b, Wide) { return floor_shift(a * b, 32); };
  EXPECT_GT(differences("mul.hi.u32", 2, s, s, 32, high), 10);
  EXPECT_GT(differences("mul.hi.s32", 2, u, u, 32, high), 10);
  EXPECT_GT(differences("min.s32", 2, u, u, 32, [](Wide a, Wide b, Wide) { return a < b ? a : b; }),
            10);
  EXPECT_GT(differences("shr.u32", 2, s, u, 32,
                        [](Wide a, Wide by, Wide) {
                          return a >> static_cast<int>(by > 31 ? Wide{31} : by);
                        }),
            10);
}

std::uint32_t run3(const std::string& form, std::uint32_t a, std::uint32_t b = 0,
                   std::uint32_t c = 0, std::uint32_t d = 0) {
  OneInstruction run(form);
  const std::uint32_t values[] = {a, b, c, d};
  for (int i = 0; i < 4; ++i) {
    if (run.instruction().sources[static_cast<std::size_t>(i)].present) {
      run.set_source(i, 0, values[i]);
    }
  }
  run.run();
  return run.result<std::uint32_t>(0);
}
std::uint32_t run64(const std::string& form, std::uint64_t a) {
  OneInstruction run(form);
  run.set_source(0, 0, a);
  run.run();
  return run.result<std::uint32_t>(0);
}

TEST(BitInstructions, FollowTheManual) {
  EXPECT_EQ(run3("popc.b32", 0xf0f00001), 9u);
  EXPECT_EQ(run64("popc.b64", ~std::uint64_t{0}), 64u);
  EXPECT_EQ(run3("clz.b32", 0), 32u);
  EXPECT_EQ(run3("clz.b32", 1), 31u);
  EXPECT_EQ(run64("clz.b64", 0), 64u);
  EXPECT_EQ(run3("brev.b32", 0x00000001), 0x80000000u);
  EXPECT_EQ(run3("brev.b32", 0x12345678), 0x1e6a2c48u);
  EXPECT_EQ(run3("bfind.u32", 0), 0xffffffffu);
  EXPECT_EQ(run3("bfind.u32", 0x00010000), 16u);
  EXPECT_EQ(run3("bfind.shiftamt.u32", 0x00010000), 15u);
  EXPECT_EQ(run3("bfind.s32", 0xffffffff), 0xffffffffu);
  EXPECT_EQ(run3("bfind.s32", 0xfffffffe), 0u);
  EXPECT_EQ(run3("bfe.u32", 0xabcd1234, 8, 8), 0x12u);
  EXPECT_EQ(run3("bfe.s32", 0x0000f000, 12, 4), 0xffffffffu);
  EXPECT_EQ(run3("bfe.s32", 0x80000000, 40, 4), 0xffffffffu);
  EXPECT_EQ(run3("bfe.u32", 0x80000000, 31, 200), 1u);
  EXPECT_EQ(run3("bfi.b32", 0xff, 0x12345678, 8, 8), 0x1234ff78u);
  EXPECT_EQ(run3("bfi.b32", 0xff, 0x12345678, 32, 8), 0x12345678u);
  EXPECT_EQ(run3("bmsk.clamp.b32", 4, 8), 0xff0u);
  EXPECT_EQ(run3("bmsk.wrap.b32", 36, 33), 0x10u);
  EXPECT_EQ(run3("prmt.b32", 0x33221100, 0x77665544, 0x7531), 0x77553311u);
  EXPECT_EQ(run3("prmt.b32", 0x33228100, 0x77665544, 0x9999), 0xffffffffu);
  EXPECT_EQ(run3("shf.l.wrap.b32", 0x80000000, 1, 33), 3u);
  EXPECT_EQ(run3("shf.l.clamp.b32", 0x80000000, 1, 33), 0x80000000u);
  EXPECT_EQ(run3("shf.r.wrap.b32", 2, 1, 1), 0x80000001u);
  EXPECT_EQ(run3("lop3.b32", 0xff00ff00, 0xf0f0f0f0, 0xcccccccc, 0x96),
            0xff00ff00u ^ 0xf0f0f0f0u ^ 0xccccccccu);
  EXPECT_EQ(run3("dp4a.s32.s32", 0xff02ff01, 0x01010203, 10), 10u + 3 - 2 + 2 - 1);
  EXPECT_EQ(run3("vabsdiff4.u32.u32.u32", 0x01ff0305, 0x02fe0505, 0), 0x01010200u);
  EXPECT_EQ(run3("add.sat.s32", 0x7fffffff, 1), 0x7fffffffu);
}

// The manual's loop, written out again.
std::uint32_t nth_one(std::uint32_t mask, int base, int offset) {
  if (offset == 0) return (mask >> base & 1) == 1 ? static_cast<std::uint32_t>(base) : 0xffffffffu;
  int count = std::abs(offset) - 1;
  for (int position = base; position >= 0 && position<32; position += offset> 0 ? 1 : -1) {
    if ((mask >> position & 1) == 0) continue;
    if (count == 0) return static_cast<std::uint32_t>(position);
    --count;
  }
  return 0xffffffffu;
}

TEST(BitInstructions, FnsFindsTheNthOneInBothDirections) {
  for (const std::uint32_t mask : {0u, 1u, 0x80000000u, 0xffffffffu, 0xa5010f30u}) {
    for (int base = 0; base < 32; ++base) {
      for (int offset = -33; offset <= 33; ++offset) {
        EXPECT_EQ(run3("fns.b32", mask, static_cast<std::uint32_t>(base),
                       static_cast<std::uint32_t>(offset)),
                  nth_one(mask, base, offset))
            << mask << " " << base << " " << offset;
      }
    }
  }
  EXPECT_EQ(run3("fns.b32", ~0u, 3, 0x80000000u), 0xffffffffu);
}

TEST(CarryChains, Add128BitNumbers) {
  OneInstruction low("add.cc.s64"), high("addc.s64");
  low.set_source<std::uint64_t>(0, 3, ~std::uint64_t{0});
  low.set_source<std::uint64_t>(1, 3, 1);
  low.run();
  EXPECT_EQ(low.result<std::uint64_t>(3), 0u);
  EXPECT_EQ(low.result_predicate(1) >> 3 & 1, 1u);
  high.set_source<std::uint64_t>(0, 3, 5);
  high.set_source<std::uint64_t>(1, 3, 6);
  high.source_predicate(2) = low.result_predicate(1);
  high.run();
  EXPECT_EQ(high.result<std::uint64_t>(3), 12u);
  OneInstruction borrow("sub.cc.u32"), rest("subc.u32");
  borrow.set_source<std::uint32_t>(0, 0, 0);
  borrow.set_source<std::uint32_t>(1, 0, 1);
  borrow.run();
  rest.set_source<std::uint32_t>(0, 0, 9);
  rest.set_source<std::uint32_t>(1, 0, 3);
  rest.source_predicate(2) = borrow.result_predicate(1);
  rest.run();
  EXPECT_EQ(rest.result<std::uint32_t>(0), 5u);
}

TEST(Division, ReportsZeroAndDoesNotTrap) {
  OneInstruction run("div.s32");
  for (int lane = 0; lane < 32; ++lane) {
    run.set_source<std::int32_t>(0, lane, lane == 1 ? INT32_MIN : -7);
    run.set_source<std::int32_t>(1, lane, lane == 0 ? 0 : lane == 1 ? -1 : 2);
  }
  EXPECT_EQ(run.run(), 1u);
  EXPECT_EQ(run.result_valid() & 1, 0u);
  EXPECT_EQ(run.result<std::int32_t>(1), INT32_MIN);
  EXPECT_EQ(run.result<std::int32_t>(2), -3);
  EXPECT_EQ(run.run(~LaneMask{1}), 0u);
}

}  // namespace
}  // namespace draftproof::gpu::emulator
