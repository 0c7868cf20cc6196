// The parts of the checks by themselves: what is kept and counted, which bytes are defined, and
// what follows when the stamps of accesses run out.
#include <gtest/gtest.h>

#include <random>
#include <vector>

#include "gpu/emulator/checks/defined_bytes.h"
#include "gpu/emulator/checks/happens_before.h"
#include "gpu/emulator/checks/observer.h"
#include "gpu/emulator/checks/race_shadow.h"

namespace draftproof::gpu::emulator {
namespace {

TEST(Observer, KeepsEachFindingOnceAndCapsTheDistinctOnes) {
  Program program;
  program.info.name = "k";
  program.instructions.resize(Observer::kDistinctMax + 5);
  const std::vector<std::string> files;
  Observer observer(program, files, "random:1");
  int messages = 0;
  const auto message = [&] {
    ++messages;
    return std::string("text");
  };
  for (int round = 0; round < 3; ++round) {
    for (Instruction& instruction : program.instructions) {
      observer.add("race", Party{&instruction, 0, 0, 1}, message);
    }
  }
  const auto seen = observer.take();
  ASSERT_EQ(seen.size(), Observer::kDistinctMax + 1);
  EXPECT_EQ(messages, static_cast<int>(Observer::kDistinctMax));
  EXPECT_EQ(seen.front().count, 3u);
  EXPECT_EQ(seen.back().check, "limit");
  EXPECT_EQ(seen.back().count, 15u);
}

TEST(Observer, TellsPartiesApart) {
  Program program;
  program.instructions.resize(3);
  const std::vector<std::string> files;
  Observer observer(program, files, "");
  const auto party = [&](int i) { return Party{&program.instructions[i], 0, 0, 1}; };
  observer.add(
      "race", party(0), [] { return ""; }, party(1));
  observer.add(
      "race", party(0), [] { return ""; }, party(2));
  observer.add(
      "bounds", party(0), [] { return ""; }, party(1));
  observer.add(
      "race", party(0), [] { return ""; }, party(1));
  EXPECT_EQ(observer.take().size(), 3u);
}

TEST(DefinedBytes, AgreesWithAPlainTable) {
  constexpr std::uint64_t kBytes = 200;
  std::mt19937 random(7);
  for (int round = 0; round < 20; ++round) {
    DefinedBytes defined(kBytes);
    std::vector<bool> table(kBytes, false);
    for (int step = 0; step < 60; ++step) {
      const std::uint64_t offset = random() % kBytes;
      const std::uint64_t count = step % 17 == 16 ? 0 : random() % (kBytes - offset) + 1;
      const bool sets = random() % 4 != 0;
      const bool whole = random() % 20 == 0;
      const std::uint64_t from = whole ? 0 : offset;
      const std::uint64_t size = whole ? kBytes : count;
      if (sets) {
        defined.define(from, size);
      } else {
        defined.undefine(from, size);
      }
      for (std::uint64_t i = from; i < from + size; ++i) table[i] = sets;
      const std::uint64_t probe = random() % kBytes;
      const std::uint64_t width = random() % (kBytes - probe) + 1;
      std::uint64_t first = probe;
      while (first < probe + width && table[first]) ++first;
      ASSERT_EQ(defined.is_defined(probe, width), first == probe + width);
      ASSERT_EQ(defined.first_undefined(probe, width), first);
    }
  }
}

/// Warps 0 and 1 of block 0, stamped as the machine does.
struct TwoWarps {
  BlockClocks clocks;
  TwoWarps() { clocks.start(0, 2, 1); }
  Accessor accessor(std::uint32_t warp) const {
    Accessor by;
    by.self = warp;
    by.now = clocks.warp(warp).now;
    by.settled = by.floor = clocks.floor();
    by.block_warps = 2;
    by.clocks = &clocks;
    return by;
  }
};

TEST(RaceShadow, RefinesAPageWithoutForgetting) {
  TwoWarps warps;
  RaceShadow shadow(64);
  Conflicts conflicts;
  EXPECT_TRUE(shadow.write(8, 4, 4, 3, warps.accessor(0), conflicts));
  // A byte beside the word is free, a byte of it is not.
  EXPECT_TRUE(shadow.write(12, 1, 1, 0, warps.accessor(1), conflicts));
  EXPECT_FALSE(shadow.read(11, 1, 1, 0, warps.accessor(1), conflicts));
  ASSERT_EQ(conflicts.size(), 1u);
  EXPECT_EQ(conflicts[0].who, 0u);
  EXPECT_TRUE(conflicts[0].is_write);
  EXPECT_EQ(AccessTag::lane(conflicts[0].tag), 3u);
  conflicts.clear();
  warps.clocks.meet_all();
  EXPECT_TRUE(shadow.read(8, 4, 4, 0, warps.accessor(1), conflicts));
}

TEST(RaceShadow, RemembersTheFirstAndTheLastReader) {
  TwoWarps warps;
  RaceShadow shadow(64);
  Conflicts conflicts;
  EXPECT_TRUE(shadow.read(0, 4, 4, 0, warps.accessor(0), conflicts));
  EXPECT_TRUE(shadow.read(0, 4, 4, 0, warps.accessor(1), conflicts));
  EXPECT_FALSE(shadow.write(0, 4, 4, 0, warps.accessor(0), conflicts));
  conflicts.clear();
  RaceShadow other(64);
  EXPECT_TRUE(other.read(0, 4, 4, 0, warps.accessor(0), conflicts));
  EXPECT_TRUE(other.write(0, 4, 4, 0, warps.accessor(0), conflicts));
  EXPECT_FALSE(other.write(0, 4, 4, 0, warps.accessor(1), conflicts));
  EXPECT_EQ(conflicts.size(), 2u);
  other.clear();
  conflicts.clear();
  EXPECT_TRUE(other.write(0, 4, 4, 0, warps.accessor(1), conflicts));
}

TEST(HappensBefore, AReleaseCoversWhatCameBeforeItOnly) {
  BlockClocks first;
  BlockClocks second;
  first.start(0, 1, 5);
  second.start(1, 1, 5);
  const Clock before = first.warp(0).now;
  const KnowledgePointer released = first.release(0, true);
  const Clock after = first.warp(0).now;
  second.acquire(0, released);
  ASSERT_NE(second.warp(0).remote, nullptr);
  EXPECT_TRUE(second.warp(0).remote->covers(0, 0, before));
  EXPECT_FALSE(second.warp(0).remote->covers(0, 0, after));
  // Handed on by a third block, it is still known.
  BlockClocks third;
  third.start(2, 1, 5);
  third.acquire(0, second.release(0, true));
  EXPECT_TRUE(third.warp(0).remote->covers(0, 0, before));
  EXPECT_TRUE(third.warp(0).remote->covers(1, 0, 5));
  EXPECT_FALSE(third.warp(0).remote->covers(0, 0, after));
  // A release of block scope says nothing to another block.
  BlockClocks fourth;
  fourth.start(3, 1, 5);
  fourth.acquire(0, first.release(0, false));
  EXPECT_EQ(fourth.warp(0).remote, nullptr);
}

}  // namespace
}  // namespace draftproof::gpu::emulator
