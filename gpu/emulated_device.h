// EmulatedDevice: the device that runs PTX on the CPU and watches every byte (emulator/). It needs
// no GPU, runs the same in every place, and replays.
#pragma once

#include <cstdint>
#include <memory>

#include "gpu/device.h"

namespace draftproof::gpu {

/// Which checks run, and how a grid is scheduled. Everything is on by default; a benchmark may
/// switch a check off.
struct EmulatedDeviceOptions {
  bool check_races = true;
  bool check_uninitialised = true;  ///< report; tracking itself stays on
  bool counts_costs = false;        ///< fills LaunchReport::profile; off, it costs nothing
  /// Blocks that are resident at the same time. Blocks that wait for each other must all be.
  std::uint32_t blocks_in_flight = 1024;
  /// Warp instructions of one turn of a block, at most.
  std::uint64_t block_quantum = 1 << 16;
  /// Warp instructions of one turn of a warp, at most, under ScheduleKind::kRandom.
  std::uint64_t warp_quantum = 1 << 10;
  /// Used where LaunchOptions gives none.
  std::uint64_t warp_instruction_limit = std::uint64_t{1} << 28;
};

std::unique_ptr<Device> make_emulated_device(const EmulatedDeviceOptions& options = {});

/// A hash of the order in which the last launch ran its warps: equal for equal seeds. Throws
/// BrokenInvariant when `device` is not emulated.
std::uint64_t last_trace_hash(const Device& device);

}  // namespace draftproof::gpu
