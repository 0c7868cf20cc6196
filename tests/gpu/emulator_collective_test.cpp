// Shuffle, vote, match, redux, elect and activemask against their definitions in the PTX ISA,
// written out here a second time, lane by lane.
#include <gtest/gtest.h>

#include <bit>

#include "tests/gpu/emulator_run.h"

namespace draftproof::gpu::test {
namespace {

struct Expected {
  std::uint32_t value;
  bool is_inside;
};

/// PTX ISA 9.0, 9.7.9.6, as pseudo-code there.
Expected shuffled(const std::string& mode, int lane, int b, int c) {
  const int segmask = c >> 8 & 0x1f;
  const int cval = c & 0x1f;
  const int bval = b & 0x1f;
  const int maxlane = (lane & segmask) | (cval & ~segmask);
  const int minlane = lane & segmask;
  int j = 0;
  bool inside = false;
  if (mode == "up") {
    j = lane - bval;
    inside = j >= maxlane;
  } else if (mode == "down") {
    j = lane + bval;
    inside = j <= maxlane;
  } else if (mode == "bfly") {
    j = lane ^ bval;
    inside = j <= maxlane;
  } else {
    j = minlane | (bval & ~segmask);
    inside = j <= maxlane;
  }
  if (!inside) j = lane;
  return {static_cast<std::uint32_t>(j * 3 + 100), inside};
}

class EmulatorShuffle : public testing::TestWithParam<const char*> {};

TEST_P(EmulatorShuffle, FollowsItsTableForAllSegments) {
  const std::string mode = GetParam();
  for (const int width : {1, 2, 4, 8, 16, 32}) {
    const int segmask = 32 - width;
    const int clamp = mode == "up" ? 0 : 31;
    const int c = segmask << 8 | clamp;
    EmulatorRun run;
    const DevicePointer values = run.unwritten(32 * 32 * 4, "values");
    const DevicePointer flags = run.unwritten(32 * 32 * 4, "flags");
    run.run(kernel(R"(
      mad.lo.u32 %r1, %t, 3, 100;
      mov.u32 %r2, 0;
      add.s64 %q1, %b, %q31;
    LOOP:
      shfl.sync.)" +
                   mode + ".b32 %r3|%p1, %r1, %r2, " + std::to_string(c) + R"(, 0xffffffff;
      selp.u32 %r4, 1, 0, %p1;
      st.global.u32 [%at], %r3;
      st.global.u32 [%q1], %r4;
      add.s64 %at, %at, 128;
      add.s64 %q1, %q1, 128;
      add.u32 %r2, %r2, 1;
      setp.lt.u32 %p2, %r2, 32;
      @%p2 bra LOOP;)"),
            values, flags);
    ASSERT_EQ(run.seen(), "");
    const auto got = run.read(values, 1024);
    const auto inside = run.read(flags, 1024);
    for (int b = 0; b < 32; ++b) {
      for (int lane = 0; lane < 32; ++lane) {
        const Expected expected = shuffled(mode, lane, b, c);
        EXPECT_EQ(got[static_cast<std::size_t>(b * 32 + lane)], expected.value)
            << mode << " width " << width << " b " << b << " lane " << lane;
        EXPECT_EQ(inside[static_cast<std::size_t>(b * 32 + lane)] != 0, expected.is_inside);
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Modes, EmulatorShuffle, testing::Values("up", "down", "bfly", "idx"),
                         [](const auto& info) { return std::string(info.param); });

TEST(EmulatorVote, CountsMembersOnly) {
  EmulatorRun run;
  const DevicePointer to = run.unwritten(32 * 4, "to");
  run.run(kernel(R"(
    setp.gt.u32 %p1, %t, 23;
    @%p1 bra DONE;
    setp.gt.u32 %p2, %t, 3;
    vote.sync.ballot.b32 %r1, %p2, 0x00ffffff;
    vote.sync.all.pred %p3, %p2, 0x00ffffff;
    vote.sync.any.pred %p4, %p2, 0x00ffffff;
    vote.sync.uni.pred %p5, %p2, 0x00ffffff;
    setp.lt.u32 %p6, %t, 24;
    vote.sync.all.pred %p7, %p6, 0x00ffffff;
    vote.sync.uni.pred %p8, !%p6, 0x00ffffff;
    activemask.b32 %r2;
    selp.u32 %r3, 1, 0, %p3;
    selp.u32 %r4, 2, 0, %p4;
    selp.u32 %r5, 4, 0, %p5;
    selp.u32 %r6, 8, 0, %p7;
    selp.u32 %r7, 16, 0, %p8;
    or.b32 %r3, %r3, %r4;
    or.b32 %r3, %r3, %r5;
    or.b32 %r3, %r3, %r6;
    or.b32 %r3, %r3, %r7;
    setp.eq.u32 %p9, %t, 7;
    @%p9 st.global.v2.u32 [%a], {%r1, %r3};
    @%p9 st.global.u32 [%a+8], %r2;
  DONE:)"),
          to);
  EXPECT_EQ(run.seen(), "");
  EXPECT_EQ(run.read(to, 3), (std::vector<std::uint32_t>{0x00fffff0u, 2 | 8 | 16, 0x00ffffffu}));
}

TEST(EmulatorMatch, FindsEqualValues) {
  EmulatorRun run;
  const DevicePointer any = run.unwritten(128, "any");
  const DevicePointer all = run.unwritten(128, "all");
  run.run(kernel(R"(
    rem.u32 %r1, %t, 3;
    match.any.sync.b32 %r2, %r1, 0xffffffff;
    match.all.sync.b32 %r3|%p1, %n, 0xffffffff;
    match.all.sync.b32 %r4|%p2, %r1, 0xffffffff;
    cvt.u64.u32 %q1, %r1;
    match.any.sync.b64 %r5, %q1, 0xffffffff;
    xor.b32 %r2, %r2, %r5;
    or.b32 %r2, %r2, %r5;
    selp.u32 %r6, 1, 0, %p1;
    selp.u32 %r7, 2, 0, %p2;
    add.u32 %r6, %r6, %r7;
    add.u32 %r6, %r6, %r4;
    sub.u32 %r6, %r3, %r6;
    st.global.u32 [%at], %r2;
    add.s64 %q2, %b, %q31;
    st.global.u32 [%q2], %r6;)"),
          any, all);
  EXPECT_EQ(run.seen(), "");
  const auto got = run.read(any, 32);
  for (std::uint32_t lane = 0; lane < 32; ++lane) {
    std::uint32_t expected = 0;
    for (std::uint32_t other = lane % 3; other < 32; other += 3) expected |= 1u << other;
    EXPECT_EQ(got[lane], expected);
  }
  EXPECT_EQ(run.read(all, 32), std::vector<std::uint32_t>(32, 0xfffffffeu));
}

TEST(EmulatorRedux, ReducesByTypeAndMask) {
  EmulatorRun run;
  const DevicePointer to = run.unwritten(64, "to");
  run.run(kernel(R"(
    sub.u32 %r1, %t, 5;
    redux.sync.add.u32 %r2, %t, 0xffffffff;
    redux.sync.min.s32 %r3, %r1, 0xffffffff;
    redux.sync.min.u32 %r4, %r1, 0xffffffff;
    redux.sync.max.s32 %r5, %r1, 0xffffffff;
    redux.sync.max.u32 %r6, %r1, 0xffffffff;
    redux.sync.or.b32 %r7, %t, 0xffffffff;
    redux.sync.and.b32 %r8, %t, 0xffffffff;
    redux.sync.xor.b32 %r9, %t, 0xffffffff;
    setp.ne.u32 %p1, %t, 0;
    @%p1 bra DONE;
    st.global.v4.u32 [%a], {%r2, %r3, %r4, %r5};
    st.global.v4.u32 [%a+16], {%r6, %r7, %r8, %r9};
  DONE:)"),
          to);
  EXPECT_EQ(run.seen(), "");
  EXPECT_EQ(run.read(to, 8),
            (std::vector<std::uint32_t>{496, 0xfffffffbu, 0, 26, 0xffffffffu, 31, 0, 0}));
}

TEST(EmulatorElect, ChoosesOneMemberBySeed) {
  std::uint32_t leaders = 0;
  for (std::uint64_t seed = 1; seed <= 24; ++seed) {
    EmulatorRun run;
    run.launch_options.schedule_seed = seed;
    const DevicePointer to = run.unwritten(128, "to");
    run.run(kernel(R"(
      elect.sync %r1|%p1, 0xffffffff;
      selp.u32 %r2, 1, 0, %p1;
      st.global.u32 [%at], %r2;)"),
            to);
    EXPECT_EQ(run.seen(), "");
    std::uint32_t chosen = 0;
    const auto flags = run.read(to, 32);
    for (std::uint32_t lane = 0; lane < 32; ++lane) chosen |= flags[lane] << lane;
    EXPECT_EQ(std::popcount(chosen), 1);
    leaders |= chosen;
  }
  EXPECT_GT(std::popcount(leaders), 4);
}

TEST(EmulatorCollective, WaitsForLanesThatComeLater) {
  EmulatorRun run;
  const DevicePointer to = run.unwritten(128, "to");
  run.run(kernel(R"(
    mov.u32 %r1, 0;
    setp.lt.u32 %p1, %t, 16;
    @%p1 bra MEET;
  LOOP:
    add.u32 %r1, %r1, 1;
    setp.lt.u32 %p2, %r1, %t;
    @%p2 bra LOOP;
  MEET:
    shfl.sync.bfly.b32 %r2, %r1, 16, 31, 0xffffffff;
    st.global.u32 [%at], %r2;)"),
          to);
  EXPECT_EQ(run.seen(), "");
  EXPECT_EQ(run.read(to, 32)[3], 19u);
  EXPECT_EQ(run.read(to, 32)[19], 0u);
}

TEST(EmulatorCollective, MeetsAcrossTwoPlacesOfTheText) {
  EmulatorRun run;
  const DevicePointer to = run.unwritten(128, "to");
  run.run(kernel(R"(
    setp.lt.u32 %p1, %t, 16;
    @%p1 bra LOW;
    shfl.sync.bfly.b32 %r2, %t, 16, 31, 0xffffffff;
    bar.warp.sync 0xffffffff;
    bra DONE;
  LOW:
    shfl.sync.bfly.b32 %r2, %t, 16, 31, 0xffffffff;
    bar.warp.sync 0xffffffff;
  DONE:
    st.global.u32 [%at], %r2;)"),
          to);
  EXPECT_EQ(run.seen(), "");
  EXPECT_EQ(run.read(to, 32)[3], 19u);
}

TEST(EmulatorCollective, TilesOfAWarpKeepTheirMasks) {
  EmulatorRun run;
  const DevicePointer to = run.unwritten(128, "to");
  run.run(kernel(R"(
    setp.lt.u32 %p1, %t, 16;
    selp.b32 %r1, 0x0000ffff, 0xffff0000, %p1;
    vote.sync.ballot.b32 %r2, %p1, %r1;
    redux.sync.add.u32 %r3, %t, %r1;
    add.u32 %r3, %r3, %r2;
    st.global.u32 [%at], %r3;)"),
          to);
  EXPECT_EQ(run.seen(), "");
  EXPECT_EQ(run.read(to, 32)[0], 120u + 0xffffu);
  EXPECT_EQ(run.read(to, 32)[31], 376u);
}

/// Two tiles of a warp, whose odd and even lanes stand at different places of the text.
std::string kernel_of_divergent_tiles(const std::string& mask_of_odd_lanes) {
  return kernel(R"(
    setp.lt.u32 %p1, %t, 16;
    selp.b32 %r1, 0x0000ffff, 0xffff0000, %p1;
    and.b32 %r2, %t, 1;
    setp.eq.u32 %p2, %r2, 0;
    @%p2 bra EVEN;
    redux.sync.add.u32 %r3, %t, )" +
                mask_of_odd_lanes + R"(;
    vote.sync.ballot.b32 %r4, 1, %r1;
    match.any.sync.b32 %r5, 7, %r1;
    bra DONE;
  EVEN:
    redux.sync.add.u32 %r3, %t, %r1;
    vote.sync.ballot.b32 %r4, 1, %r1;
    match.any.sync.b32 %r5, 7, %r1;
  DONE:
    activemask.b32 %r6;
    st.global.u32 [%at], %r3;
    st.global.u32 [%at+128], %r4;
    st.global.u32 [%at+256], %r5;
    st.global.u32 [%at+384], %r6;)");
}

TEST(EmulatorCollective, TilesThatMeetAcrossPlacesStayApart) {
  EmulatorRun run;
  const DevicePointer to = run.unwritten(512, "to");
  run.run(kernel_of_divergent_tiles("%r1"), to);
  EXPECT_EQ(run.seen(), "");
  const auto got = run.read(to, 128);
  for (std::uint32_t lane = 0; lane < 32; ++lane) {
    const std::uint32_t tile = lane < 16 ? 0x0000ffffu : 0xffff0000u;
    EXPECT_EQ(got[lane], lane < 16 ? 120u : 376u) << lane;
    EXPECT_EQ(got[32 + lane], tile) << lane;
    EXPECT_EQ(got[64 + lane], tile) << lane;
    EXPECT_EQ(got[96 + lane], 0xffffffffu) << "the tiles do not come together again";
  }
}

TEST(EmulatorCollective, OneTileThatNeverComesIsReportedAloneAndTheOtherIsRight) {
  EmulatorRun run;
  const DevicePointer to = run.unwritten(512, "to");
  // Lanes 1, 3, ... 15 name themselves only; the even ones of their tile wait for them in vain.
  const std::string text = kernel_of_divergent_tiles("%r7");
  std::string wrong = text;
  wrong.insert(wrong.find("redux"), "selp.b32 %r7, 0x0000aaaa, 0xffff0000, %p1;\n    ");
  run.run(wrong, to);
  ASSERT_GE(run.count("shuffle"), 1u);
  EXPECT_EQ(run.first("shuffle").place.lanes & 0xffff0000u, 0u) << run.seen();
  EXPECT_EQ(run.read(to, 32)[20], 376u);
}

TEST(EmulatorCollective, AMaskThatNamesLanesThatNeverComeIsReported) {
  EmulatorRun run;
  const std::string text = kernel(R"(
    setp.lt.u32 %p1, %t, 16;
    @%p1 bra LOW;
    bar.sync 0;  // OTHERS
    bra DONE;
  LOW:
    shfl.sync.bfly.b32 %r2, %t, 1, 31, 0xffffffff;  // HERE
  DONE:)");
  run.run(text);
  ASSERT_EQ(run.count("shuffle"), 1u) << run.seen();
  const auto seen = run.first("shuffle");
  EXPECT_EQ(seen.place.ptx_line, line_of(text, "HERE"));
  EXPECT_EQ(seen.place.lanes, 0xffffu);
  EXPECT_EQ(seen.other.ptx_line, line_of(text, "OTHERS"));
  EXPECT_EQ(seen.other.lanes, 0xffff0000u);
  // The right mask, and the same with the others gone.
  run.run(kernel(R"(
    setp.gt.u32 %p1, %t, 15;
    @%p1 bra DONE;
    shfl.sync.bfly.b32 %r2, %t, 1, 31, 0x0000ffff;
  DONE:)"));
  EXPECT_EQ(run.seen(), "");
  run.run(kernel(R"(
    setp.gt.u32 %p1, %t, 15;
    @%p1 exit;
    shfl.sync.bfly.b32 %r2, %t, 1, 31, 0xffffffff;)"));
  EXPECT_EQ(run.seen(), "");
}

TEST(EmulatorCollective, AMaskThatDoesNotNameTheLaneIsReported) {
  EmulatorRun run;
  run.run(kernel("bar.warp.sync 0x0000ffff;"));
  ASSERT_EQ(run.count("shuffle"), 1u) << run.seen();
  EXPECT_EQ(run.first("shuffle").place.lanes, 0xffff0000u);
}

}  // namespace
}  // namespace draftproof::gpu::test
