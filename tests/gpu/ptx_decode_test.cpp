// Decoding: names, operands, scopes, calls, layout, flow and register slots.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

#include "gpu/emulator/code/decoded_module.h"
#include "reference/error.h"

namespace draftproof::gpu::emulator {
namespace {

DecodedModule decode_kernel(const std::string& before, const std::string& body,
                            const std::string& parameters = ".param .u64 p") {
  return decode(".version 9.0\n.target sm_80\n.address_size 64\n" + before +
                    "\n.visible .entry k(" + parameters +
                    ")\n{\n.reg .pred %p<9>; .reg .b32 %r<99>;"
                    " .reg .b64 %rd<99>; .reg .f32 %f<99>; .reg .f64 %fd<9>; .reg .b16 %rs<9>;\n" +
                    body + "\nret;\n}\n",
                "t.ptx");
}
Program program_of(const std::string& before, const std::string& body) {
  return decode_kernel(before, body).programs.at(0);
}

std::uint64_t constant(const Program& program, const Operand& operand, int lane = 31) {
  EXPECT_EQ(operand.area, 1);
  std::uint64_t value = 0;
  const std::size_t bytes = operand.bytes;
  std::memcpy(&value,
              program.constants.data() + operand.offset + static_cast<std::size_t>(lane) * bytes,
              bytes);
  return value;
}

TEST(Operands, TakeTypesFromTheInstruction) {
  const Program p = program_of("",
                               "fma.rn.f32 %r1, %r2, 0f3F800000, %f3;\n"
                               "mov.b32 %r1, 0f3F800000;\nmov.f64 %fd1, 0d3FF0000000000000;\n"
                               "add.s32 %r1, %r2, -1;\nadd.s64 %rd1, %rd2, -8;\n"
                               "mul.f64 %fd1, %fd2, 1.5;");
  EXPECT_EQ(constant(p, p.instructions[0].sources[1]), 0x3f800000u);
  EXPECT_EQ(constant(p, p.instructions[1].sources[0]), 0x3f800000u);
  EXPECT_EQ(constant(p, p.instructions[2].sources[0]), 0x3ff0000000000000u);
  EXPECT_EQ(constant(p, p.instructions[3].sources[1]), 0xffffffffu);
  EXPECT_EQ(constant(p, p.instructions[4].sources[1]), static_cast<std::uint64_t>(-8));
  EXPECT_EQ(constant(p, p.instructions[5].sources[1]), 0x3ff8000000000000u);
}

TEST(Operands, OfPredicatesAreTrueUnlessZero) {
  const Program p = program_of("", "mov.pred %p1, -1;\nmov.pred %p2, 0;\nmov.pred %p3, 2;");
  const auto lanes = [&](std::size_t index) {
    const Operand& operand = p.instructions[index].sources[0];
    EXPECT_EQ(operand.bytes, 0);
    LaneMask word = 1;
    std::memcpy(&word, p.constants.data() + operand.offset, sizeof(word));
    return word;
  };
  EXPECT_EQ(lanes(0), 0xffffffffu);
  EXPECT_EQ(lanes(1), 0u);
  EXPECT_EQ(lanes(2), 0xffffffffu);
}

TEST(Operands, OfMemoryMayBeWiderThanTheElement) {
  const Program p = program_of("",
                               "ld.global.s32 %rd2, [%rd1+-8];\nst.global.u32 [%rd1], %rd2;\n"
                               "ld.global.b32 { %r1 }, [ %rd1 + 0 ];\n"
                               ".pragma \"used_bytes_mask 4095\";\n"
                               "ld.global.v4.b32 {%r1, _, %r3, %r4}, [%rd1];\n"
                               "ld.global.nc.v2.f32 {%f1,%f2}, [%rd1];\nst.global.f32 [%rd1], 0;");
  EXPECT_EQ(p.instructions[0].kind, Kind::kLoad);
  EXPECT_EQ(p.instructions[0].immediate, -8);
  EXPECT_EQ(p.instructions[0].destinations[0].bytes, 8);
  EXPECT_EQ(p.instructions[0].access.type, ElementType::kSigned);
  EXPECT_EQ(p.instructions[1].kind, Kind::kStore);
  EXPECT_EQ(p.instructions[1].sources[0].bytes, 8);
  EXPECT_EQ(p.instructions[3].access.used_bytes_mask, 4095u);
  EXPECT_FALSE(p.instructions[3].destinations[1].present);
  EXPECT_EQ(p.instructions[4].access.used_bytes_mask, 0xffffffffu);
  EXPECT_TRUE(p.instructions[4].access.noncoherent);
}

TEST(Operands, PackUnpackAndRelaxedConversions) {
  const Program p = program_of("",
                               "mov.b64 %rd1, {%r1, %r2};\nmov.b64 {%r3, _}, %rd1;\n"
                               "mov.b32 %r1, {%rs1, %rs2};\nmov.b64 %rd2, {%rs1,%rs2,%rs3,%rs4};\n"
                               "cvt.s16.s32 %rd3, %r1;\ncvt.u32.u16 %r1, %rd3;");
  // 1 + 1 + 1 + 3 steps, two conversions of two steps, the closing ret and the end.
  EXPECT_EQ(p.instructions.size(), 12u);
}

TEST(Scopes, ShadowNamesAndLabels) {
  const Program p = program_of("",
                               "mov.u32 %r1, 7;\n{ .reg .b32 %r1; mov.u32 %r1, 8; }\n"
                               "{ .reg .b32 r0; L: mov.u32 r0, 1; bra L; }\n"
                               "{ .reg .f32 r0; L: mov.f32 r0, 0f00000000; bra L; }\n"
                               "st.global.u32 [%rd1], %r1;");
  const Instruction* store = nullptr;
  for (const Instruction& i : p.instructions) store = i.kind == Kind::kStore ? &i : store;
  ASSERT_NE(store, nullptr);
  EXPECT_EQ(store->sources[0].offset, p.instructions[0].destinations[0].offset);
  EXPECT_NE(p.instructions[1].destinations[0].offset, p.instructions[0].destinations[0].offset);
  EXPECT_EQ(p.instructions[3].target, 2u);
  EXPECT_EQ(p.instructions[5].target, 4u);
}

TEST(Layout, PlacesSharedLocalParametersAndGlobals) {
  DecodedModule m = decode_kernel(
      ".shared .align 4 .b8 unused[400];\n.shared .align 4 .b8 a[6];\n.shared .align 16 .b8 "
      "b[32];\n"
      ".extern .shared .align 8 .b8 dynamic[];\n.global .u32 g[4];\n.const .u64 c[2] = {g+4, 5};",
      ".local .align 8 .b8 depot[24];\nmov.u32 %r1, a;\nmov.u32 %r2, b;\nmov.u32 %r3, dynamic;\n"
      "ld.shared.u32 %r4, [b+4];\nmov.u64 %rd1, g;\nld.global.u32 %r5, [g+8];\n"
      "mov.u64 %rd2, depot;\ncvta.local.u64 %rd3, %rd2;\nld.param.u32 %r6, [q+8];\n"
      "mov.b64 %rd4, q;\nld.u32 %r7, [b];\nld.const.u64 %rd5, [c];",
      ".param .u32 p, .param .align 8 .b8 q[16]");
  ASSERT_EQ(m.variables.size(), 2u);
  m.variables[0].address = 0x1000;
  m.variables[1].address = 0x2000;
  apply_relocations(m);
  const Program& p = m.programs[0];
  const auto& i = p.instructions;
  EXPECT_EQ(constant(p, i[0].sources[0]), 0u);
  EXPECT_EQ(constant(p, i[1].sources[0]), 16u);
  EXPECT_EQ(constant(p, i[2].sources[0]), 48u);
  EXPECT_EQ(i[3].immediate, 20);
  EXPECT_EQ(constant(p, i[4].sources[0]), 0x1000u);
  EXPECT_EQ(i[5].immediate, 0x1008);
  EXPECT_EQ(constant(p, i[6].sources[0]), 0u);
  EXPECT_EQ(i[8].immediate, 16);
  EXPECT_EQ(i[8].access.space, Space::kParam);
  EXPECT_EQ(constant(p, i[9].sources[0]), 8u);
  EXPECT_EQ(static_cast<std::uint64_t>(i[10].immediate), kSharedWindow + 16);
  EXPECT_EQ(i[11].immediate, 0x2000);
  EXPECT_EQ(p.static_shared_bytes, 48u);
  EXPECT_EQ(p.local_bytes, 24u);
  EXPECT_TRUE(p.info.uses_dynamic_shared);
  EXPECT_EQ(p.info.parameters[1].offset, 8u);
  std::uint64_t held = 0;
  std::memcpy(&held, m.variables[1].initial.data(), 8);
  EXPECT_EQ(held, 0x1004u);
}

constexpr const char* kCallee = R"(
.func (.param .b32 r) twice(.param .b32 x)
{
  .reg .b32 %r<9>; .reg .pred %p<3>;
  ld.param.b32 %r1, [x];
  setp.eq.s32 %p1, %r1, 0;
  @%p1 ret;
  add.s32 %r2, %r1, %r1;
  st.param.b32 [r+0], %r2;
  ret;
}
.extern .func (.param .b32 r) vprintf(.param .b64 a, .param .b64 b);
.func loop(.param .b32 x) { .param .b32 a; call.uni loop, (a); ret; }
)";

TEST(Calls, BecomeLocalMemoryAndBranches) {
  const Program p =
      program_of(kCallee,
                 "mov.u32 %r1, 5;\n{ .param .b32 a; st.param.b32 [a], %r1; .param .b32 b;\n"
                 "call.uni (b),\n twice,\n (\n a\n );\n ld.param.b32 %r2, [b]; }");
  const auto& i = p.instructions;
  EXPECT_EQ(i[1].kind, Kind::kStore);
  EXPECT_EQ(i[1].access.space, Space::kLocal);
  EXPECT_EQ(i[2].kind, Kind::kLoad);
  EXPECT_EQ(i[2].immediate, i[1].immediate);
  EXPECT_EQ(i[4].kind, Kind::kBranch);  // @%p1 ret
  EXPECT_EQ(i[4].target, 8u);
  EXPECT_EQ(i[8].kind, Kind::kLoad);
  EXPECT_EQ(i[8].immediate, i[6].immediate);
  EXPECT_EQ(p.local_bytes, 8u);
}

TEST(Calls, OfUnknownKindsAreErrors) {
  const auto fails = [](const std::string& body) {
    try {
      program_of(kCallee, body);
    } catch (const Error&) {
      return true;
    }
    return false;
  };
  EXPECT_TRUE(fails("{ .param .b32 a; call.uni loop, (a); }"));
  EXPECT_TRUE(fails("{ .param .b32 a; .param .b64 b; call (a), twice, (b); }"));
  EXPECT_TRUE(fails("mov.u64 %rd1, twice;"));
  EXPECT_TRUE(
      fails("{ .param .b32 a; proto : .callprototype _ (.param .b32 _);\n"
            "call %rd1, (a), proto; }"));
  EXPECT_FALSE(
      fails("{ .param .b64 a; st.param.b64 [a], %rd1; .param .b64 b; .param .b32 c;\n"
            "st.param.b64 [b], %rd1; call.uni (c), vprintf, (a, b); }"));
}

TEST(Flow, BranchesMeetAtTheirPostDominator) {
  const Program p = program_of("",
                               "@%p1 bra ELSE;\nmov.u32 %r1, 1;\nbra.uni END;\n"
                               "ELSE: mov.u32 %r1, 2;\nEND: mov.u32 %r2, %r1;\n"
                               "LOOP: add.s32 %r2, %r2, 1;\n@%p2 bra LOOP;\n@%p3 exit;\n"
                               "mov.u32 %r3, %r2;\n@%p4 bra OUT;\nret;\nOUT: ret;");
  EXPECT_EQ(p.instructions[0].reconvergence, 4u);
  EXPECT_TRUE(p.instructions[2].is_uniform);
  EXPECT_EQ(p.instructions[6].reconvergence, 7u);
  EXPECT_EQ(p.instructions[9].kind, Kind::kBranch);
  EXPECT_EQ(p.instructions[9].reconvergence, p.instructions.size());
}

TEST(Flow, IndexedBranchesKnowTheirTargets) {
  const Program p = program_of("",
                               "T: .branchtargets A, B;\nbrx.idx %r1, T;\nA: mov.u32 %r2, 1;\n"
                               "B: mov.u32 %r3, 2;");
  EXPECT_EQ(p.instructions[0].branch_targets, (std::vector<std::uint32_t>{1, 2}));
  EXPECT_EQ(p.instructions[0].reconvergence, 2u);
}

TEST(Slots, AreSharedByRegistersThatNeverLiveTogether) {
  std::string body;
  for (int i = 1; i < 90; ++i) {
    body += "ld.global.u32 %r" + std::to_string(i) + ", [%rd1];\nst.global.u32 [%rd1], %r" +
            std::to_string(i) + ";\n";
  }
  EXPECT_LE(program_of("", body).register_bytes, 512u);
}

TEST(Slots, KeepValuesAcrossLoopsAndMaybeUndefinedOnesApart) {
  const Program p = program_of("",
                               "mov.u32 %r1, 1;\nmov.u32 %r2, 2;\nmov.u32 %r3, 3;\n"
                               "L: add.s32 %r4, %r2, %r3;\nadd.s32 %r5, %r4, %r1;\n"
                               "st.global.u32 [%rd1], %r5;\n@%p1 bra L;\n"
                               "@%p2 ld.global.u32 %r7, [%rd1];\nst.global.u32 [%rd1], %r7;");
  const auto slot = [](const Operand& o) { return o.validity; };
  const auto& i = p.instructions;
  std::vector<std::uint32_t> live = {slot(i[0].destinations[0]), slot(i[1].destinations[0]),
                                     slot(i[2].destinations[0]), slot(i[4].destinations[0]),
                                     slot(i[7].destinations[0])};
  std::sort(live.begin(), live.end());
  EXPECT_EQ(std::unique(live.begin(), live.end()), live.end());
}

TEST(Slots, SpecialRegistersKeepTheirPlace) {
  const Program p = program_of("",
                               "mov.u32 %r1, %tid.x;\nmov.u32 %r2, %laneid;\nmov.u32 %r3, %tid.x;\n"
                               "mov.u64 %rd1, %clock64;\nmov.u32 %r4, %envreg2;");
  ASSERT_EQ(p.specials.size(), 3u);
  EXPECT_EQ(p.instructions[0].sources[0].offset, p.instructions[2].sources[0].offset);
  EXPECT_EQ(p.instructions[3].kind, Kind::kClock);
  EXPECT_EQ(p.specials[2].index, 2);
  for (const Instruction& i : p.instructions) {
    for (const SpecialOperand& s : p.specials) {
      if (i.destinations[0].present) {
        EXPECT_NE(i.destinations[0].validity, s.operand.validity);
      }
    }
  }
}

TEST(Modules, DecodeOnlyTheEntriesAskedFor) {
  const std::string text =
      ".version 99.1\n.target sm_90a\n.entry a() { nosuch.u32; }\n.entry b() { ret; }\n";
  const DecodedModule m = decode(text, "t", [](std::string_view name) { return name == "b"; });
  ASSERT_EQ(m.programs.size(), 1u);
  EXPECT_EQ(m.programs[0].info.name, "b");
  EXPECT_EQ(m.entries.size(), 2u);
  EXPECT_EQ(m.warnings.size(), 1u);
  EXPECT_THROW(decode(text, "t"), Error);
}

TEST(Modules, ThatNeedClustersOfSeveralBlocksAreRejected) {
  const auto text = [](const std::string& cluster) {
    return ".version 9.0\n.target sm_90\n.entry a() .reqnctapercluster " + cluster +
           " { ret; }\n.entry b() { ret; }\n";
  };
  EXPECT_EQ(decode(text("1, 1, 1"), "t").programs.size(), 2u);
  for (const char* cluster : {"2", "1, 2, 1"}) {
    EXPECT_THROW(decode(text(cluster), "t"), Error) << cluster;
    const auto only_b = [](std::string_view name) { return name == "b"; };
    EXPECT_EQ(decode(text(cluster), "t", only_b).programs.size(), 1u);
  }
}

TEST(Modules, KeepSourceLines) {
  const Program p = program_of(".file 1 \"a.cu\"",
                               ".loc 1 42 3\nmov.u32 %r1, 1;\n"
                               ".loc\t1 43 0, function_name $L__info_string0, inlined_at 1 16 3\n"
                               "mov.u32 %r2, 1;");
  EXPECT_EQ(p.instructions[0].source_line, 42);
  EXPECT_EQ(p.instructions[1].source_line, 43);
  EXPECT_EQ(p.instructions[1].source_file, 1);
  EXPECT_EQ(p.instructions[0].ptx_line, 9);
}

}  // namespace
}  // namespace draftproof::gpu::emulator
