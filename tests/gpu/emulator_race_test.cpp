// Races between warps and between blocks, in shared and in global memory. Every racing kernel has a
// sibling that differs by the one thing that makes it right, and must be silent.
#include <gtest/gtest.h>

#include "tests/gpu/emulator_run.h"

namespace draftproof::gpu::test {
namespace {

struct RaceCase {
  const char* name;
  std::string body;
  bool is_race;
  std::uint32_t grid = 1;
  std::uint32_t block = 64;
};

class EmulatorRace : public testing::TestWithParam<RaceCase> {};

TEST_P(EmulatorRace, IsSeenUnderEverySchedule) {
  const RaceCase& given = GetParam();
  const std::string text = kernel(given.body);
  using reference::ScheduleKind;
  for (const ScheduleKind schedule :
       {ScheduleKind::kRandom, ScheduleKind::kFirstWarpFirst, ScheduleKind::kLastWarpFirst}) {
    for (std::uint64_t seed = 1; seed <= (schedule == ScheduleKind::kRandom ? 8 : 1); ++seed) {
      EmulatorRun run;
      run.launch_options.grid = {given.grid, 1, 1};
      run.launch_options.block = {given.block, 1, 1};
      run.launch_options.schedule = schedule;
      run.launch_options.schedule_seed = seed;
      const DevicePointer data = run.words(std::vector<std::uint32_t>(256), "data");
      const DevicePointer flags = run.words(std::vector<std::uint32_t>(64), "flags");
      const DevicePointer out = run.unwritten(4096, "out");
      run.run(text, data, flags, out);
      EXPECT_EQ(run.count("race") != 0, given.is_race) << "seed " << seed << "\n" << run.seen();
      EXPECT_EQ(run.count("deadlock") + run.count("limit") + run.count("bounds"), 0u) << run.seen();
    }
  }
}

// Thread t writes shared word t, then reads word (t + 32) % 64, which another warp wrote.
std::string exchange(const std::string& barrier) {
  return R"(
    .shared .align 4 .b8 s[256];
    mov.u32 %r1, s;
    mad.lo.u32 %r2, %t, 4, %r1;
    st.shared.u32 [%r2], %t;
)" + barrier +
         R"(
    xor.b32 %r3, %t, 32;
    mad.lo.u32 %r4, %r3, 4, %r1;
    ld.shared.u32 %r5, [%r4];
    add.s64 %q1, %cc, %q31;
    st.global.u32 [%q1], %r5;)";
}

// All read word 0 into %r5; then thread 0 overwrites it.
std::string read_then_write(const std::string& barrier) {
  return R"(
    .shared .align 4 .b8 s[4];
    mov.u32 %r1, s;
    setp.eq.u32 %p1, %t, 0;
    @%p1 st.shared.u32 [%r1], %t;
    bar.sync 0;
    ld.shared.u32 %r5, [%r1];
)" + barrier +
         R"(
    @%p1 st.shared.u32 [%r1], %n;)";
}

// Block 0 writes data and raises a flag; block 1 waits for the flag and reads the data.
std::string message(const std::string& before_flag, const std::string& store,
                    const std::string& load, const std::string& after_flag) {
  return R"(
    setp.ne.u32 %p1, %c, 0;
    mov.u32 %r2, 1;
    @%p1 bra RECEIVE;
    st.global.u32 [%a], %n;
)" + before_flag +
         store + R"(
    bra DONE;
  RECEIVE:
)" + load +
         R"(
    setp.eq.u32 %p2, %r1, 0;
    @%p2 bra RECEIVE;
)" + after_flag +
         R"(
    ld.global.u32 %r3, [%a];
    st.global.u32 [%cc], %r3;
  DONE:)";
}

// Every block writes its word, counts itself; the last one reads all words.
std::string last_block(const std::string& fence) {
  return R"(
    mul.wide.u32 %q1, %c, 4;
    add.s64 %q2, %a, %q1;
    setp.ne.u32 %p1, %t, 0;
    @%p1 bra MEET;
    st.global.u32 [%q2], %c;
)" + fence +
         R"(
    mov.u32 %r1, 7;
    atom.global.inc.u32 %r2, [%b], %r1;
    .shared .align 4 .b8 s[4];
    mov.u32 %r3, s;
    st.shared.u32 [%r3], %r2;
  MEET:
    bar.sync 0;
    mov.u32 %r3, s;
    ld.shared.u32 %r4, [%r3];
    setp.ne.u32 %p2, %r4, 7;
    @%p2 bra DONE;
    setp.gt.u32 %p3, %t, 7;
    @%p3 bra DONE;
    ld.global.u32 %r5, [%at];
    add.s64 %q3, %cc, %q31;
    st.global.u32 [%q3], %r5;
  DONE:)";
}

// Warp 0 fills words, warp 1 takes them, over named barriers; warp 0 then fills again.
std::string producer_consumer(const std::string& free) {
  return R"(
    .shared .align 4 .b8 s[128];
    mov.u32 %r1, s;
    and.b32 %r2, %t, 31;
    mad.lo.u32 %r2, %r2, 4, %r1;
    setp.gt.u32 %p1, %t, 31;
    @%p1 bra CONSUME;
    st.shared.u32 [%r2], %t;
    bar.arrive 1, 64;
)" + free +
         R"(
    st.shared.u32 [%r2], %n;
    bra DONE;
  CONSUME:
    bar.sync 1, 64;
    ld.shared.u32 %r3, [%r2];
    bar.arrive 2, 64;
    add.s64 %q1, %cc, %q31;
    st.global.u32 [%q1], %r3;
  DONE:)";
}

// Warp 0 hands a word to warp 1 of its block by a flag in shared memory.
std::string shared_flag(const std::string& before_flag, const std::string& store,
                        const std::string& load, const std::string& after_flag) {
  return R"(
    .shared .align 4 .b8 s[8];
    mov.u32 %r1, s;
    mov.u32 %r2, 1;
    mov.u32 %r3, 0;
    setp.eq.u32 %p1, %t, 0;
    @%p1 st.shared.u32 [%r1+4], %r3;
    bar.sync 0;
    setp.gt.u32 %p2, %t, 31;
    @%p2 bra RECEIVE;
    @%p1 st.shared.u32 [%r1], %n;
    )" + before_flag +
         "\n    @%p1 " + store + R"(
    bra DONE;
  RECEIVE:
    )" + load +
         R"(
    setp.eq.u32 %p3, %r4, 0;
    @%p3 bra RECEIVE;
    )" + after_flag +
         R"(
    ld.shared.u32 %r5, [%r1];
    setp.eq.u32 %p4, %t, 32;
    @%p4 st.global.u32 [%cc], %r5;
  DONE:)";
}

// Thread 0 of each block adds to a word under a lock; relaxed atomics, so the fences order it.
std::string lock(const std::string& enter, const std::string& leave) {
  return R"(
    setp.ne.u32 %p1, %t, 0;
    @%p1 bra DONE;
  TAKE:
    atom.global.cas.b32 %r1, [%b], 0, 1;
    setp.ne.u32 %p2, %r1, 0;
    @%p2 bra TAKE;
    )" + enter +
         R"(
    ld.global.u32 %r2, [%a];
    add.u32 %r2, %r2, 1;
    st.global.u32 [%a], %r2;
    )" + leave +
         R"(
    atom.global.exch.b32 %r3, [%b], 0;
  DONE:)";
}

INSTANTIATE_TEST_SUITE_P(
    Cases, EmulatorRace,
    testing::Values(
        RaceCase{"ExchangeWithBarrier", exchange("bar.sync 0;"), false},
        RaceCase{"ExchangeWithoutBarrier", exchange(""), true},
        RaceCase{"ExchangeWithWarpBarrierOnly", exchange("bar.warp.sync 0xffffffff;"), true},
        RaceCase{"ExchangeWithFenceOnly", exchange("membar.cta;"), true},
        RaceCase{"ReadThenWriteWithBarrier", read_then_write("bar.sync 0;"), false},
        RaceCase{"ReadThenWriteWithoutBarrier", read_then_write(""), true},
        RaceCase{"MessageReleaseAcquire",
                 message("", "st.global.release.gpu.u32 [%b], %r2;",
                         "ld.global.acquire.gpu.u32 %r1, [%b];", ""),
                 false, 2, 1},
        RaceCase{"MessageRelaxed",
                 message("", "st.global.relaxed.gpu.u32 [%b], %r2;",
                         "ld.global.acquire.gpu.u32 %r1, [%b];", ""),
                 true, 2, 1},
        RaceCase{"MessageAcquireForgotten",
                 message("", "st.global.release.gpu.u32 [%b], %r2;",
                         "ld.global.relaxed.gpu.u32 %r1, [%b];", ""),
                 true, 2, 1},
        RaceCase{"MessageReleaseOfTooNarrowScope",
                 message("", "st.global.release.cta.u32 [%b], %r2;",
                         "ld.global.acquire.gpu.u32 %r1, [%b];", ""),
                 true, 2, 1},
        RaceCase{"MessageVolatileWithFences",
                 message("membar.gl;", "st.volatile.global.u32 [%b], %r2;",
                         "ld.volatile.global.u32 %r1, [%b];", "membar.gl;"),
                 false, 2, 1},
        RaceCase{"MessageVolatileWithoutFence",
                 message("", "st.volatile.global.u32 [%b], %r2;",
                         "ld.volatile.global.u32 %r1, [%b];", "membar.gl;"),
                 true, 2, 1},
        RaceCase{"MessageAtomicsWithFence",
                 message("fence.acq_rel.gpu;", "red.global.add.u32 [%b], %r2;",
                         "ld.global.acquire.gpu.u32 %r1, [%b];", ""),
                 false, 2, 1},
        RaceCase{"MessageAtomicAcquireRelease",
                 message("", "atom.global.add.acq_rel.gpu.u32 %r4, [%b], %r2;",
                         "atom.global.or.b32 %r1, [%b], 0;", ""),
                 false, 2, 1},
        RaceCase{"LastBlockWithFence", last_block("membar.gl;"), false, 8, 64},
        RaceCase{"LastBlockWithoutFence", last_block(""), true, 8, 64},
        RaceCase{"SharedFlagVolatileWithFences",
                 shared_flag("membar.cta;", "st.volatile.shared.u32 [%r1+4], %r2;",
                             "ld.volatile.shared.u32 %r4, [%r1+4];", "membar.cta;"),
                 false},
        RaceCase{"SharedFlagWithoutFence",
                 shared_flag("", "st.volatile.shared.u32 [%r1+4], %r2;",
                             "ld.volatile.shared.u32 %r4, [%r1+4];", "membar.cta;"),
                 true},
        RaceCase{"SharedFlagReleaseAcquire",
                 shared_flag("", "st.release.cta.shared.u32 [%r1+4], %r2;",
                             "ld.acquire.cta.shared.u32 %r4, [%r1+4];", ""),
                 false},
        RaceCase{"SharedFlagPlain",
                 shared_flag("membar.cta;", "st.shared.u32 [%r1+4], %r2;",
                             "ld.volatile.shared.u32 %r4, [%r1+4];", "membar.cta;"),
                 true},
        RaceCase{"LockWithFences", lock("membar.gl;", "membar.gl;"), false, 4, 32},
        RaceCase{"LockWithoutFences", lock("", ""), true, 4, 32},
        RaceCase{"ProducerConsumer", producer_consumer("bar.sync 2, 64;"), false},
        RaceCase{"ProducerDoesNotWait", producer_consumer(""), true},
        RaceCase{"NeighbouringBytesOfOneWord",
                 "cvt.u64.u32 %q1, %c; add.s64 %q2, %a, %q1; st.global.u8 [%q2], %c;", false, 8, 1},
        RaceCase{"TheSameByteOfTwoBlocks", "st.global.u8 [%a], %c;", true, 8, 1},
        RaceCase{"AtomicsOfBlocks", "red.global.add.u32 [%a], %n;", false, 8, 64},
        RaceCase{"AtomicAgainstPlain",
                 "setp.eq.u32 %p1, %c, 0; @%p1 red.global.add.u32 [%a], %n; "
                 "@!%p1 ld.global.u32 %r1, [%a];",
                 true, 2, 1},
        RaceCase{"VolatileAgainstVolatile",
                 "setp.eq.u32 %p1, %c, 0; @%p1 st.volatile.global.u32 [%a], %n; "
                 "@!%p1 ld.volatile.global.u32 %r1, [%a];",
                 false, 2, 1},
        RaceCase{"VolatileAgainstPlain",
                 "setp.eq.u32 %p1, %c, 0; @%p1 st.volatile.global.u32 [%a], %n; "
                 "@!%p1 ld.global.u32 %r1, [%a];",
                 true, 2, 1},
        RaceCase{"LinesReadByOneBlockWrittenByAnother",
                 "setp.eq.u32 %p1, %c, 0; @%p1 ld.global.u32 %r1, [%at]; "
                 "@!%p1 st.global.u32 [%at], %t;",
                 true, 2, 32},
        RaceCase{"LinesReadByBothBlocks", "ld.global.u32 %r1, [%at];", false, 2, 32},
        RaceCase{"BlocksThatWriteLinesOfTheirOwn",
                 "mad.lo.u32 %r1, %c, %n, %t; mul.wide.u32 %q1, %r1, 4; add.s64 %q1, %a, %q1; "
                 "st.global.u32 [%q1], %t; bar.sync 0; ld.global.u32 %r2, [%q1];",
                 false, 4, 64}),
    [](const auto& info) { return std::string(info.param.name); });

TEST(EmulatorRaceReport, NamesBothParties) {
  EmulatorRun run;
  run.launch_options.block = {64, 1, 1};
  run.launch_options.schedule = reference::ScheduleKind::kFirstWarpFirst;
  const DevicePointer data = run.words(std::vector<std::uint32_t>(64), "data");
  const std::string text = kernel(R"(
    setp.gt.u32 %p1, %t, 31;
    @%p1 bra READ;
    st.global.u32 [%at], %t;  // WRITE
    bra DONE;
  READ:
    ld.global.u32 %r1, [%at+-128];  // THEN
  DONE:)");
  run.run(text, data);
  ASSERT_EQ(run.count("race"), 1u) << run.seen();
  const auto seen = run.first("race");
  EXPECT_EQ(seen.place.ptx_line, line_of(text, "THEN"));
  EXPECT_EQ(seen.place.warp, 1u);
  EXPECT_EQ(seen.place.lanes, 1u);
  EXPECT_EQ(seen.other.ptx_line, line_of(text, "WRITE"));
  EXPECT_EQ(seen.other.warp, 0u);
  EXPECT_EQ(seen.other.lanes, 1u);
  EXPECT_EQ(seen.count, 32u);
  EXPECT_EQ(seen.schedule, "first-warp-first");
  EXPECT_NE(seen.message.find("allocation 'data'"), std::string::npos) << seen.message;
}

TEST(EmulatorRaceReport, LaunchesAreOrdered) {
  EmulatorRun run;
  const DevicePointer data = run.words(std::vector<std::uint32_t>(64), "data");
  run.launch_options.grid = {4, 1, 1};
  const std::string read = kernel("ld.global.u32 %r1, [%a];");
  const std::string write = kernel("setp.eq.u32 %p1, %c, 3;\n @%p1 st.global.u32 [%a], 1;");
  for (int i = 0; i < 3; ++i) {
    run.run(read, data);
    EXPECT_EQ(run.count("race"), 0u) << run.seen();
    run.run(write, data);
    EXPECT_EQ(run.count("race"), 0u) << run.seen();
  }
}

TEST(EmulatorRaceReport, WritersOfTheSameValueAreANote) {
  EmulatorRun run;
  run.launch_options.block = {64, 1, 1};
  const DevicePointer data = run.words({0}, "data");
  run.run(kernel("st.global.u32 [%a], %n;"), data);
  EXPECT_EQ(run.count("race"), 0u) << run.seen();
  ASSERT_GE(run.count("same-value-race"), 1u);
  for (const auto& seen : run.report.observations) {
    EXPECT_EQ(seen.severity, reference::Severity::kNote);
  }
  // Different values: lanes of one store, and warps.
  run.run(kernel("st.global.u32 [%a], %t;"), data);
  EXPECT_GE(run.count("race"), 1u) << run.seen();
  // One writer.
  run.run(kernel("setp.eq.u32 %p1, %t, 5;\n @%p1 st.global.u32 [%a], %t;"), data);
  EXPECT_EQ(run.seen(), "");
}

TEST(EmulatorRaceReport, ReadingWhatAllWroteWithoutABarrierIsARace) {
  EmulatorRun run;
  run.launch_options.block = {64, 1, 1};
  const DevicePointer data = run.words({0}, "data");
  run.run(kernel("st.global.u32 [%a], %n;\n bar.sync 0;\n ld.global.u32 %r1, [%a];"), data);
  EXPECT_EQ(run.count("race"), 0u) << run.seen();
  run.launch_options.schedule = reference::ScheduleKind::kFirstWarpFirst;
  run.run(kernel(R"(
    setp.lt.u32 %p1, %t, 32;
    @%p1 st.global.u32 [%a], %n;
    @!%p1 ld.global.u32 %r1, [%a];)"),
          data);
  EXPECT_EQ(run.count("race"), 1u) << run.seen();
}

TEST(EmulatorRaceReport, ScatteredLanesThatClashAreARace) {
  EmulatorRun run;
  const DevicePointer data = run.words(std::vector<std::uint32_t>(32), "data");
  const std::string address =
      "shr.u32 %r1, %t, 1;\n mul.wide.u32 %q1, %r1, 4;\n"
      "add.s64 %q1, %a, %q1;\n";
  run.run(kernel(address + "st.global.u32 [%q1], %t;"), data);
  EXPECT_EQ(run.count("race"), 1u) << run.seen();
  run.run(kernel(address + "st.global.u32 [%q1], %r1;"), data);
  EXPECT_EQ(run.count("race"), 0u) << run.seen();
}

TEST(EmulatorNoncoherent, LoadsOfWrittenMemoryAreReported) {
  EmulatorRun run;
  run.launch_options.block = {64, 1, 1};
  const DevicePointer data = run.words(std::vector<std::uint32_t>(64), "data");
  const DevicePointer other = run.words(std::vector<std::uint32_t>(64), "other");
  const std::string text = kernel(R"(
    st.global.u32 [%at], %t;  // WRITE
    bar.sync 0;
    ld.global.nc.u32 %r1, [%a];  // HERE)");
  run.run(text, data, other);
  ASSERT_EQ(run.count("noncoherent-write"), 1u) << run.seen();
  EXPECT_EQ(run.first("noncoherent-write").place.ptx_line, line_of(text, "HERE"));
  EXPECT_EQ(run.first("noncoherent-write").other.ptx_line, line_of(text, "WRITE"));
  run.run(kernel("st.global.u32 [%at], %t;\n bar.sync 0;\n ld.global.nc.u32 %r1, [%b];"), data,
          other);
  EXPECT_EQ(run.seen(), "");
  // An earlier launch wrote it: that is what .nc is for.
  run.run(kernel("ld.global.nc.u32 %r1, [%at];"), data, other);
  EXPECT_EQ(run.seen(), "");
}

}  // namespace
}  // namespace draftproof::gpu::test
