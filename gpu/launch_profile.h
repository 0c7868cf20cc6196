// LaunchProfile: what a launch asked of a machine, counted on the emulated device, where no time
// can be measured. The counters are of PTX, before ptxas, and know no cache; what they are held
// against is a floor (tools/docs/kernel_costs.md). A kernel that polls is counted under its
// schedule.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace draftproof::gpu {

/// Loads or stores of global memory. A sector is 32 bytes, aligned: what L2 and DRAM move.
struct GlobalTraffic {
  std::uint64_t accesses = 0;           ///< warp instructions with a lane that accesses
  std::uint64_t requested_sectors = 0;  ///< sectors that each access touches, summed: no cache
  std::uint64_t ideal_sectors = 0;      ///< the fewest that each access's bytes fit in, summed
  std::uint64_t distinct_sectors =
      0;  ///< sectors that a block touches, once each; summed over blocks
  /// 1 when no access touches a sector more than its bytes need.
  double coalescing() const {
    return requested_sectors == 0
               ? 1.0
               : static_cast<double>(ideal_sectors) / static_cast<double>(requested_sectors);
  }
};

/// Loads and stores of shared memory: 32 banks of 4 bytes. Lanes that name the same word are served
/// together; accesses of 8 and 16 bytes go in halves and quarters of a warp.
struct SharedTraffic {
  std::uint64_t accesses = 0;
  std::uint64_t wavefronts = 0;        ///< turns that the banks need
  std::uint64_t ideal_wavefronts = 0;  ///< one for each warp, half or quarter with a lane
  std::uint64_t conflicts() const { return wavefronts - ideal_wavefronts; }
};

/// atom and red. Operations on one address go one after another.
struct AtomicTraffic {
  std::uint64_t accesses = 0;    ///< warp instructions
  std::uint64_t operations = 0;  ///< lanes
  std::uint64_t turns = 0;       ///< the most lanes on one address of each access, summed
  /// The most operations on one address: of the launch for global, of a block for shared memory.
  std::uint64_t queue_max = 0;
};

enum class InstructionClass : std::uint8_t {
  kFloat32,
  kFloat64,
  kHalf,      ///< 16-bit floating point, packed or not
  kInteger,   ///< and logic, compares, selects, moves, address conversions
  kSpecial,   ///< approximate functions, divisions, roots, conversions between types
  kMemory,    ///< loads, stores, atomics of any space, and copies between spaces
  kExchange,  ///< values or votes among the lanes of a warp
  kControl,   ///< branches, exits, barriers, fences
};
inline constexpr std::size_t kInstructionClasses = 8;

/// "float32", "float64", "half", "integer", "special", "memory", "exchange", "control".
constexpr const char* to_string(InstructionClass kind) {
  constexpr std::array<const char*, kInstructionClasses> kNames{
      "float32", "float64", "half", "integer", "special", "memory", "exchange", "control"};
  return kNames[static_cast<std::size_t>(kind)];
}

struct LaunchProfile {
  std::uint64_t blocks = 0;
  std::uint64_t warps = 0;

  GlobalTraffic loads;  ///< atomics aside
  GlobalTraffic stores;
  SharedTraffic shared;
  AtomicTraffic global_atomics;
  AtomicTraffic shared_atomics;
  std::uint64_t local_accesses = 0;  ///< warp instructions on local memory: a stack, or spills

  std::uint64_t barriers = 0;            ///< of blocks, completed
  std::uint64_t barriers_block_max = 0;  ///< in one block
  std::uint64_t barriers_warp_max = 0;   ///< that one warp waited at: the critical path

  std::uint64_t warp_instructions = 0;
  std::uint64_t warp_instructions_max = 0;                    ///< of one warp: the critical path
  std::uint64_t thread_instructions = 0;                      ///< lanes whose guard holds
  std::array<std::uint64_t, kInstructionClasses> by_class{};  ///< warp instructions

  std::uint64_t branches = 0;  ///< conditional or indexed, one a warp that executes it
  std::uint64_t divergent_branches = 0;
  double active_lanes() const {
    return warp_instructions == 0
               ? 0.0
               : static_cast<double>(thread_instructions) / static_cast<double>(warp_instructions);
  }
};

}  // namespace draftproof::gpu
