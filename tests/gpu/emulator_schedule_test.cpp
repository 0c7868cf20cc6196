// Schedules: replay, progress of blocks that wait for each other, and the end of those that never
// do.
#include <gtest/gtest.h>

#include <set>

#include "tests/gpu/emulator_run.h"

namespace draftproof::gpu::test {
namespace {

constexpr const char* kTickets = R"(
    atom.global.add.u32 %r1, [%a], 1;
    mad.lo.u32 %r2, %c, %n, %t;
    mul.wide.u32 %q1, %r2, 4;
    add.s64 %q1, %b, %q1;
    bar.sync 0;
    st.global.u32 [%q1], %r1;)";

std::pair<std::uint64_t, std::vector<std::uint32_t>> tickets(std::uint64_t seed) {
  EmulatorRun run;
  run.launch_options.grid = {3, 1, 1};
  run.launch_options.block = {128, 1, 1};
  run.launch_options.schedule_seed = seed;
  const DevicePointer counter = run.words({0}, "counter");
  const DevicePointer out = run.unwritten(3 * 128 * 4, "out");
  run.run(kernel(kTickets), counter, out);
  EXPECT_EQ(run.seen(), "");
  EXPECT_EQ(run.report.schedule_seed, seed);
  return {last_trace_hash(*run.device), run.read(out, 3 * 128)};
}

TEST(EmulatorSchedule, TheSameSeedReplaysAndAnotherDoesNot) {
  EXPECT_EQ(tickets(5), tickets(5));
  std::set<std::uint64_t> traces;
  std::set<std::vector<std::uint32_t>> orders;
  for (std::uint64_t seed = 1; seed <= 6; ++seed) {
    const auto [trace, order] = tickets(seed);
    traces.insert(trace);
    orders.insert(order);
  }
  EXPECT_EQ(traces.size(), 6u);
  EXPECT_GT(orders.size(), 1u);
}

TEST(EmulatorSchedule, OrderedSchedulesRunTheNamedWarpFirst) {
  for (const bool is_first : {true, false}) {
    EmulatorRun run;
    run.launch_options.block = {128, 1, 1};
    run.launch_options.schedule = is_first ? reference::ScheduleKind::kFirstWarpFirst
                                           : reference::ScheduleKind::kLastWarpFirst;
    const DevicePointer counter = run.words({0}, "counter");
    const DevicePointer out = run.unwritten(128 * 4, "out");
    run.run(kernel(kTickets), counter, out);
    EXPECT_EQ(run.seen(), "");
    EXPECT_EQ(run.read(out, 128)[is_first ? 0 : 96], 0u);
  }
}

constexpr const char* kSpinBarrier = R"(
    // Thread 0 of each block counts in, then polls until all blocks have.
    mul.wide.u32 %q1, %c, 4;
    add.s64 %q2, %a, %q1;
    setp.ne.u32 %p1, %t, 0;
    @%p1 bra MEET;
    st.global.u32 [%q2], %c;
    mov.u32 %r9, %nctaid.x;
    fence.acq_rel.gpu;
    red.relaxed.gpu.global.add.s32 [%b], 1;
  POLL:
    ld.global.acquire.gpu.b32 %r1, [%b];
    setp.lt.u32 %p2, %r1, %r9;
    @%p2 bra POLL;
  MEET:
    bar.sync 0;
    // Each block reads the word of the next one.
    add.u32 %r2, %c, 1;
    mov.u32 %r9, %nctaid.x;
    rem.u32 %r2, %r2, %r9;
    mul.wide.u32 %q3, %r2, 4;
    add.s64 %q3, %a, %q3;
    ld.global.u32 %r3, [%q3];
    add.s64 %q4, %cc, %q1;
    @!%p1 st.global.u32 [%q4], %r3;)";

class EmulatorSpinBarrier : public testing::TestWithParam<reference::ScheduleKind> {};

TEST_P(EmulatorSpinBarrier, BlocksThatWaitForEachOtherGoOn) {
  EmulatorRun run;
  run.launch_options.grid = {40, 1, 1};
  run.launch_options.block = {64, 1, 1};
  run.launch_options.schedule = GetParam();
  const DevicePointer words = run.unwritten(160, "words");
  const DevicePointer counter = run.words({0}, "counter");
  const DevicePointer out = run.unwritten(160, "out");
  run.run(kernel(kSpinBarrier), words, counter, out);
  EXPECT_EQ(run.seen(), "");
  const auto got = run.read(out, 40);
  for (std::uint32_t i = 0; i < 40; ++i) EXPECT_EQ(got[i], (i + 1) % 40);
}

TEST_P(EmulatorSpinBarrier, AWarpThatPollsSeveralWordsWaitsToo) {
  EmulatorRun run;
  run.launch_options.grid = {32, 1, 1};
  run.launch_options.block = {32, 1, 1};
  run.launch_options.schedule = GetParam();
  const DevicePointer flags = run.words(std::vector<std::uint32_t>(32, 0), "flags");
  const DevicePointer out = run.words(std::vector<std::uint32_t>(32, 0), "out");
  // Each block raises its flag, then lane i polls that of block i.
  run.run(kernel(R"(
    mul.wide.u32 %q1, %c, 4;
    add.s64 %q2, %a, %q1;
    setp.ne.u32 %p1, %t, 0;
    @!%p1 st.global.release.gpu.b32 [%q2], 7;
    mul.wide.u32 %q1, %t, 4;
    add.s64 %q2, %a, %q1;
  POLL:
    ld.global.acquire.gpu.b32 %r1, [%q2];
    setp.ne.u32 %p2, %r1, 7;
    @%p2 bra POLL;
    add.s64 %q3, %b, %q1;
    red.global.add.u32 [%q3], 1;)"),
          flags, out);
  EXPECT_EQ(run.seen(), "");
  EXPECT_EQ(run.read(out, 32), std::vector<std::uint32_t>(32, 32));
  EXPECT_LT(run.report.counts.warp_instructions, 200000u);
}

INSTANTIATE_TEST_SUITE_P(Schedules, EmulatorSpinBarrier,
                         testing::Values(reference::ScheduleKind::kRandom,
                                         reference::ScheduleKind::kFirstWarpFirst,
                                         reference::ScheduleKind::kLastWarpFirst));

TEST(EmulatorDeadlock, BlocksThatCannotAllBeResidentNeverMeet) {
  EmulatedDeviceOptions options;
  options.blocks_in_flight = 4;
  EmulatorRun run(options);
  run.launch_options.grid = {5, 1, 1};
  const DevicePointer words = run.unwritten(160, "words");
  const DevicePointer counter = run.words({0}, "counter");
  const DevicePointer out = run.unwritten(160, "out");
  const std::string text = kernel(kSpinBarrier);
  run.run(text, words, counter, out);
  ASSERT_EQ(run.count("deadlock"), 1u) << run.seen();
  EXPECT_LT(run.report.counts.warp_instructions, 200000u);
  const int poll = line_of(text, "POLL:");
  const int line = run.first("deadlock").place.ptx_line;
  EXPECT_TRUE(line > poll && line <= poll + 4) << line;
}

TEST(EmulatorDeadlock, AFlagNoOneRaisesIsADeadlock) {
  EmulatorRun run;
  run.launch_options.grid = {2, 1, 1};
  const DevicePointer flag = run.words({0}, "flag");
  run.run(kernel(R"(
  POLL:
    ld.volatile.global.u32 %r1, [%a];
    nanosleep.u32 100;
    setp.eq.u32 %p1, %r1, 0;
    @%p1 bra POLL;)"),
          flag);
  EXPECT_EQ(run.count("deadlock"), 1u) << run.seen();
  // A lock that is never given back.
  run.run(kernel(R"(
  POLL:
    atom.global.cas.b32 %r1, [%a], 0, 1;
    setp.ne.u32 %p1, %r1, 0;
    @%p1 bra POLL;)"),
          flag);
  EXPECT_EQ(run.count("deadlock"), 1u) << run.seen();
}

TEST(EmulatorSchedule, LanesOfOneWarpPassALockOn) {
  EmulatorRun run;
  run.launch_options.block = {64, 1, 1};
  const DevicePointer lock = run.words({0}, "lock");
  const DevicePointer sum = run.words({0}, "sum");
  run.run(kernel(R"(
  TAKE:
    atom.global.acquire.gpu.cas.b32 %r1, [%a], 0, 1;
    setp.ne.u32 %p1, %r1, 0;
    @%p1 bra TAKE;
    ld.global.u32 %r2, [%b];
    add.u32 %r2, %r2, 1;
    st.global.u32 [%b], %r2;
    atom.global.release.gpu.exch.b32 %r3, [%a], 0;)"),
          lock, sum);
  EXPECT_EQ(run.count("deadlock") + run.count("limit") + run.count("race"), 0u) << run.seen();
  EXPECT_EQ(run.read(sum, 1)[0], 64u);
}

TEST(EmulatorLimit, EndsAnEndlessLoop) {
  EmulatorRun run;
  run.launch_options.warp_instruction_limit = 10000;
  const std::string text = kernel("LOOP:\n add.u32 %t, %t, 1;\n bra LOOP;");
  run.run(text);
  ASSERT_EQ(run.count("limit"), 1u) << run.seen();
  EXPECT_GE(run.first("limit").place.ptx_line, line_of(text, "LOOP:"));
  EXPECT_LT(run.report.counts.warp_instructions, 100000u);
  // A long loop that ends is no deadlock, though it changes nothing for long.
  run.launch_options.warp_instruction_limit = 0;
  run.run(kernel(R"(
    mov.u32 %r1, 0;
  LOOP:
    add.u32 %r1, %r1, 1;
    setp.lt.u32 %p1, %r1, 300000;
    @%p1 bra LOOP;)"));
  EXPECT_EQ(run.seen(), "");
}

TEST(EmulatorBranch, IndexedBranchesSplitAndMeet) {
  EmulatorRun run;
  const DevicePointer to = run.unwritten(128, "to");
  run.run(kernel(R"(
    and.b32 %r1, %t, 3;
    mov.u32 %r2, 0;
  TABLE: .branchtargets ZERO, ONE, TWO, THREE;
    brx.idx %r1, TABLE;
  ZERO:
    add.u32 %r2, %r2, 1;
  ONE:
    add.u32 %r2, %r2, 10;
  TWO:
    add.u32 %r2, %r2, 100;
  THREE:
    add.u32 %r2, %r2, 1000;
    st.global.u32 [%at], %r2;)"),
          to);
  EXPECT_EQ(run.seen(), "");
  EXPECT_EQ(run.read(to, 5), (std::vector<std::uint32_t>{1111, 1110, 1100, 1000, 1111}));
}

TEST(EmulatorDivision, ByZeroIsReportedForItsLanes) {
  EmulatorRun run;
  const DevicePointer to = run.unwritten(128, "to");
  run.run(kernel("div.u32 %r1, 100, %t;"), to);
  ASSERT_EQ(run.count("divide-by-zero"), 1u) << run.seen();
  EXPECT_EQ(run.first("divide-by-zero").place.lanes, 1u);
  run.run(kernel("add.u32 %r2, %t, 1;\n div.u32 %r1, 100, %r2;"), to);
  EXPECT_EQ(run.seen(), "");
}

}  // namespace
}  // namespace draftproof::gpu::test
