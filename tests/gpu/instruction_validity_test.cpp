// Validity, masks, predicates and selection.
#include <gtest/gtest.h>

#include <bit>

#include "tests/gpu/one_instruction.h"

namespace draftproof::gpu::emulator {
namespace {

TEST(Lanes, OnlyActiveLanesAreWritten) {
  for (const std::string form :
       {"add.s32", "ex2.approx.f32", "fma.rm.f32", "selp.b32", "cvt.rzi.s32.f32", "sqrt.rn.f32"}) {
    OneInstruction run(form);
    for (int lane = 0; lane < 32; ++lane) run.set_result<std::uint32_t>(0, lane, 0xdeadbeef);
    run.result_valid() = 0x0000ffff;
    run.run(0x00ff00f0);
    for (int lane = 0; lane < 32; ++lane) {
      const bool is_active = (0x00ff00f0u >> lane & 1) != 0;
      EXPECT_EQ(run.result<std::uint32_t>(lane) != 0xdeadbeef, is_active) << form << lane;
    }
    EXPECT_EQ(run.result_valid(), 0x00ffffffu) << form;
  }
}

TEST(Validity, NeedsEverySource) {
  OneInstruction run("mad.lo.s32");
  run.source_valid(0) = 0x0f;
  run.source_valid(1) = 0x3c;
  run.source_valid(2) = 0xff;
  run.run();
  EXPECT_EQ(run.result_valid(), 0x0cu);
}

TEST(Validity, ZeroAndOnesAbsorbTheUndefined) {
  OneInstruction conjunction("and.b32");
  conjunction.source_valid(1) = 0;
  conjunction.set_source<std::uint32_t>(0, 1, 5);
  conjunction.run();
  EXPECT_EQ(conjunction.result_valid(), ~LaneMask{2});
  OneInstruction disjunction("or.b64");
  disjunction.source_valid(0) = 0;
  disjunction.set_source<std::uint64_t>(1, 4, ~std::uint64_t{0});
  disjunction.run();
  EXPECT_EQ(disjunction.result_valid(), LaneMask{16});
  OneInstruction product("mul.lo.s32");
  product.source_valid(0) = 0;
  product.set_source<std::uint32_t>(1, 0, 3);
  product.run();
  EXPECT_EQ(product.result_valid(), ~LaneMask{1});
  // An undefined zero absorbs nothing.
  OneInstruction both("and.b32");
  both.source_valid(0) = 0;
  both.source_valid(1) = 0;
  both.run();
  EXPECT_EQ(both.result_valid(), 0u);
}

TEST(Validity, OfASelectionIsThatOfTheChosenSide) {
  OneInstruction run("selp.f32");
  run.source_predicate(2) = 0x0000ffff;
  run.source_valid(0) = 0x000000ff;
  run.source_valid(1) = 0xff000000;
  run.source_valid(2) = 0xfffffffe;
  run.run();
  EXPECT_EQ(run.result_valid(), 0xff0000feu);
}

TEST(Predicates, CombineAndAbsorb) {
  OneInstruction run("and.pred");
  run.source_predicate(0) = 0b1100;
  run.source_predicate(1) = 0b1010;
  run.source_valid(1) = 0b0000;
  run.run(0xf);
  EXPECT_EQ(run.result_predicate() & 0xf, 0b1000u);
  EXPECT_EQ(run.result_valid() & 0xf, 0b0011u);
}

TEST(Comparison, OrdersNansAsTheOperatorSays) {
  const auto holds = [](const std::string& form, float a, float b) {
    OneInstruction run(form);
    run.set_source(0, 0, a);
    run.set_source(1, 0, b);
    run.run(1);
    return (run.result_predicate() & 1) != 0;
  };
  const float nan = std::bit_cast<float>(0x7fc00000u);
  for (const std::string op : {"eq", "ne", "lt", "le", "gt", "ge", "num"}) {
    EXPECT_FALSE(holds("setp." + op + ".f32", nan, 1)) << op;
  }
  for (const std::string op : {"equ", "neu", "ltu", "leu", "gtu", "geu", "nan"}) {
    EXPECT_TRUE(holds("setp." + op + ".f32", 1, nan)) << op;
  }
  EXPECT_TRUE(holds("setp.lt.f32", 1, 2));
  EXPECT_FALSE(holds("setp.ltu.f32", 2, 1));
  EXPECT_TRUE(holds("setp.eq.f32", 0.0f, -0.0f));
  EXPECT_FALSE(holds("setp.ne.f32", 0.0f, -0.0f));
  EXPECT_TRUE(holds("setp.eq.ftz.f32", 0.0f, 1e-40f));
  EXPECT_FALSE(holds("setp.eq.f32", 0.0f, 1e-40f));
}

TEST(Comparison, CombinesWithAPredicateAndItsComplement) {
  OneInstruction run("setp.lt.and.s32");
  run.add_destination('p');
  for (int lane = 0; lane < 4; ++lane) {
    run.set_source<std::int32_t>(0, lane, lane < 2 ? -1 : 1);
    run.set_source<std::int32_t>(1, lane, 0);
  }
  run.source_predicate(2) = 0b0101;
  run.run(0xf);
  EXPECT_EQ(run.result_predicate(0) & 0xf, 0b0001u);
  EXPECT_EQ(run.result_predicate(1) & 0xf, 0b0100u);
}

TEST(Comparison, OfSixtyFourBitsUsesAllOfThem) {
  OneInstruction run("setp.lt.u64");
  run.set_source<std::uint64_t>(0, 31, 0x00000001'00000000);
  run.set_source<std::uint64_t>(1, 31, 0x00000002'00000000);
  run.set_source<std::uint64_t>(0, 0, 0x80000000'00000000);
  run.set_source<std::uint64_t>(1, 0, 1);
  run.run();
  EXPECT_EQ(run.result_predicate(), 0x80000000u);
}

TEST(Set, GivesOnesOrOne) {
  OneInstruction run("set.gt.u32.f32"), one("set.gt.f32.f32");
  for (OneInstruction* i : {&run, &one}) {
    i->set_source(0, 0, 2.0f);
    i->set_source(1, 0, 1.0f);
    i->run();
  }
  EXPECT_EQ(run.result<std::uint32_t>(0), 0xffffffffu);
  EXPECT_EQ(one.result<float>(0), 1.0f);
  EXPECT_EQ(one.result<float>(1), 0.0f);
}

TEST(Forms, AreKnownWholeOrNotAtAll) {
  EXPECT_TRUE(find_form("add.rn.ftz.sat.f32"));
  for (const char* form : {"add.f32.rn",
                           "add.rn.rn.f32",
                           "add.ftz.s32",
                           "add.u8",
                           "ld.global.nope.f32",
                           "ld.global.nc.nc.f32",
                           "ld.shared.nc.f32",
                           "st.global.acquire.gpu.b32",
                           "st.const.u32",
                           "ld.relaxed.global.u32",
                           "atom.add.f16",
                           "red.cas.b32",
                           "ld.v4.b64",
                           "bar.sync.nope",
                           "fence",
                           "membar.gpu",
                           "shfl.down.b32",
                           "cvt.rn.s32.f32",
                           "setp.lt.b32",
                           "mma.sync",
                           "",
                           ".",
                           "add."}) {
    EXPECT_FALSE(find_form(form)) << form;
  }
}

}  // namespace
}  // namespace draftproof::gpu::emulator
