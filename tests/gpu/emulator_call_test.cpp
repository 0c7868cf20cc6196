// printf, assert and trap.
#include <gtest/gtest.h>

#include "tests/gpu/emulator_run.h"

namespace draftproof::gpu::test {
namespace {

// "%d and %5.2f %s%c %llx\n", "word"
constexpr const char* kPrintDeclarations = R"(
.extern .func (.param .b32 result) vprintf (.param .b64 format, .param .b64 arguments);
.global .align 1 .b8 pattern[24] = {37, 100, 32, 97, 110, 100, 32, 37, 53, 46, 50, 102, 32, 37, 115,
  37, 99, 32, 37, 108, 108, 120, 10, 0};
.global .align 1 .b8 word[5] = {119, 111, 114, 100, 0};
)";

TEST(EmulatorPrint, FormatsLikePrintf) {
  EmulatorRun run;
  run.launch_options.block = {2, 1, 1};
  run.run(kernel(R"(
    .local .align 8 .b8 buffer[40];
    mov.u64 %q1, buffer;
    sub.s32 %r1, %t, 3;
    st.local.u32 [%q1], %r1;
    mov.f64 %w1, 0d4004000000000000;
    st.local.f64 [%q1+8], %w1;
    mov.u64 %q2, word;
    cvta.global.u64 %q2, %q2;
    st.local.u64 [%q1+16], %q2;
    mov.u32 %r2, 33;
    st.local.u32 [%q1+24], %r2;
    mov.u64 %q3, 0x123456789abc;
    st.local.u64 [%q1+32], %q3;
    cvta.local.u64 %q4, %q1;
    mov.u64 %q5, pattern;
    cvta.global.u64 %q5, %q5;
    {
    .param .b64 param0;
    st.param.b64 [param0], %q5;
    .param .b64 param1;
    st.param.b64 [param1], %q4;
    .param .b32 retval0;
    call.uni (retval0), vprintf, (param0, param1);
    ld.param.b32 %r3, [retval0];
    })",
                 kPrintDeclarations));
  EXPECT_EQ(run.seen(), "");
  EXPECT_EQ(run.report.printed,
            "-3 and  2.50 word! 123456789abc\n-2 and  2.50 word! 123456789abc\n");
}

/// What printf gives for `format` when its arguments are the 32-bit words 7, 70000, 3 and 4, then
/// what it returned.
std::string printed(const std::string& format, std::uint32_t& returned) {
  std::string bytes;
  for (const char letter : format) bytes += std::to_string(static_cast<int>(letter)) + ", ";
  EmulatorRun run;
  run.launch_options.block = {1, 1, 1};
  const DevicePointer to = run.unwritten(4, "to");
  run.run(kernel(R"(
    .local .align 8 .b8 buffer[16];
    mov.u64 %q1, buffer;
    st.local.v4.u32 [%q1], {7, 70000, 3, 4};
    cvta.local.u64 %q4, %q1;
    mov.u64 %q5, pattern;
    cvta.global.u64 %q5, %q5;
    {
    .param .b64 param0;
    st.param.b64 [param0], %q5;
    .param .b64 param1;
    st.param.b64 [param1], %q4;
    .param .b32 retval0;
    call.uni (retval0), vprintf, (param0, param1);
    ld.param.b32 %r3, [retval0];
    }
    st.global.u32 [%a], %r3;)",
                 ".extern .func (.param .b32 result) vprintf (.param .b64 format, .param .b64 "
                 "arguments);\n.global .align 1 .b8 pattern[" +
                     std::to_string(format.size() + 1) + "] = {" + bytes + "0};\n"),
          to);
  EXPECT_EQ(run.seen(), "");
  returned = run.read(to, 1)[0];
  return run.report.printed;
}

TEST(EmulatorPrint, TakesNothingFromAFormatThatPrintfWouldNot) {
  std::uint32_t returned = 99;
  EXPECT_EQ(printed("%n%q", returned), "%n%q");
  EXPECT_EQ(returned, 0u);
  EXPECT_EQ(printed("%0*d|%hd", returned), "0070000|3");
  EXPECT_EQ(printed("%d %hd", returned), "7 4464");
  EXPECT_EQ(returned, 2u);
  EXPECT_EQ(printed("%-5.3d|", returned), "007  |");
  EXPECT_EQ(printed("half %", returned), "half %");
  EXPECT_EQ(printed("%1999999999d", returned).size(), 4096u);
  EXPECT_EQ(printed("%.1999999999d", returned).size(), 4096u);
}

TEST(EmulatorPrint, StopsAtTheSizeOfTheDriversBuffer) {
  EmulatorRun run;
  run.launch_options.block = {1024, 1, 1};
  run.run(kernel(R"(
    .local .align 8 .b8 buffer[8];
    mov.u64 %q1, buffer;
    st.local.u32 [%q1], %t;
    cvta.local.u64 %q4, %q1;
    mov.u64 %q5, pattern;
    cvta.global.u64 %q5, %q5;
    {
    .param .b64 param0;
    st.param.b64 [param0], %q5;
    .param .b64 param1;
    st.param.b64 [param1], %q4;
    .param .b32 retval0;
    call.uni (retval0), vprintf, (param0, param1);
    ld.param.b32 %r3, [retval0];
    })",
                 R"(.extern .func (.param .b32 result) vprintf (.param .b64 f, .param .b64 a);
.global .align 1 .b8 pattern[7] = {37, 50, 48, 48, 48, 100, 0};
)"));
  EXPECT_EQ(run.report.printed.size(), std::size_t{1} << 20);
}

TEST(EmulatorAssert, EndsTheLaunchWithItsText) {
  EmulatorRun run;
  const DevicePointer to = run.words({0}, "to");
  const std::string declarations = R"(
.extern .func __assertfail (.param .b64 a, .param .b64 b, .param .b32 c, .param .b64 d,
  .param .b64 e) .noreturn;
.global .align 1 .b8 text[6] = {120, 32, 62, 32, 48, 0};
.global .align 1 .b8 file[5] = {97, 46, 99, 117, 0};
)";
  const auto body = [](const char* guard) {
    return std::string("setp.eq.u32 %p1, %t, ") + guard + R"(;
    @!%p1 bra DONE;
    mov.u64 %q1, text;
    cvta.global.u64 %q1, %q1;
    mov.u64 %q2, file;
    cvta.global.u64 %q2, %q2;
    {
    .param .b64 param0;
    st.param.b64 [param0], %q1;
    .param .b64 param1;
    st.param.b64 [param1], %q2;
    .param .b32 param2;
    st.param.b32 [param2], 12;
    .param .b64 param3;
    st.param.b64 [param3], %q2;
    .param .b64 param4;
    st.param.b64 [param4], 1;
    call.uni __assertfail, (param0, param1, param2, param3, param4);
    }
  DONE:
    st.global.u32 [%a], %n;)";
  };
  run.run(kernel(body("5"), declarations), to);
  ASSERT_EQ(run.count("assert"), 1u) << run.seen();
  EXPECT_EQ(run.first("assert").place.lanes, 1u << 5);
  EXPECT_EQ(run.first("assert").message, "assertion `x > 0` failed at a.cu:12");
  run.run(kernel(body("50"), declarations), to);
  EXPECT_EQ(run.count("assert"), 0u) << run.seen();
  EXPECT_EQ(run.read(to, 1)[0], 32u);
}

TEST(EmulatorTrap, EndsTheLaunch) {
  EmulatorRun run;
  const DevicePointer to = run.words({0}, "to");
  const std::string text = kernel(
      "setp.eq.u32 %p1, %t, 9;\n @%p1 trap;  // HERE\n bar.sync 0;\n st.global.u32 [%a], %n;");
  run.run(text, to);
  ASSERT_EQ(run.count("trap"), 1u) << run.seen();
  EXPECT_EQ(run.first("trap").place.ptx_line, line_of(text, "HERE"));
  EXPECT_EQ(run.first("trap").place.lanes, 1u << 9);
  EXPECT_EQ(run.read(to, 1)[0], 0u);
  run.run(kernel("setp.eq.u32 %p1, %t, 99;\n @%p1 trap;\n st.global.u32 [%a], %n;"), to);
  EXPECT_EQ(run.count("trap"), 0u) << run.seen();
}

}  // namespace
}  // namespace draftproof::gpu::test
