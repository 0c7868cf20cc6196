// Undefined values are silent while they travel, and are reported where they decide something.
#include <gtest/gtest.h>

#include "tests/gpu/emulator_run.h"

namespace draftproof::gpu::test {
namespace {

struct UndefinedCase {
  const char* name;
  const char* body;
  const char* words;  ///< of the message; empty: silent
};

class EmulatorUninitialised : public testing::TestWithParam<UndefinedCase> {};

TEST_P(EmulatorUninitialised, IsReportedWhereItDecides) {
  const UndefinedCase& given = GetParam();
  EmulatorRun run;
  const DevicePointer unwritten = run.unwritten(128, "unwritten");
  const DevicePointer to = run.words(counting(64), "to");
  const std::string text = kernel(given.body);
  run.run(text, unwritten, to);
  if (std::string(given.words).empty()) {
    EXPECT_EQ(run.seen(), "");
    return;
  }
  ASSERT_EQ(run.count("uninitialised"), 1u) << run.seen();
  const auto seen = run.first("uninitialised");
  EXPECT_EQ(seen.place.ptx_line, line_of(text, "HERE"));
  EXPECT_NE(seen.message.find(given.words), std::string::npos) << seen.message;
}

INSTANTIATE_TEST_SUITE_P(
    Cases, EmulatorUninitialised,
    testing::Values(
        UndefinedCase{"LoadingIsSilent", "ld.global.u32 %r1, [%at];\n add.u32 %r2, %r1, 1;", ""},
        UndefinedCase{"Store", "ld.global.u32 %r1, [%at];\n st.global.u32 [%b], %r1;  // HERE",
                      "stored"},
        UndefinedCase{"SharedStoreIsSilent", R"(
          .shared .align 4 .b8 s[128];
          mov.u32 %r3, s;
          mad.lo.u32 %r3, %t, 4, %r3;
          ld.global.u32 %r1, [%at];
          st.shared.u32 [%r3], %r1;)",
                      ""},
        UndefinedCase{"ThroughShared", R"(
          .shared .align 4 .b8 s[128];
          mov.u32 %r3, s;
          mad.lo.u32 %r3, %t, 4, %r3;
          ld.global.u32 %r1, [%at];
          st.shared.u32 [%r3], %r1;
          ld.shared.u32 %r2, [%r3];
          add.s64 %q1, %b, %q31;
          st.global.u32 [%q1], %r2;  // HERE)",
                      "stored"},
        UndefinedCase{"Guard", R"(
          ld.global.u32 %r1, [%at];
          setp.eq.u32 %p1, %r1, 0;
          @%p1 bra LEAVE;  // HERE
        LEAVE:)",
                      "guard"},
        UndefinedCase{"Address", R"(
          ld.global.u32 %r1, [%at];
          mul.wide.u32 %q1, %r1, 4;
          add.s64 %q1, %b, %q1;
          ld.global.u32 %r2, [%q1];  // HERE)",
                      "address"},
        UndefinedCase{"Atomic", R"(
          ld.global.u32 %r1, [%at];
          red.global.add.u32 [%b], %r1;  // HERE)",
                      "operand of an atomic"},
        UndefinedCase{"AtomicOnUnwrittenMemory",
                      "mov.u32 %r1, 1;\n red.global.add.u32 [%a], %r1;  // HERE",
                      "which no one has written"},
        UndefinedCase{"SharedNeverWritten", R"(
          .shared .align 4 .b8 s[128];
          mov.u32 %r3, s;
          ld.shared.u32 %r2, [%r3+8];
          st.global.u32 [%b], %r2;  // HERE)",
                      "stored"},
        UndefinedCase{"RegisterNeverWritten", "st.global.u32 [%b], %r40;  // HERE", "stored"},
        UndefinedCase{"Overwritten", R"(
          mov.u32 %r1, 5;
          st.global.u32 [%at], %r1;
          ld.global.u32 %r1, [%at];
          add.s64 %q1, %b, %q31;
          st.global.u32 [%q1], %r1;)",
                      ""},
        UndefinedCase{"ShuffleFromALaneThatLeft", R"(
          setp.gt.u32 %p1, %t, 15;
          @%p1 exit;
          shfl.sync.idx.b32 %r1, %t, 20, 31, 0xffffffff;
          st.global.u32 [%b], %r1;  // HERE)",
                      "stored"}),
    [](const auto& info) { return std::string(info.param.name); });

TEST(EmulatorUninitialised, NamesExactlyTheLanesAtFault) {
  EmulatorRun run;
  const DevicePointer table = run.unwritten(128, "table");
  const std::vector<std::uint32_t> half(16, 1);
  run.device->write(table, std::as_bytes(std::span(half)));
  run.run(kernel(R"(
    ld.global.u32 %r1, [%at];
    setp.eq.u32 %p1, %r1, 1;
    @%p1 bra LEAVE;
  LEAVE:)"),
          table);
  ASSERT_EQ(run.count("uninitialised"), 1u) << run.seen();
  EXPECT_EQ(run.first("uninitialised").place.lanes, 0xffff0000u);
}

TEST(EmulatorUninitialised, ASharedArrayIsUndefinedAgainForEachBlock) {
  EmulatorRun run;
  run.launch_options.grid = {2, 1, 1};
  run.launch_options.block = {1, 1, 1};
  run.launch_options.schedule = reference::ScheduleKind::kFirstWarpFirst;
  const DevicePointer to = run.words({0, 0}, "to");
  const std::string text = kernel(R"(
    .shared .align 4 .b8 s[4];
    mov.u32 %r3, s;
    setp.eq.u32 %p1, %c, 0;
    @%p1 st.shared.u32 [%r3], %c;
    ld.shared.u32 %r2, [%r3];
    mul.wide.u32 %q1, %c, 4;
    add.s64 %q1, %a, %q1;
    st.global.u32 [%q1], %r2;  // HERE)");
  run.run(text, to);
  ASSERT_EQ(run.count("uninitialised"), 1u) << run.seen();
  EXPECT_EQ(run.first("uninitialised").place.block, 1u);
  EXPECT_EQ(run.first("uninitialised").count, 1u);
}

}  // namespace
}  // namespace draftproof::gpu::test
