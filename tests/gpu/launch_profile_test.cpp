// Goal: the counters of a launch say what the launch asked for. Method: a few lines of PTX each,
// for which every number is worked out by hand, beside a sibling whose number must be another.
#include <gtest/gtest.h>

#include "gpu/emulator/profile/instruction_class.h"
#include "gpu/emulator/profile/warp_access.h"
#include "tests/gpu/emulator_run.h"

namespace draftproof::gpu::test {
namespace {

class LaunchProfileTest : public testing::Test {
 protected:
  LaunchProfileTest() : run_(counting_costs()) {
    words_ = run_.words(counting(4096), "words");
    out_ = run_.unwritten(4096 * 4, "out");
  }
  static EmulatedDeviceOptions counting_costs() {
    EmulatedDeviceOptions options;
    options.counts_costs = true;
    return options;
  }
  /// What `body` costs.
  LaunchProfile profile(std::string_view body, std::string_view declarations = "") {
    run_.run(kernel(body, declarations), words_, out_);
    EXPECT_EQ(run_.count("bounds") + run_.count("misaligned") + run_.count("barrier"), 0u)
        << run_.seen();
    EXPECT_TRUE(run_.report.profile.has_value());
    return run_.report.profile.value_or(LaunchProfile{});
  }
  /// A load of 4 bytes a lane, `stride` words apart, from `offset` bytes behind the start.
  LaunchProfile load(int stride, int offset) {
    return profile("mul.wide.s32 %q1, %t, " + std::to_string(4 * stride) +
                   "; add.s64 %q1, %a, %q1; ld.global.u32 %r2, [%q1+" + std::to_string(offset) +
                   "];");
  }

  EmulatorRun run_;
  DevicePointer words_ = 0, out_ = 0;
};

void expect_traffic(const GlobalTraffic& traffic, std::uint64_t accesses, std::uint64_t requested,
                    std::uint64_t ideal, std::uint64_t distinct) {
  EXPECT_EQ(traffic.accesses, accesses);
  EXPECT_EQ(traffic.requested_sectors, requested);
  EXPECT_EQ(traffic.ideal_sectors, ideal);
  EXPECT_EQ(traffic.distinct_sectors, distinct);
}

TEST_F(LaunchProfileTest, IsLeftOutUnlessAskedFor) {
  EmulatorRun plain;
  plain.run(kernel("add.u32 %r1, %t, 1;"));
  EXPECT_FALSE(plain.report.profile.has_value());
}

TEST_F(LaunchProfileTest, CountsWhatTheMachineCountsAndTheScheduleStays) {
  const std::string text = kernel("st.global.u32 [%at], %t; bar.sync 0;");
  run_.launch_options.block.x = 64;
  run_.run(text, out_);
  EXPECT_EQ(run_.report.profile->warp_instructions, run_.report.counts.warp_instructions);
  EmulatorRun plain;
  plain.launch_options.block.x = 64;
  plain.run(text, plain.unwritten(256, "out"));
  EXPECT_EQ(last_trace_hash(*plain.device), last_trace_hash(*run_.device));
}

TEST_F(LaunchProfileTest, AContiguousLoadTouchesWhatItsBytesNeed) {
  const LaunchProfile one = load(1, 0);
  expect_traffic(one.loads, 1, 4, 4, 4);
  EXPECT_EQ(one.loads.coalescing(), 1.0);
  EXPECT_EQ(one.stores.accesses, 0u);
}

TEST_F(LaunchProfileTest, AStridedLoadTouchesMore) {
  expect_traffic(load(2, 0).loads, 1, 8, 4, 8);
  const LaunchProfile far = load(8, 0);
  expect_traffic(far.loads, 1, 32, 4, 32);
  EXPECT_EQ(far.loads.coalescing(), 0.125);
}

TEST_F(LaunchProfileTest, AShiftedLoadTouchesOneSectorMore) {
  expect_traffic(load(1, 4).loads, 1, 5, 4, 5);
}

TEST_F(LaunchProfileTest, LanesThatShareAnAddressShareASector) {
  expect_traffic(load(0, 0).loads, 1, 1, 1, 1);
}

TEST_F(LaunchProfileTest, DescendingAddressesAreAsGoodAsAscending) {
  expect_traffic(load(-1, 31 * 4).loads, 1, 4, 4, 4);
}

TEST_F(LaunchProfileTest, LanesThatAreOffAskForNothing) {
  const LaunchProfile some = profile("setp.lt.u32 %p1, %t, 9; @%p1 ld.global.u32 %r2, [%at];");
  expect_traffic(some.loads, 1, 2, 2, 2);
  const LaunchProfile none = profile("setp.lt.u32 %p1, %t, 0; @%p1 ld.global.u32 %r2, [%at];");
  expect_traffic(none.loads, 0, 0, 0, 0);
  EXPECT_EQ(none.warp_instructions, some.warp_instructions);
  EXPECT_EQ(none.thread_instructions + 9, some.thread_instructions);
}

TEST_F(LaunchProfileTest, VectorsAreCountedByTheirBytes) {
  const LaunchProfile vectors = profile(
      "mul.wide.u32 %q1, %t, 16; add.s64 %q1, %a, %q1;"
      "ld.global.nc.v4.u32 {%r1, %r2, %r3, %r4}, [%q1];");
  expect_traffic(vectors.loads, 1, 16, 16, 16);
}

TEST_F(LaunchProfileTest, ASecondReadIsRequestedTwiceAndDistinctOnceInEachBlock) {
  run_.launch_options.grid.x = 3;
  run_.launch_options.block.x = 64;
  const LaunchProfile twice = profile("ld.global.u32 %r1, [%at]; ld.global.u32 %r2, [%at];");
  expect_traffic(twice.loads, 12, 48, 48, 24);
  EXPECT_EQ(twice.blocks, 3u);
  EXPECT_EQ(twice.warps, 6u);
}

TEST_F(LaunchProfileTest, APollIsTrafficOnceHoweverLongItLasts) {
  const auto polled = [&](const std::string& order, int turns) {
    return profile("mov.u32 %r1, " + std::to_string(turns) + "; L: ld." + order +
                   "global.u32 %r2, [%a]; sub.u32 %r1, %r1, 1; setp.ne.u32 %p1, %r1, 0;"
                   "@%p1 bra L; ld." +
                   order + "global.u32 %r2, [%a+4];");
  };
  expect_traffic(polled("relaxed.gpu.", 3).loads, 2, 2, 2, 1);
  expect_traffic(polled("relaxed.gpu.", 30).loads, 2, 2, 2, 1);
  // A plain load in a loop is no poll.
  expect_traffic(polled("", 3).loads, 4, 4, 4, 1);
}

TEST_F(LaunchProfileTest, StoresAreKeptApart) {
  const LaunchProfile both = profile(
      "mul.wide.u32 %q1, %t, 4; add.s64 %q1, %b, %q1;"
      "ld.global.u32 %r1, [%at]; st.global.u32 [%q1], %r1;");
  expect_traffic(both.loads, 1, 4, 4, 4);
  expect_traffic(both.stores, 1, 4, 4, 4);
}

TEST_F(LaunchProfileTest, AGenericAddressCountsWhereItPoints) {
  const LaunchProfile global = profile("ld.u32 %r1, [%at];");
  expect_traffic(global.loads, 1, 4, 4, 4);
  const LaunchProfile shared = profile(
      "mov.u64 %q1, s; cvta.shared.u64 %q2, %q1; mul.wide.u32 %q3, %t, 4; add.s64 %q2, %q2, %q3;"
      "st.u32 [%q2], %t;",
      ".shared .align 16 .b8 s[128];");
  EXPECT_EQ(shared.stores.accesses, 0u);
  EXPECT_EQ(shared.shared.accesses, 1u);
}

/// A shared load of `words` words a lane, lanes `stride` bytes apart.
std::string shared_load(int words, int stride) {
  const std::string vector = words == 1   ? "u32 %r2"
                             : words == 2 ? "v2.u32 {%r2, %r3}"
                                          : "v4.u32 {%r2, %r3, %r4, %r5}";
  return "mul.lo.u32 %r1, %t, " + std::to_string(stride) +
         "; mov.u32 %r9, s; add.u32 %r1, %r1, %r9; ld.shared." + vector + ", [%r1];";
}
constexpr const char* kShared = ".shared .align 16 .b8 s[8192];";

struct BankCase {
  int words, stride;
  std::uint64_t wavefronts, ideal;
};

TEST_F(LaunchProfileTest, BanksServeOneWordATurn) {
  const BankCase cases[] = {
      {1, 4, 1, 1},     // each lane a bank of its own
      {1, 0, 1, 1},     // one word for all
      {1, 8, 2, 1},     // two words in every second bank
      {1, 128, 32, 1},  // all in one bank
      {1, 132, 1, 1},   // one word of padding takes the conflict away
      {2, 8, 2, 2},     // halves of a warp
      {2, 16, 4, 2},    // 16 lanes 4 words apart: two words a bank
      {4, 16, 4, 4},    // quarters
      {4, 32, 8, 4},
  };
  for (const BankCase& each : cases) {
    const LaunchProfile seen = profile(shared_load(each.words, each.stride), kShared);
    EXPECT_EQ(seen.shared.accesses, 1u);
    EXPECT_EQ(seen.shared.wavefronts, each.wavefronts) << each.words << " at " << each.stride;
    EXPECT_EQ(seen.shared.ideal_wavefronts, each.ideal) << each.words << " at " << each.stride;
  }
}

TEST_F(LaunchProfileTest, BytesOfOneWordAreServedTogether) {
  const LaunchProfile seen =
      profile("mov.u32 %r9, s; add.u32 %r1, %t, %r9; ld.shared.u8 %r2, [%r1];", kShared);
  EXPECT_EQ(seen.shared.conflicts(), 0u);
}

TEST_F(LaunchProfileTest, BarriersAreCountedByBlockAndByWarp) {
  run_.launch_options.grid.x = 3;
  run_.launch_options.block.x = 128;
  // Block 1 meets once more than the others.
  const LaunchProfile seen =
      profile("bar.sync 0; setp.ne.u32 %p1, %c, 1; @%p1 bra END; bar.sync 1; END: bar.sync 0;");
  EXPECT_EQ(seen.barriers, 7u);
  EXPECT_EQ(seen.barriers_block_max, 3u);
  EXPECT_EQ(seen.barriers_warp_max, 3u);
}

TEST_F(LaunchProfileTest, ABarrierOfSomeWarpsIsOnTheirPathOnly) {
  run_.launch_options.block.x = 128;
  // Warps 0 and 1 meet twice among themselves, then all.
  const LaunchProfile seen = profile(
      "setp.ge.u32 %p1, %t, 64; @%p1 bra END; bar.sync 1, 64; bar.sync 1, 64; END: bar.sync 0;");
  EXPECT_EQ(seen.barriers, 3u);
  EXPECT_EQ(seen.barriers_warp_max, 3u);
  const LaunchProfile arriving = profile(
      "setp.ge.u32 %p1, %t, 64; @%p1 bra L; bar.arrive 1, 128; bra END; L: bar.sync 1, 128; END:");
  EXPECT_EQ(arriving.barriers, 1u);
  EXPECT_EQ(arriving.barriers_warp_max, 1u);
}

TEST_F(LaunchProfileTest, AtomicsOnOneAddressQueue) {
  run_.launch_options.grid.x = 2;
  run_.launch_options.block.x = 64;
  const LaunchProfile one = profile("red.global.add.u32 [%a], 1;");
  EXPECT_EQ(one.global_atomics.accesses, 4u);
  EXPECT_EQ(one.global_atomics.operations, 128u);
  EXPECT_EQ(one.global_atomics.turns, 128u);
  EXPECT_EQ(one.global_atomics.queue_max, 128u);
  const LaunchProfile own = profile("red.global.add.u32 [%at], 1;");
  EXPECT_EQ(own.global_atomics.turns, 4u);
  EXPECT_EQ(own.global_atomics.queue_max, 2u);
}

TEST_F(LaunchProfileTest, SharedQueuesAreABlocksOwn) {
  run_.launch_options.grid.x = 2;
  run_.launch_options.block.x = 64;
  const LaunchProfile seen = profile(
      "mov.u32 %r1, s; setp.ne.u32 %p1, %t, 0; @!%p1 st.shared.u32 [%r1], 0; bar.sync 0;"
      "atom.shared.add.u32 %r2, [%r1], 1;",
      kShared);
  EXPECT_EQ(seen.shared_atomics.operations, 128u);
  EXPECT_EQ(seen.shared_atomics.queue_max, 64u);
  EXPECT_EQ(seen.shared.accesses, 2u);  // the store of each block's warp 0
}

TEST_F(LaunchProfileTest, DivergenceIsSeen) {
  const auto branchy = [](int bound) {
    return "setp.lt.u32 %p1, %t, " + std::to_string(bound) +
           "; @%p1 bra A; add.u32 %r1, %t, 1; bra B; A: add.u32 %r1, %t, 2; B: add.u32 %r2, %t, 3;";
  };
  const LaunchProfile uniform = profile(branchy(32));
  EXPECT_EQ(uniform.branches, 1u);
  EXPECT_EQ(uniform.divergent_branches, 0u);
  EXPECT_EQ(uniform.active_lanes(), 32.0);
  const LaunchProfile divergent = profile(branchy(5));
  EXPECT_EQ(divergent.branches, 1u);
  EXPECT_EQ(divergent.divergent_branches, 1u);
  // Both ways are walked: lanes 5.. an addition and a branch, lanes 0..4 an addition.
  EXPECT_EQ(divergent.warp_instructions, uniform.warp_instructions + 2);
  EXPECT_EQ(divergent.thread_instructions, uniform.thread_instructions + 27);
  EXPECT_LT(divergent.active_lanes(), 32.0);
}

TEST_F(LaunchProfileTest, LanesThatMeetOneByOneAreCountedOnce) {
  const LaunchProfile together = profile("shfl.sync.bfly.b32 %r1, %t, 1, 31, -1;");
  const LaunchProfile apart =
      profile("setp.lt.u32 %p1, %t, 7; @%p1 bra A; A: shfl.sync.bfly.b32 %r1, %t, 1, 31, -1;");
  constexpr auto kExchange = static_cast<std::size_t>(InstructionClass::kExchange);
  EXPECT_EQ(together.by_class[kExchange], 1u);
  EXPECT_EQ(apart.by_class[kExchange], 1u);
}

TEST_F(LaunchProfileTest, ClassesSumToTheWhole) {
  const LaunchProfile base = profile("");
  const LaunchProfile more = profile(
      "cvt.rn.f32.u32 %f1, %t; fma.rn.f32 %f2, %f1, %f1, %f1; ex2.approx.f32 %f3, %f2;"
      "cvt.f64.f32 %w1, %f3; add.f64 %w2, %w1, %w1; vote.sync.all.pred %p1, %p1, -1; bar.sync 0;"
      "st.global.u32 [%at], %t;");
  std::array<std::uint64_t, kInstructionClasses> added{};
  std::uint64_t sum = 0;
  for (std::size_t kind = 0; kind < kInstructionClasses; ++kind) {
    added[kind] = more.by_class[kind] - base.by_class[kind];
    sum += more.by_class[kind];
  }
  EXPECT_EQ(sum, more.warp_instructions);
  EXPECT_EQ(added, (std::array<std::uint64_t, kInstructionClasses>{1, 1, 0, 0, 3, 1, 1, 1}));
}

TEST_F(LaunchProfileTest, TheLongestWarpIsNamed) {
  run_.launch_options.block.x = 64;
  const LaunchProfile seen = profile(
      "setp.lt.u32 %p1, %t, 32; @%p1 bra END; add.u32 %r1, %t, 1; add.u32 %r1, %t, 1; END:");
  EXPECT_EQ(seen.warp_instructions_max * 2, seen.warp_instructions + 2);
}

TEST_F(LaunchProfileTest, AsynchronousCopiesLoad) {
  const LaunchProfile seen = profile(
      "mul.wide.u32 %q1, %t, 16; add.s64 %q1, %a, %q1; mul.lo.u32 %r1, %t, 16; mov.u32 %r2, s;"
      "add.u32 %r1, %r1, %r2; cp.async.cg.shared.global [%r1], [%q1], 16; cp.async.wait_all;",
      kShared);
  expect_traffic(seen.loads, 1, 16, 16, 16);
}

TEST_F(LaunchProfileTest, ABlockThatDoesNotEndCountsAsFarAsItCame) {
  run_.launch_options.warp_instruction_limit = 1000;
  run_.run(kernel("L: ld.global.u32 %r1, [%at]; bra L;"), words_);
  EXPECT_EQ(run_.count("limit"), 1u);
  EXPECT_GT(run_.report.profile->loads.accesses, 400u);
  EXPECT_EQ(run_.report.profile->loads.distinct_sectors, 4u);
  EXPECT_EQ(run_.report.profile->blocks, 1u);
}

TEST(InstructionClass, IsTheUnitThatComputes) {
  using enum InstructionClass;
  const std::pair<const char*, InstructionClass> cases[] = {{"fma.rn.f32", kFloat32},
                                                            {"setp.lt.f32", kFloat32},
                                                            {"mul.f64", kFloat64},
                                                            {"fma.rn.bf16x2", kHalf},
                                                            {"mad.wide.u32", kInteger},
                                                            {"mov.f32", kInteger},
                                                            {"selp.f64", kInteger},
                                                            {"setp.ge.and.s64", kInteger},
                                                            {"cvt.rn.f32.u32", kSpecial},
                                                            {"ex2.approx.ftz.f32", kSpecial},
                                                            {"div.full.f32", kSpecial},
                                                            {"ld.global.nc.v4.f32", kMemory},
                                                            {"atom.shared.add.f32", kMemory},
                                                            {"redux.sync.max.u32", kExchange},
                                                            {"red.global.add.u32", kMemory},
                                                            {"bar.warp.sync", kControl},
                                                            {"ret", kControl},
                                                            {"bra.uni", kControl}};
  for (const auto& [form, kind] : cases)
    EXPECT_EQ(emulator::class_of(form), kind)
        << form << " is " << to_string(emulator::class_of(form));
}

TEST(WarpAccess, AnAccessAcrossASectorsEndTouchesBoth) {
  emulator::WarpAccess access;
  access.width = 16;
  access.add(0, 24);
  EXPECT_EQ(emulator::sectors_of(access).count, 2u);
  EXPECT_EQ(emulator::ideal_sectors_of(access), 1u);
}

}  // namespace
}  // namespace draftproof::gpu::test
