// Barriers of a block: who counts, who waits, and what is said when a warp does not arrive whole.
#include <gtest/gtest.h>

#include "tests/gpu/emulator_run.h"

namespace draftproof::gpu::test {
namespace {

TEST(EmulatorBarrier, ReducesOverAllThreads) {
  EmulatorRun run;
  run.launch_options.block = {96, 1, 1};
  const DevicePointer to = run.unwritten(96 * 4, "to");
  run.run(kernel(R"(
    setp.lt.u32 %p1, %t, 70;
    setp.lt.u32 %p2, %t, 96;
    bar.red.popc.u32 %r1, 0, %p1;
    bar.red.and.pred %p3, 0, %p1;
    bar.red.and.pred %p4, 0, %p2;
    bar.red.or.pred %p5, 0, !%p2;
    bar.red.or.pred %p6, 0, !%p1;
    selp.u32 %r2, 1000, 0, %p3;
    selp.u32 %r3, 2000, 0, %p4;
    selp.u32 %r4, 4000, 0, %p5;
    selp.u32 %r5, 8000, 0, %p6;
    add.u32 %r1, %r1, %r2;
    add.u32 %r1, %r1, %r3;
    add.u32 %r1, %r1, %r4;
    add.u32 %r1, %r1, %r5;
    st.global.u32 [%at], %r1;)"),
          to);
  EXPECT_EQ(run.seen(), "");
  EXPECT_EQ(run.read(to, 96), std::vector<std::uint32_t>(96, 70 + 2000 + 8000));
}

TEST(EmulatorBarrier, DivergentWaysToOneBarrierAreSilent) {
  EmulatorRun run;
  run.launch_options.block = {64, 1, 1};
  const DevicePointer to = run.unwritten(256, "to");
  run.run(kernel(R"(
    and.b32 %r1, %t, 1;
    setp.eq.u32 %p1, %r1, 0;
    mov.u32 %r2, 0;
    @%p1 bra MEET;
    mov.u32 %r3, 0;
  LOOP:
    add.u32 %r3, %r3, 1;
    setp.lt.u32 %p2, %r3, %t;
    @%p2 bra LOOP;
    mov.u32 %r2, 1;
  MEET:
    bar.sync 0;
    st.global.u32 [%at], %r2;)"),
          to);
  EXPECT_EQ(run.seen(), "");
  EXPECT_EQ(run.read(to, 4), (std::vector<std::uint32_t>{0, 1, 0, 1}));
}

TEST(EmulatorBarrier, ThreadsThatExitedCountAsArrived) {
  EmulatorRun run;
  run.launch_options.block = {80, 1, 1};
  const DevicePointer to = run.words({0}, "to");
  run.run(kernel(R"(
    setp.gt.u32 %p1, %t, 40;
    @%p1 exit;
    bar.sync 0;
    setp.eq.u32 %p2, %t, 0;
    @%p2 st.global.u32 [%a], %n;)"),
          to);
  EXPECT_EQ(run.seen(), "");
  EXPECT_EQ(run.read(to, 1)[0], 80u);
}

TEST(EmulatorBarrier, PartOfAWarpAtAnotherBarrierIsReportedWithBothParties) {
  EmulatorRun run;
  run.launch_options.block = {64, 1, 1};
  const std::string text = kernel(R"(
    setp.lt.u32 %p1, %t, 16;
    @%p1 bra LOW;
    bar.sync 0;  // HIGH_WAITS
    bra DONE;
  LOW:
    bar.sync 0;  // LOW_WAITS
  DONE:)");
  run.run(text);
  ASSERT_EQ(run.count("barrier"), 1u) << run.seen();
  const auto seen = run.first("barrier");
  const bool low_first = seen.place.lanes == 0xffffu;
  EXPECT_EQ(seen.place.lanes ^ seen.other.lanes, 0xffffffffu);
  EXPECT_EQ((low_first ? seen.place : seen.other).ptx_line, line_of(text, "LOW_WAITS"));
  EXPECT_EQ((low_first ? seen.other : seen.place).ptx_line, line_of(text, "HIGH_WAITS"));
  EXPECT_EQ(run.count("deadlock"), 0u) << run.seen();
  // barrier.sync without .aligned may be reached in parts.
  run.run(kernel(R"(
    setp.lt.u32 %p1, %t, 16;
    @%p1 bra LOW;
    barrier.sync 0;
    bra DONE;
  LOW:
    barrier.sync 0;
  DONE:)"));
  EXPECT_EQ(run.seen(), "");
}

// Even where the lanes that pass by exit at once, which would complete the barrier.
TEST(EmulatorBarrier, AGuardThatDividesAWarpIsReportedWithBothParties) {
  EmulatorRun run;
  run.launch_options.block = {64, 1, 1};
  const auto text = [](const std::string& limit, const std::string& barrier) {
    return kernel("setp.lt.u32 %p1, %t, " + limit + ";\n@%p1 " + barrier + " 0;  // HERE");
  };
  run.run(text("48", "bar.sync"));
  ASSERT_EQ(run.count("barrier"), 1u) << run.seen();
  const auto seen = run.first("barrier");
  EXPECT_EQ(seen.place.ptx_line, line_of(text("48", "bar.sync"), "HERE"));
  EXPECT_EQ(seen.place.lanes, 0x0000ffffu);
  EXPECT_EQ(seen.other.lanes, 0xffff0000u);
  run.run(text("32", "bar.sync"));
  EXPECT_EQ(run.seen(), "");
  run.run(text("48", "barrier.sync"));
  EXPECT_EQ(run.seen(), "");
}

TEST(EmulatorBarrier, ConditionByWarpIsLegal) {
  EmulatorRun run;
  run.launch_options.block = {64, 1, 1};
  run.run(kernel(R"(
    setp.lt.u32 %p1, %t, 32;
    @%p1 bra LOW;
    bar.sync 0;
    bra DONE;
  LOW:
    bar.sync 0;
  DONE:)"));
  EXPECT_EQ(run.seen(), "");
}

TEST(EmulatorBarrier, AWarpThatNeverArrivesIsADeadlock) {
  EmulatorRun run;
  run.launch_options.block = {64, 1, 1};
  const std::string text = kernel(R"(
    setp.lt.u32 %p1, %t, 32;
    @%p1 bra LOW;
    bar.sync 1;  // ONE
    bra DONE;
  LOW:
    bar.sync 2;  // TWO
  DONE:)");
  run.run(text);
  ASSERT_EQ(run.count("deadlock"), 1u) << run.seen();
  const auto seen = run.first("deadlock");
  EXPECT_EQ(seen.place.ptx_line, line_of(text, "TWO"));
  EXPECT_EQ(seen.other.ptx_line, line_of(text, "ONE"));
}

TEST(EmulatorBarrier, CountsAndNumbersMustFit) {
  EmulatorRun run;
  run.launch_options.block = {64, 1, 1};
  run.run(kernel("mov.u32 %r1, 16;\n bar.sync %r1;"));
  EXPECT_EQ(run.count("barrier"), 1u) << run.seen();
  run.run(kernel("bar.sync 3, 48;"));
  EXPECT_EQ(run.count("barrier"), 1u) << run.seen();
  run.run(kernel(R"(
    setp.lt.u32 %p1, %t, 32;
    @%p1 bra LOW;
    bar.sync 3, 64;
    bra DONE;
  LOW:
    bar.sync 3, 96;
  DONE:)"));
  EXPECT_EQ(run.count("barrier"), 1u) << run.seen();
  run.run(kernel("mov.u32 %r1, 15;\n bar.sync %r1, 64;"));
  EXPECT_EQ(run.seen(), "");
}

TEST(EmulatorBarrier, HalvesOfABlockMeetAtNamedBarriers) {
  EmulatorRun run;
  run.launch_options.block = {128, 1, 1};
  const DevicePointer to = run.unwritten(512, "to");
  run.run(kernel(R"(
    .shared .align 4 .b8 s[512];
    mov.u32 %r1, s;
    mad.lo.u32 %r2, %t, 4, %r1;
    st.shared.u32 [%r2], %t;
    shr.u32 %r3, %t, 6;
    add.u32 %r3, %r3, 1;
    bar.sync %r3, 64;
    xor.b32 %r4, %t, 32;
    mad.lo.u32 %r4, %r4, 4, %r1;
    ld.shared.u32 %r5, [%r4];
    st.global.u32 [%at], %r5;)"),
          to);
  EXPECT_EQ(run.seen(), "");
  EXPECT_EQ(run.read(to, 128)[97], 97u ^ 32u);
}

}  // namespace
}  // namespace draftproof::gpu::test
