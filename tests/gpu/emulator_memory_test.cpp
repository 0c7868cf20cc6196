// Loads, stores and what the emulated device says of addresses and of bytes that no one wrote.
#include <gtest/gtest.h>

#include "reference/error.h"
#include "tests/gpu/emulator_run.h"

namespace draftproof::gpu::test {
namespace {

TEST(EmulatorMemory, CopiesWordsThroughEveryLane) {
  EmulatorRun run;
  run.launch_options.block = {100, 1, 1};
  const DevicePointer from = run.words(counting(100), "from");
  const DevicePointer to = run.unwritten(400, "to");
  run.run(kernel(R"(
    ld.global.u32 %r1, [%at];
    add.s64 %q1, %b, %q31;
    add.u32 %r1, %r1, 7;
    st.global.u32 [%q1], %r1;)"),
          from, to);
  EXPECT_EQ(run.seen(), "");
  const auto values = run.read(to, 100);
  for (std::uint32_t i = 0; i < 100; ++i) EXPECT_EQ(values[i], i + 7);
  EXPECT_EQ(run.report.global_bytes_read, 400u);
  EXPECT_EQ(run.report.global_bytes_written, 400u);
}

TEST(EmulatorMemory, VectorsAndNarrowTypesExtendAsTheTypeSays) {
  EmulatorRun run;
  run.launch_options.block = {1, 1, 1};
  const DevicePointer from = run.words({0x80ff7f01u, 2, 3, 4, 5, 6}, "from");
  const DevicePointer to = run.unwritten(64, "to");
  run.run(kernel(R"(
    ld.global.v4.u32 {%r1, %r2, %r3, %r4}, [%a];
    add.u32 %r5, %r2, %r3;
    ld.global.s8 %r6, [%a+3];
    ld.global.u8 %r7, [%a+3];
    ld.global.s16 %r8, [%a+2];
    ld.global.s32 %q1, [%a];
    ld.global.v2.u64 {%q2, %q3}, [%a];
    st.global.v2.u32 [%b], {%r5, %r4};
    st.global.u32 [%b+8], %r6;
    st.global.u32 [%b+12], %r7;
    st.global.u32 [%b+16], %r8;
    st.global.u64 [%b+24], %q1;
    st.global.u64 [%b+32], %q3;
    st.global.u32 [%b+40], %q2;
    st.global.u8 [%b+44], %r2;
    st.global.u16 [%b+46], %r3;)"),
          from, to);
  EXPECT_EQ(run.seen(), "");
  EXPECT_EQ(run.read(to, 5), (std::vector<std::uint32_t>{5, 4, 0xffffff80u, 0x80u, 0xffff80ffu}));
  EXPECT_EQ(run.read(to + 24, 5),
            (std::vector<std::uint32_t>{0x80ff7f01u, 0xffffffffu, 3, 4, 0x80ff7f01u}));
}

TEST(EmulatorMemory, OfAClusterIsThatOfItsOnlyBlock) {
  EmulatorRun run;
  const DevicePointer to = run.unwritten(128, "to");
  // The rank is %r5: 0, and in the second run 1, of which there is no shared memory.
  const std::string text = kernel(R"(
    .shared .align 4 .b8 table[128];
    mov.u32 %r1, table;
    mul.lo.u32 %r2, %t, 4;
    add.u32 %r1, %r1, %r2;
    st.shared.u32 [%r1], %t;
    mov.u32 %r5, RANK;
    mapa.shared::cluster.u32 %r6, %r1, %r5;
    ld.shared::cluster.u32 %r3, [%r6];
    cvt.u64.u32 %q1, %r1;
    cvta.shared.u64 %q1, %q1;
    mapa.u64 %q2, %q1, %r5;
    ld.u32 %r4, [%q2];
    add.u32 %r3, %r3, %r4;
    shr.u32 %r3, %r3, 1;
    st.global.u32 [%at], %r3;)");
  const auto with_rank = [&](const std::string& rank) {
    std::string result = text;
    return result.replace(result.find("RANK"), 4, rank);
  };
  run.run(with_rank("0"), to);
  EXPECT_EQ(run.seen(), "");
  EXPECT_EQ(run.read(to, 32), counting(32));
  run.run(with_rank("1"), to);
  EXPECT_EQ(run.count("bounds"), 2u) << run.seen();
}

TEST(EmulatorMemory, GenericAddressesReachSharedLocalAndGlobal) {
  EmulatorRun run;
  const DevicePointer to = run.unwritten(128, "to");
  run.run(kernel(R"(
    .shared .align 4 .b8 table[128];
    .local .align 4 .b8 own[16];
    mov.u32 %r1, table;
    mul.lo.u32 %r2, %t, 4;
    add.u32 %r1, %r1, %r2;
    st.shared.u32 [%r1], %t;
    mov.u64 %q1, table;
    cvta.shared.u64 %q1, %q1;
    add.s64 %q1, %q1, %q31;
    ld.u32 %r3, [%q1];
    mov.u64 %q2, own;
    cvta.local.u64 %q3, %q2;
    st.u32 [%q3+4], %r3;
    ld.local.u32 %r4, [%q2+4];
    cvta.global.u64 %q4, %at;
    st.u32 [%q4], %r4;)"),
          to);
  EXPECT_EQ(run.seen(), "");
  EXPECT_EQ(run.read(to, 32), counting(32));
}

TEST(EmulatorMemory, DynamicSharedStartsBehindStaticOnAMultipleOf16) {
  EmulatorRun run;
  run.launch_options.block = {1, 1, 1};
  run.launch_options.dynamic_shared_bytes = 8;
  const DevicePointer to = run.unwritten(8, "to");
  const std::string declarations = ".extern .shared .align 16 .b8 dynamic[];\n";
  run.run(kernel(R"(
    .shared .align 4 .b8 fixed[20];
    mov.u32 %r1, dynamic;
    mov.u32 %r2, fixed;
    sub.u32 %r3, %r1, %r2;
    st.global.u32 [%a], %r3;
    st.shared.u32 [%r1+4], %r3;
    ld.shared.u32 %r4, [%r1+4];
    st.global.u32 [%a+4], %r4;)",
                 declarations),
          to);
  EXPECT_EQ(run.seen(), "");
  EXPECT_EQ(run.read(to, 2), (std::vector<std::uint32_t>{32, 32}));
  // One word beyond what the launch gave.
  run.run(kernel(R"(
    .shared .align 4 .b8 fixed[20];
    mov.u32 %r2, fixed;
    mov.u32 %r1, dynamic;
    st.shared.u32 [%r2], %r1;
    st.shared.u32 [%r1+8], %r1;  // beyond)",
                 declarations),
          to);
  ASSERT_EQ(run.count("bounds"), 1u) << run.seen();
}

struct BoundsCase {
  const char* name;
  const char* body;
  bool is_fault;
  const char* words;
};

class EmulatorBounds : public testing::TestWithParam<BoundsCase> {};

TEST_P(EmulatorBounds, FaultsAreNamedAndTheirSiblingsAreSilent) {
  const BoundsCase& given = GetParam();
  EmulatorRun run;
  const DevicePointer low = run.words(counting(4), "low");
  const DevicePointer table = run.words(counting(32), "table");
  const DevicePointer freed = run.words(counting(4), "freed");
  run.device->free(freed);
  const std::string text = kernel(given.body);
  run.run(text, table, low, freed);
  if (!given.is_fault) {
    EXPECT_EQ(run.seen(), "");
    return;
  }
  ASSERT_EQ(run.count("bounds"), 1u) << run.seen();
  const auto seen = run.first("bounds");
  EXPECT_EQ(seen.place.ptx_line, line_of(text, "HERE"));
  EXPECT_NE(seen.message.find(given.words), std::string::npos) << seen.message;
  EXPECT_EQ(seen.severity, reference::Severity::kUnsafe);
}

INSTANTIATE_TEST_SUITE_P(
    Cases, EmulatorBounds,
    testing::Values(BoundsCase{"Inside", "ld.global.u32 %r1, [%at];", false, ""},
                    BoundsCase{"PastTheEnd", "ld.global.u32 %r1, [%at+4];  // HERE", true,
                               "allocation 'table' (128 bytes), 0 bytes past its end"},
                    BoundsCase{"BeforeTheBegin", "ld.global.u32 %r1, [%at+-4];  // HERE", true,
                               "4 bytes before allocation 'table'"},
                    BoundsCase{"WriteFarBeyond", "st.global.u32 [%b+4096], %t;  // HERE", true,
                               "allocation 'low' (16 bytes), 4080 bytes past its end"},
                    BoundsCase{"UseAfterFree", "ld.global.u32 %r1, [%cc];  // HERE", true,
                               "which was freed"},
                    BoundsCase{"Null", "ld.global.u32 %r1, [%d+8];  // HERE", true, "null pointer"},
                    BoundsCase{"SharedAddressAsGlobal", R"(
          .shared .align 4 .b8 s[128];
          mov.u64 %q1, s;
          cvta.shared.u64 %q2, %q1;
          st.global.u32 [%q2], %t;  // HERE)",
                               true, "not in global memory but in shared memory"},
                    BoundsCase{"SharedInside", R"(
          .shared .align 4 .b8 s[128];
          mov.u32 %r1, s;
          mad.lo.u32 %r2, %t, 4, %r1;
          st.shared.u32 [%r2], %t;)",
                               false, ""},
                    BoundsCase{"SharedBeyond", R"(
          .shared .align 4 .b8 s[128];
          mov.u32 %r1, s;
          mad.lo.u32 %r2, %t, 4, %r1;
          st.shared.u32 [%r2+64], %t;  // HERE)",
                               true, "shared memory (128 bytes)"},
                    BoundsCase{"LocalBeyond", R"(
          .local .align 4 .b8 own[16];
          mov.u64 %q1, own;
          st.local.u32 [%q1+16], %t;  // HERE)",
                               true, "local memory (16 bytes)"}),
    [](const auto& info) { return std::string(info.param.name); });

TEST(EmulatorMemory, ABoundsFaultNamesTheLanes) {
  EmulatorRun run;
  const DevicePointer table = run.words(counting(30), "table");
  run.run(kernel("ld.global.u32 %r1, [%at];"), table);
  ASSERT_EQ(run.count("bounds"), 1u) << run.seen();
  // Lanes 30 and 31: the first is kept, both are counted.
  EXPECT_EQ(run.first("bounds").place.lanes, 1u << 30);
  EXPECT_EQ(run.first("bounds").count, 2u);
}

TEST(EmulatorMemory, MisalignedVectorsAreReported) {
  EmulatorRun run;
  run.launch_options.block = {1, 1, 1};
  const DevicePointer table = run.words(counting(8), "table");
  const std::string text = kernel("ld.global.v4.u32 {%r1,%r2,%r3,%r4}, [%a+4];  // HERE");
  run.run(text, table);
  ASSERT_EQ(run.count("misaligned"), 1u) << run.seen();
  EXPECT_EQ(run.first("misaligned").place.ptx_line, line_of(text, "HERE"));
  EXPECT_EQ(run.first("misaligned").place.lanes, 1u);
  run.run(kernel("ld.global.v4.u32 {%r1,%r2,%r3,%r4}, [%a+16];"), table);
  EXPECT_EQ(run.seen(), "");
}

TEST(EmulatorMemory, UsedBytesMaskNarrowsAVectorLoad) {
  EmulatorRun run;
  run.launch_options.block = {1, 1, 1};
  const DevicePointer table = run.words({1, 2, 3}, "table");
  const DevicePointer to = run.unwritten(4, "to");
  const std::string load = R"(
    ld.global.v4.u32 {%r1,%r2,%r3,%r4}, [%a];
    add.u32 %r5, %r1, %r3;
    st.global.u32 [%b], %r5;)";
  run.run(kernel(load), table, to);
  EXPECT_EQ(run.count("bounds"), 1u) << run.seen();
  run.run(kernel("  .pragma \"used_bytes_mask 4095\";" + load), table, to);
  EXPECT_EQ(run.seen(), "");
  EXPECT_EQ(run.read(to, 1)[0], 4u);
}

TEST(EmulatorMemory, TheHostIsHeldToBoundsToo) {
  EmulatorRun run;
  const DevicePointer pointer = run.unwritten(16, "table");
  std::vector<std::byte> bytes(17);
  EXPECT_THROW(run.device->write(pointer, bytes), Error);
  bytes.resize(8);
  EXPECT_NO_THROW(run.device->write(pointer + 8, bytes));
  EXPECT_THROW(run.device->read(pointer, bytes), Error);
  EXPECT_NO_THROW(run.device->read(pointer + 8, bytes));
  run.device->read(pointer, bytes, std::byte{0x5a});
  EXPECT_EQ(bytes[3], std::byte{0x5a});
  run.device->free(pointer);
  EXPECT_THROW(run.device->free(pointer), Error);
  EXPECT_THROW(run.device->write(pointer, bytes), Error);
}

TEST(EmulatorMemory, ASizeBeyondTheDeviceIsAnErrorNotAnAllocation) {
  EmulatorRun run;
  EXPECT_THROW(run.unwritten(std::size_t{1} << 39, "huge"), Error);
  EXPECT_THROW(run.unwritten(~std::size_t{0}, "huge"), Error);
  const std::string use = "mov.u64 %q1, b;\n";
  const auto load = [&](const std::string& second) {
    run.device->load(kernel(use, ".global .b8 a[4];\n.global .b8 b[" + second + "];\n"), "big.ptx");
  };
  try {
    load("1099511627775");
    ADD_FAILURE() << "a terabyte was placed";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("big.ptx"), std::string::npos) << error.what();
    EXPECT_NE(std::string(error.what()).find("'b'"), std::string::npos) << error.what();
  }
  EXPECT_NO_THROW(load("4"));
}

TEST(EmulatorMemory, RegionsAreUsedAgainAfterManyFrees) {
  EmulatorRun run;
  const std::string text = kernel("ld.global.u32 %r1, [%a];");
  DevicePointer recent = 0;
  std::uint64_t highest = 0;
  for (int i = 0; i < 70000; ++i) {
    recent = run.unwritten(4, "short-lived");
    highest = std::max(highest, recent);
    run.device->free(recent);
  }
  EXPECT_LT(highest, std::uint64_t{1} << 56);
  run.run(text, recent);
  EXPECT_EQ(run.count("bounds"), 1u) << run.seen();
  run.run(text, run.words({1}, "live"));
  EXPECT_EQ(run.seen(), "");
}

TEST(EmulatorMemory, AModuleTakesItsVariablesWithIt) {
  EmulatorRun run;
  const DevicePointer to = run.unwritten(8, "to");
  const std::string text = kernel(R"(
    mov.u64 %q1, counter;
    atom.global.add.u32 %r1, [%q1], 1;
    mov.u64 %q2, table;
    ld.const.u32 %r2, [%q2+4];
    st.global.u64 [%a], %q1;)",
                                  ".global .align 4 .u32 counter;\n"
                                  ".const .align 4 .u32 table[2] = {3, 4};\n");
  run.launch_options.block = {1, 1, 1};
  run.run(text, to);
  EXPECT_EQ(run.seen(), "");
  const auto address = run.read(to, 2);
  const DevicePointer counter = address[0] | std::uint64_t{address[1]} << 32;
  run.run(kernel("ld.global.u32 %r1, [%a];"), counter);
  ASSERT_EQ(run.count("bounds"), 1u) << run.seen();
  EXPECT_NE(run.first("bounds").message.find("'counter'"), std::string::npos);
}

TEST(EmulatorMemory, ArgumentsAndBlocksAreChecked) {
  EmulatorRun run;
  const auto module = run.device->load(kernel(""), "test.ptx");
  const std::vector<Argument> few = {Argument(std::uint64_t{0})};
  EXPECT_THROW(run.device->launch(*module, "k", run.launch_options, few), Error);
  const std::vector<Argument> wrong = {Argument(0), Argument(0), Argument(0), Argument(0)};
  EXPECT_THROW(run.device->launch(*module, "k", run.launch_options, wrong), Error);
  EXPECT_THROW(run.device->launch(*module, "absent", run.launch_options, few), Error);
  run.launch_options.block = {1025, 1, 1};
  EXPECT_THROW(run.run(kernel("")), Error);
  run.launch_options.block = {32, 1, 1};
  EXPECT_NO_THROW(run.run(kernel("")));
}

TEST(EmulatorMemory, AShapeThatNoGpuLaunchesIsRefused) {
  const Dim3 one{1, 1, 1};
  const auto is_refused = [&](const Dim3& grid, const Dim3& block) {
    EmulatorRun run;
    run.launch_options.grid = grid;
    run.launch_options.block = block;
    try {
      run.run(kernel(""));
    } catch (const Error& error) {
      EXPECT_NE(std::string(error.what()).find("launch of k"), std::string::npos) << error.what();
      return true;
    }
    return false;
  };
  EXPECT_TRUE(is_refused({1, 65536, 1}, one));
  EXPECT_TRUE(is_refused({1, 1, 65536}, one));
  EXPECT_TRUE(is_refused(one, {1, 1, 65}));
  EXPECT_TRUE(is_refused({0, 1, 1}, one));
  EXPECT_TRUE(is_refused(one, {32, 0, 1}));
  // Products that wrap around to a small number.
  EXPECT_TRUE(is_refused({0x80000000u, 0x80000000u, 4}, one));
  EXPECT_TRUE(is_refused(one, {0x80000000u, 0x80000000u, 4}));
  EXPECT_FALSE(is_refused({1, 300, 2}, one));
  EXPECT_FALSE(is_refused(one, {1, 1, 64}));
}

}  // namespace
}  // namespace draftproof::gpu::test
