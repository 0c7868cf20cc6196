// atom and red: every operation and type the emulator has, against values worked out by hand.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>

#include "gpu/emulator/machine/half.h"
#include "reference/error.h"
#include "tests/gpu/emulator_run.h"

namespace draftproof::gpu::test {
namespace {

std::uint32_t bits(float value) { return std::bit_cast<std::uint32_t>(value); }

struct AtomicCase {
  const char* name;
  const char* operation;  ///< behind atom.global.
  std::uint64_t memory;
  std::uint64_t value;
  std::uint64_t after;
  int bytes;
};

class EmulatorAtomic : public testing::TestWithParam<AtomicCase> {};

TEST_P(EmulatorAtomic, UpdatesMemoryAndReturnsTheOldValue) {
  const AtomicCase& given = GetParam();
  EmulatorRun run;
  run.launch_options.block = {1, 1, 1};
  const bool is_wide = given.bytes == 8;
  const std::string space[] = {"global", "shared"};
  for (const std::string& where : space) {
    const DevicePointer data = run.device->allocate(24, "data");
    const std::uint64_t initial[3] = {given.memory, given.value, 0};
    run.device->write(data, std::as_bytes(std::span(initial)));
    const std::string type = is_wide ? "u64" : "u32";
    const std::string old = is_wide ? "%q5" : "%r5";
    const std::string value = is_wide ? "%q6" : "%r6";
    std::string body = "ld.global." + type + " " + value + ", [%a+8];\n";
    if (where == "global") {
      body +=
          "atom.global." + std::string(given.operation) + " " + old + ", [%a], " + value + ";\n";
    } else {
      body += ".shared .align 8 .b8 s[8];\n mov.u32 %r1, s;\n ld.global." + type + " " + old +
              ", [%a];\n st.shared." + type + " [%r1], " + old + ";\n atom.shared." +
              given.operation + " " + old + ", [%r1], " + value + ";\n ld.shared." + type + " " +
              value + ", [%r1];\n st.global." + type + " [%a], " + value + ";\n";
    }
    body += "st.global." + type + " [%a+16], " + old + ";";
    run.run(kernel(body), data);
    EXPECT_EQ(run.seen(), "");
    std::uint64_t result[3] = {};
    run.device->read(data, std::as_writable_bytes(std::span(result)));
    EXPECT_EQ(result[0], given.after) << where;
    EXPECT_EQ(result[2], given.memory) << where;
  }
}

constexpr std::uint64_t kMinusTwo32 = 0xfffffffeu;
constexpr std::uint64_t kMinusTwo64 = 0xfffffffffffffffeu;

INSTANTIATE_TEST_SUITE_P(
    Cases, EmulatorAtomic,
    testing::Values(
        AtomicCase{"AddU32Wraps", "add.u32", 0xffffffffu, 2, 1, 4},
        AtomicCase{"AddU64", "add.u64", 0xffffffffu, 2, 0x100000001u, 8},
        AtomicCase{"AddF32", "add.f32", 0x3f800000u, 0x3f000000u, 0x3fc00000u, 4},
        AtomicCase{"AddF64", "add.f64", 0x3ff0000000000000u, 0x3fe0000000000000u,
                   0x3ff8000000000000u, 8},
        AtomicCase{"AddF16x2", "add.noftz.f16x2", 0x3c004000u, 0x3c003c00u, 0x40004200u, 4},
        AtomicCase{"AddBf16x2", "add.noftz.bf16x2", 0x3f804000u, 0x3f803f80u, 0x40004040u, 4},
        AtomicCase{"And", "and.b32", 0xff00ff00u, 0x0ff00ff0u, 0x0f000f00u, 4},
        AtomicCase{"Or", "or.b32", 0xff00ff00u, 0x0ff00ff0u, 0xfff0fff0u, 4},
        AtomicCase{"Xor64", "xor.b64", 0xff00ff00ff00ff00u, 0xffffu, 0xff00ff00ff0000ffu, 8},
        AtomicCase{"Exchange", "exch.b32", 5, 9, 9, 4},
        AtomicCase{"IncrementBelow", "inc.u32", 5, 9, 6, 4},
        AtomicCase{"IncrementWraps", "inc.u32", 9, 9, 0, 4},
        AtomicCase{"DecrementAbove", "dec.u32", 5, 9, 4, 4},
        AtomicCase{"DecrementOfZero", "dec.u32", 0, 9, 9, 4},
        AtomicCase{"DecrementBeyond", "dec.u32", 12, 9, 9, 4},
        AtomicCase{"MinS32", "min.s32", 1, kMinusTwo32, kMinusTwo32, 4},
        AtomicCase{"MinU32", "min.u32", 1, kMinusTwo32, 1, 4},
        AtomicCase{"MaxS32", "max.s32", 1, kMinusTwo32, 1, 4},
        AtomicCase{"MaxU64", "max.u64", 1, kMinusTwo64, kMinusTwo64, 8},
        AtomicCase{"MaxS64", "max.s64", 1, kMinusTwo64, 1, 8}),
    [](const auto& info) { return std::string(info.param.name); });

TEST(EmulatorAtomic, CompareAndSwapStoresOnlyOnAMatch) {
  EmulatorRun run;
  run.launch_options.block = {1, 1, 1};
  const DevicePointer data = run.words({7, 7, 0, 0}, "data");
  run.run(kernel(R"(
    atom.global.cas.b32 %r1, [%a], 7, 9;
    atom.global.cas.b32 %r2, [%a+4], 8, 9;
    st.global.v2.u32 [%a+8], {%r1, %r2};)"),
          data);
  EXPECT_EQ(run.seen(), "");
  EXPECT_EQ(run.read(data, 4), (std::vector<std::uint32_t>{9, 7, 7, 7}));
}

TEST(EmulatorAtomic, EveryThreadGetsATicketOfItsOwn) {
  EmulatorRun run;
  run.launch_options.grid = {4, 1, 1};
  run.launch_options.block = {64, 1, 1};
  const DevicePointer counter = run.words({0}, "counter");
  const DevicePointer seen = run.words(std::vector<std::uint32_t>(256), "seen");
  run.run(kernel(R"(
    atom.global.add.u32 %r1, [%a], 1;
    mul.wide.u32 %q1, %r1, 4;
    add.s64 %q1, %b, %q1;
    red.global.add.u32 [%q1], 1;)"),
          counter, seen);
  EXPECT_EQ(run.seen(), "");
  EXPECT_EQ(run.read(counter, 1)[0], 256u);
  EXPECT_EQ(run.read(seen, 256), std::vector<std::uint32_t>(256, 1));
}

TEST(EmulatorAtomic, GlobalFloatSumsFlushSubnormalsAndSharedOnesKeepThem) {
  EmulatorRun run;
  run.launch_options.block = {1, 1, 1};
  const DevicePointer data = run.words({0x00000005u, 0}, "data");
  run.run(kernel(R"(
    .shared .align 4 .b8 s[4];
    mov.u32 %r1, s;
    mov.b32 %f1, 0x00000005;
    st.shared.f32 [%r1], %f1;
    red.shared.add.f32 [%r1], %f1;
    ld.shared.f32 %f2, [%r1];
    st.global.f32 [%a+4], %f2;
    red.global.add.f32 [%a], %f1;)"),
          data);
  EXPECT_EQ(run.seen(), "");
  EXPECT_EQ(run.read(data, 2), (std::vector<std::uint32_t>{0, 10}));
}

TEST(EmulatorHalf, SumsRoundToNearestEven) {
  // 2048 + 1 is a tie between 2048 and 2050 in binary16.
  EXPECT_EQ(emulator::add_half(0x6800, 0x3c00), 0x6800);
  EXPECT_EQ(emulator::add_half(0x6801, 0x3c00), 0x6802);
  EXPECT_EQ(emulator::add_half(0x7bff, 0x7bff), 0x7c00);
  EXPECT_EQ(emulator::add_half(0x7c00, 0xfc00), 0x7fff);
  EXPECT_EQ(emulator::add_half(0x0001, 0x0001), 0x0002);
  EXPECT_EQ(emulator::add_half(0x03ff, 0x0001), 0x0400);
  EXPECT_EQ(emulator::add_half(0x3c00, 0xbc00), 0x0000);
  EXPECT_EQ(emulator::add_bfloat(0x4380, 0x3f80), 0x4380);
  EXPECT_EQ(emulator::add_bfloat(0x7f7f, 0x7f7f), 0x7f80);
  EXPECT_EQ(emulator::add_bfloat(0x0001, 0x0001), 0x0002);
  // Against float arithmetic, which is exact for the sum of bfloat16 of like size.
  for (std::uint32_t a = 0x3f00; a < 0x4000; a += 3) {
    for (std::uint32_t b = 0x3f00; b < 0x4000; b += 7) {
      const float sum = std::bit_cast<float>(a << 16) + std::bit_cast<float>(b << 16);
      const std::uint32_t rounded = bits(sum) + 0x7fff + (bits(sum) >> 16 & 1);
      EXPECT_EQ(emulator::add_bfloat(static_cast<std::uint16_t>(a), static_cast<std::uint16_t>(b)),
                rounded >> 16);
    }
  }
}

// nvcc writes atomicAdd_block, atomicAdd_system and atomicCAS of 16 bits so: an atomic without an
// order is relaxed, and may name a scope all the same.
TEST(EmulatorAtomicForms, TakeAScopeWithoutAnOrderAndSixteenBits) {
  EmulatorRun run;
  run.launch_options.block = {1, 1, 1};
  const DevicePointer to = run.words({5, 7, 0x00020001, 0}, "to");
  run.run(kernel(R"(
    atom.global.cta.add.u32 %r1, [%a], 1;
    red.global.sys.add.u32 [%a], 1;
    atom.cta.global.exch.b32 %r2, [%a+4], 9;
    mov.u16 %h1, 2;
    mov.u16 %h2, 3;
    atom.global.cas.b16 %h3, [%a+10], %h1, %h2;
    atom.global.cas.b16 %h4, [%a+8], %h1, %h2;
    mov.b32 %r3, {%h3, %h4};
    st.global.u32 [%a+12], %r3;)"),
          to);
  EXPECT_EQ(run.seen(), "");
  EXPECT_EQ(run.read(to, 4), (std::vector<std::uint32_t>{7, 9, 0x00030001, 0x00010002}));
  // A scope of its own block orders nothing between two.
  run.launch_options.grid = {2, 1, 1};
  run.run(kernel("atom.global.cta.add.u32 %r1, [%a], 1;"), to);
  EXPECT_EQ(run.count("race"), 1u) << run.seen();
  run.run(kernel("atom.global.gpu.add.u32 %r1, [%a], 1;"), to);
  EXPECT_EQ(run.seen(), "");
  EXPECT_THROW(run.run(kernel("ld.gpu.global.u32 %r1, [%a];"), to), Error);
  EXPECT_THROW(run.run(kernel("atom.global.exch.b16 %h1, [%a], %h2;"), to), Error);
}

}  // namespace
}  // namespace draftproof::gpu::test
