// Warp: the registers of 32 lanes and where each of them stands. Lanes that stand at the same
// instruction form a strand; strands run one at a time, the one furthest behind first, and join
// when they meet, which reconverges code in the order in which compilers lay it out. Hardware
// promises no lock-step either (Volta and later), so any order of strands is a legal execution.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "gpu/emulator/checks/defined_bytes.h"
#include "gpu/emulator/code/program.h"

namespace draftproof::gpu::emulator {

/// What a strand waits for.
enum class Wait : std::uint8_t {
  kNothing,
  kLanes,    ///< the other lanes that a collective's mask names
  kWarp,     ///< the rest of its warp, at a barrier that must be reached together
  kBarrier,  ///< arrived at a barrier of the block
};

struct Strand {
  std::uint32_t pc = 0;
  LaneMask mask = 0;
  Wait wait = Wait::kNothing;
  std::uint8_t barrier = 0;  ///< kBarrier: its number
  bool alone = false;        ///< goes on though others are missing: already reported
};

/// One cp.async that was not delivered yet.
struct PendingCopy {
  std::uint64_t to = 0;  ///< offset in shared memory
  std::array<std::byte, 16> bytes{};
  std::uint16_t defined = 0;  ///< one bit a byte
  std::uint8_t count = 0;
  std::uint8_t lane = 0;
  bool is_committed = false;
  std::uint32_t group = 0;  ///< commit number of the lane
  const Instruction* instruction = nullptr;
};

struct Warp {
  std::uint32_t index = 0;
  LaneMask live = 0;
  std::vector<Strand> strands;
  std::vector<std::byte> registers;
  std::vector<LaneMask> validity;
  Frame frame;
  std::vector<std::byte> local;  ///< lane after lane
  DefinedBytes local_defined;
  std::vector<PendingCopy> copies;
  std::array<std::uint32_t, kLanes> commits{};

  // Polling: the same strong load of the same address gave the same value again and again.
  std::uint64_t poll_key = 0;
  std::uint32_t polls = 0;
  bool gave_way = false;  ///< lets others run first in this round
  bool rotate = false;    ///< another strand's turn, though this one is behind
  std::uint32_t last_pc = 0;

  /// False when every strand waits for other warps.
  bool is_runnable() const {
    bool has_arrived = false;
    for (const Strand& strand : strands) {
      if (strand.wait == Wait::kNothing) return true;
      has_arrived = has_arrived || strand.wait == Wait::kBarrier;
    }
    // Strands that wait for each other only are sorted out when the warp runs.
    return !strands.empty() && !has_arrived;
  }
  /// Joins strands that stand at the same instruction. A strand that waited is asked again.
  void merge();
  /// Lanes have left: what waited for them must be asked again.
  void ask_again();
};

/// Bits [0, count).
constexpr LaneMask first_lanes(std::uint32_t count) {
  return count >= kLanes ? ~LaneMask{0} : (LaneMask{1} << count) - 1;
}

}  // namespace draftproof::gpu::emulator
