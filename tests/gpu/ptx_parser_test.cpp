// The text layer: what compilers write, and hostile text, which is an Error at its line.
#include <gtest/gtest.h>

#include "gpu/emulator/code/decoded_module.h"
#include "gpu/emulator/text/lexer.h"
#include "gpu/emulator/text/parsed_module.h"
#include "reference/error.h"

namespace draftproof::gpu::emulator {
namespace {

constexpr const char* kHead = ".version 8.0\n.target sm_80\n.address_size 64\n";

TEST(Lexer, ReadsNumbersOfEveryKind) {
  Lexer lexer("0x3340U 0b101 017 42 0f3F800000 0d3FF0000000000000 1.5 2e3 18446744073709551615",
              "t");
  EXPECT_EQ(lexer.next().bits, 0x3340u);
  EXPECT_EQ(lexer.next().bits, 5u);
  EXPECT_EQ(lexer.next().bits, 15u);
  EXPECT_EQ(lexer.next().bits, 42u);
  EXPECT_EQ(lexer.peek().kind, TokenKind::kFloat32);
  EXPECT_EQ(lexer.next().bits, 0x3f800000u);
  EXPECT_EQ(lexer.peek().kind, TokenKind::kFloat64);
  EXPECT_EQ(lexer.next().bits, 0x3ff0000000000000u);
  EXPECT_EQ(lexer.next().bits, 0x3ff8000000000000u);
  EXPECT_EQ(lexer.next().bits, 0x409f400000000000u);
  EXPECT_EQ(lexer.next().bits, ~std::uint64_t{0});
  EXPECT_EQ(lexer.peek().kind, TokenKind::kEnd);
}

TEST(Lexer, KeepsOpcodesWholeAndCountsLines) {
  Lexer lexer("// c\nld.shared::cluster.v2.f32 /* a\nb */ .reg.b32\n%tid.x", "t");
  Token token = lexer.next();
  EXPECT_EQ(token.text, "ld.shared::cluster.v2.f32");
  EXPECT_EQ(token.line, 2);
  token = lexer.next();
  EXPECT_EQ(token.text, ".reg");
  EXPECT_EQ(token.line, 3);
  EXPECT_EQ(lexer.next().text, ".b32");
  EXPECT_EQ(lexer.next().text, "%tid.x");
}

TEST(Parser, ReadsHeadersTablesAndDebugSections) {
  const std::string text = std::string(kHead) + R"(
.file 1 "a.cu"
.extern .func (.param .b32 r) vprintf (.param .b64 a, .param .b64 b);
.visible .global .align 8 .u64 table[3] = {1, 0x2U, generic(other)+8};
.global .f32 other[2] = {0f3F800000, 2.5};
.const .align 4 .b8 bytes[4] = {1, 255};
.weak .entry k(.param .u64 .ptr .global .align 16 p, .param .align 8 .b8 s[24])
.reqntid 128, 2
.minnctapersm 2
{
  ret;
}
.section .debug_str { .b8 0 // }
.b8 "}" }
)";
  const ParsedModule module = parse_module(text, "t");
  ASSERT_EQ(module.variables.size(), 3u);
  EXPECT_EQ(module.variables[0].initial.size(), 24u);
  ASSERT_EQ(module.variables[0].addresses.size(), 1u);
  EXPECT_EQ(module.variables[0].addresses[0].addend, 8);
  EXPECT_EQ(module.variables[2].initial.size(), 2u);
  ASSERT_EQ(module.functions.size(), 2u);
  const ParsedFunction& entry = module.functions[1];
  EXPECT_TRUE(entry.parameters[0].is_pointer);
  EXPECT_EQ(entry.parameters[0].effective_alignment(), 8u);
  EXPECT_EQ(entry.parameters[1].bytes(), 24u);
  EXPECT_EQ(entry.required_block, (std::vector<std::uint32_t>{128, 2}));
  EXPECT_EQ(module.source_files[1], "a.cu");
}

/// The place "t:LINE" of the error, or "" when there is none.
std::string error_place(const std::string& text) {
  try {
    decode(text, "t");
  } catch (const Error& error) {
    return error.place();
  }
  return "";
}

std::string kernel(const std::string& body) {
  return std::string(kHead) +
         ".visible .entry k(.param .u64 p)\n{\n.reg .b32 %r<5>;\n"
         ".reg .b64 %rd<5>; .reg .pred %p<3>; .reg .f32 %f<3>; .reg .b16 %h<3>;\n" +
         body + "\n}\n";
}

TEST(HostileText, IsAnErrorAtItsLine) {
  EXPECT_EQ(error_place(kernel("ret;")), "");
  const std::pair<const char*, const char*> bodies[] = {
      {"frobnicate.s32 %r1, %r2;", "t:8"},
      {"add.s32.x %r1, %r2, %r3;", "t:8"},
      {"add.s32 %r1, %r2;", "t:8"},
      {"add.s32 %r1, %r2, %r3, %r4;", "t:8"},
      {"add.s32 %r1, %r2, %r9;", "t:8"},
      {"\nadd.s32 %r1, %r2, nothing;", "t:9"},
      {"add.s32 %r1, %rd2, %r3;", "t:8"},
      {"add.s32 %h1, %h2, %h2;", "t:8"},
      {"add.s32 %p1, %r2, %r3;", "t:8"},
      {"add.s32 5, %r2, %r3;", "t:8"},
      {"add.s32 [%rd1], %r2, %r3;", "t:8"},
      {"add.s32 %r1, {%r2}, %r3;", "t:8"},
      {"add.s32 %r1, %r2, 99999999999999999999999;", "t:8"},
      {"add.s32 %r1, %r2, 0x;", "t:8"},
      {"add.f32 %f1, %f2, 1;", "t:8"},
      {"mov.b32 %r1, 0f3F8;", "t:8"},
      {"bra nowhere;", "t:8"},
      {"L: L: ret;", "t:8"},
      {"@%r1 ret;", "t:8"},
      {"@ ret;", "t:8"},
      {"ld.global.u32 %r1, %rd1;", "t:8"},
      {"ld.global.u32 %h1, [%rd1];", "t:8"},
      {"ld.global.v2.u32 {%r1}, [%rd1];", "t:8"},
      {"ld.global.u32 %r1, [missing];", "t:8"},
      {"ld.shared.u32 %r1, [p];", "t:8"},
      {"st.param.u32 [p], %r1;", "t:8"},
      {"mov.b64 {%r1,%r2,%r3}, %rd1;", "t:8"},
      {"mov.b32 %r1, {%r2,%r3};", "t:8"},
      {"shfl.sync.idx.b32 %r1|%r2, %r1, %r2, %r3, -1;", "t:8"},
      {"call missing_function;", "t:8"},
      {"call (%r1), k, ();", "t:8"},
      {"brx.idx %r1, table;", "t:8"},
      {"{ ret;", "t:9"},
      {"} ret;", "t:8"},
      {".nonsense 4;", "t:8"},
      {".reg .b32 %r<5>;", "t:8"},
      {".reg .b33 x;", "t:8"},
      {".reg .b32 x<-1>;", "t:8"},
      {".local .b8 big[1000000];", "t:8"},
      {"ret", "t:9"},
      {"mov.u32 %r1, %nosuch;", "t:8"},
      {"selp.b32 %r1, %r2, %r3, %r1;", "t:8"},
      {"\x01;", "t:8"},
      {"cp.async.cg.shared.global [%r1], [%rd1], 8;", "t:8"},
      {"/* open", "t:6"},
      {"{{{{{ add.s32 %r1, {{{{{{%r2}}}}}}, %r3; }}}}}", "t:8"}};
  for (const auto& [body, place] : bodies) {
    // Braces count before the body is read, so those errors stand at the opening brace.
    const std::string found = error_place(kernel(body));
    EXPECT_NE(found, "") << body;
    const bool is_brace =
        std::string(body).find_first_of("{}") == 0 || std::string(body).find("/*") == 0;
    if (!is_brace) {
      EXPECT_EQ(found, place) << body;
    }
  }
}

TEST(HostileText, OfModulesIsAnErrorToo) {
  const char* texts[] = {"",
                         "hello",
                         ".version 8.0",
                         ".version 8.0\n.target sm_80\n.address_size 32",
                         ".version 8.0\n.target sm_80\n.entry",
                         ".version 8.0\n.target sm_80\n.entry k(",
                         ".version 8.0\n.target sm_80\n.entry k(.param .u64 a) {",
                         ".version 8.0\n.target sm_80\n.entry k() { ret; } }",
                         ".version 8.0\n.target sm_80\n.global .u32 a = {1,2};",
                         ".version 8.0\n.target sm_80\n.global .u32 a[99999999999999];",
                         ".version 8.0\n.target sm_80\n.global .u32 a; .global .u32 a;",
                         ".version 8.0\n.target sm_80\n.global .u64 a = b;",
                         ".version 8.0\n.target sm_80\n.global .align 3 .u32 a;",
                         ".version 8.0\n.target sm_80\n.global .u32 a = {1,{2;",
                         ".version 8.0\n.target sm_80\n.file 1 a",
                         ".version 8.0\n.target sm_80\n.section .debug {"};
  for (const char* text : texts) EXPECT_NE(error_place(text), "") << text;
}

// Any 64 bits may stand for an offset: addresses wrap around, without overflow of ours (the
// sanitised build is where this test can fail).
TEST(HostileText, OffsetsMayBeAnyNumber) {
  for (const char* offset : {"9223372036854775807", "-9223372036854775808", "-1",
                             "18446744073709551615", "0x8000000000000000"}) {
    const std::string at = std::string("+") + offset;
    const std::string text = std::string(kHead) + ".global .u64 g[2];\n.global .u64 h = g+" +
                             offset + ";\n.global .u64 i = g-" + offset +
                             ";\n.shared .b32 s[4];\n.visible .entry k(.param .u64 a, .param .u64 "
                             "p)\n{\n.reg .b32 %r<3>;\n"
                             ".reg .b64 %rd<3>;\n.local .b8 l[16];\n.local .b8 m[16];\n" +
                             "ld.param.u64 %rd1, [p" + at + "];\nld.u32 %r1, [s" + at +
                             "];\nld.local.u32 %r1, [m" + at + "];\nmov.u64 %rd1, m" + at +
                             ";\nmov.u32 %r1, s" + at + ";\nld.global.u64 %rd2, [h" + at +
                             "];\nld.global.u32 %r2, [%rd1" + at + "];\nret;\n}\n";
    EXPECT_EQ(error_place(text), "") << offset;
  }
}

TEST(HostileText, CallsThatDoubleAtEveryStepAreAnError) {
  // 2^40 expansions of a function without an instruction, and, as a sibling, 2^4.
  const auto doubling = [](int steps) {
    std::string text = std::string(kHead) + ".func f0() { }\n";
    for (int i = 1; i <= steps; ++i) {
      const std::string call = "call f" + std::to_string(i - 1) + "; ";
      text += ".func f" + std::to_string(i) + "() { " + call + call + "}\n";
    }
    return text + ".visible .entry k() { call f" + std::to_string(steps) + "; ret; }\n";
  };
  EXPECT_NE(error_place(doubling(40)), "");
  EXPECT_EQ(error_place(doubling(4)), "");
}

TEST(HostileText, ADeepChainOfCallsIsAnErrorNotAnOverflowOfTheStack) {
  const auto chain = [](int depth) {
    std::string text = std::string(kHead) + ".func f0() { ret; }\n";
    for (int i = 1; i <= depth; ++i) {
      const std::string callee = "f" + std::to_string(i - 1);
      text += ".func f" + std::to_string(i) + "() { call " + callee + "; ret; }\n";
    }
    return text + ".visible .entry k() { call f" + std::to_string(depth) + "; ret; }\n";
  };
  EXPECT_NE(error_place(chain(60000)), "");
  EXPECT_EQ(error_place(chain(200)), "");
}

TEST(HostileText, AnInitialValueStaysAsLongAsItIsWritten) {
  const std::string head = std::string(kHead) + ".global .u64 g = 1;\n";
  const std::string entry = ".visible .entry k() { ret; }\n";
  // A terabyte of which one byte is given: decoding must not fill in the rest.
  EXPECT_EQ(error_place(head + ".global .b8 big[1099511627776] = {1};\n" + entry), "");
  EXPECT_EQ(error_place(head + ".shared .u64 s = g;\n" + entry), "t:5");
  EXPECT_EQ(error_place(head + ".shared .u32 s = 7;\n" + entry), "t:5");
  EXPECT_EQ(error_place(head + ".const .u64 s = g;\n" + entry), "");
}

TEST(HostileText, MoreBlocksTimesRegistersThanMemoryIsAnError) {
  std::string body = ".reg .b32 %x<200000>;\n";
  for (int i = 0; i < 100000; ++i) {
    const std::string number = std::to_string(i);
    body += "@%p1 bra L" + number + "; mov.u32 %x" + number + ", 1; L" + number + ":\n";
  }
  EXPECT_NE(error_place(kernel(body + "ret;")), "");
}

TEST(HostileText, CutAnywhereNeverCrashes) {
  const std::string text = kernel(
      "mov.u32 %r1, %tid.x;\n@%p1 bra L;\nld.global.v2.u32 {%r1, %r2}, [%rd1+-8];\n"
      ".loc 1 2 3, function_name $L__info0, inlined_at 1 16 3\n"
      "L: { .reg .f32 r0; .reg .pred p; shfl.sync.down.b32 %r3|p, %r1, %r2, 31, -1; }\n"
      "mov.b64 {%r1, _}, %rd1; ret;");
  EXPECT_EQ(error_place(text), "");
  int errors = 0;
  for (std::size_t size = 0; size < text.size(); ++size) {
    errors += error_place(text.substr(0, size)) != "";
  }
  // Cuts inside the head leave a module without entries, which is one.
  EXPECT_GT(errors, static_cast<int>(text.size()) - 20);
}

TEST(MissingForms, AreAllNamedWithLineAndCount) {
  const std::string text =
      kernel("foo.b32 %r1;\nadd.s32 %r1, %r1, %r2;\nbar.baz.u64 %r2;\nfoo.b32 %r2;");
  const std::vector<MissingForm> missing = missing_forms(text, "t");
  ASSERT_EQ(missing.size(), 2u);
  EXPECT_EQ(missing[0].form, "foo.b32");
  EXPECT_EQ(missing[0].line, 8);
  EXPECT_EQ(missing[0].count, 2);
  EXPECT_EQ(missing[1].form, "bar.baz.u64");
  try {
    decode(text, "t");
    FAIL();
  } catch (const Error& error) {
    EXPECT_NE(error.message().find("`foo.b32`, `bar.baz.u64`"), std::string::npos);
  }
  EXPECT_TRUE(missing_forms(kernel("ret;"), "t").empty());
}

}  // namespace
}  // namespace draftproof::gpu::emulator
