// LaunchCounters: fills a LaunchProfile while a launch runs. The machine tells it of every step of
// a warp; addresses are read from the registers, before the access happens. A poll, the same strong
// load of the same addresses by a warp again, is traffic once: how often it is repeated says the
// schedule, not the kernel. As instructions all of them count.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "gpu/emulator/code/program.h"
#include "gpu/emulator/profile/sector_set.h"
#include "gpu/emulator/profile/warp_access.h"
#include "gpu/launch_profile.h"

namespace draftproof::gpu::emulator {

class LaunchCounters {
 public:
  /// `forms`: the module's, by Instruction::form.
  LaunchCounters(const std::vector<std::string>& forms, std::uint32_t warps_a_block);

  /// One warp instruction. `mask`: the lanes that stand at it; `active`: those whose guard holds.
  void step(const Instruction& in, const Frame& frame, LaneMask mask, LaneMask active,
            std::uint32_t block, std::uint32_t warp);
  /// A warp waits at a barrier of its block.
  void barrier_waited(std::uint32_t block, std::uint32_t warp);
  void barrier_completed(std::uint32_t block);
  /// The block has ended: its own counts join the launch's.
  void retire(std::uint32_t block);
  /// Blocks that did not end count as far as they came.
  LaunchProfile take();

 private:
  using Queues = std::unordered_map<std::uint64_t, std::uint64_t>;  ///< operations by address
  struct BlockCounts {
    std::vector<std::uint64_t> instructions;  ///< by warp
    std::vector<std::uint64_t> waits;         ///< at barriers, by warp
    std::vector<std::uint64_t> polls;         ///< a hash of the last strong load, by warp
    std::uint64_t barriers = 0;
    SectorSet loaded, stored;
    Queues atomics;  ///< shared memory
  };

  BlockCounts& counts_of(std::uint32_t block);
  void fold(const BlockCounts& counts);
  void access(const Instruction& in, const Frame& frame, LaneMask active, BlockCounts& counts,
              std::uint32_t warp);
  void global_access(const WarpAccess& access, GlobalTraffic& traffic, SectorSet& sectors);
  static void atomic_access(const WarpAccess& access, AtomicTraffic& traffic, Queues& queues);

  std::vector<InstructionClass> classes_;  ///< by form
  std::uint32_t warps_a_block_;
  LaunchProfile profile_;
  std::unordered_map<std::uint32_t, BlockCounts> blocks_;  ///< whose elements stay where they are
  BlockCounts* last_ = nullptr;
  std::uint32_t last_block_ = 0;
  Queues global_queues_;
};

}  // namespace draftproof::gpu::emulator
