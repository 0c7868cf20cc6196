// CudaTiming: how long launches take on a GPU, by events on its own clock.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "gpu/device.h"

namespace draftproof::gpu {

struct TimedLaunch {
  const Module* module = nullptr;
  std::string entry;
  LaunchOptions options;
  std::vector<Argument> arguments;
};

struct TimingOptions {
  int repeats = 20;
  int warm_ups = 3;      ///< before them, not timed
  bool is_cold = false;  ///< twice the L2's size is written over before every repeat
};

/// Microseconds from the start of the first launch to the end of the last one, for each repeat. All
/// launches of a repeat are queued at once, so that the host's part shows only where the GPU waits
/// for it. Cold, it does so behind the write that clears L2, which hides the host's part. Throws
/// BrokenInvariant when `device` is no GPU, and Error(kEnvironment) when a launch fails.
std::vector<double> time_launches(Device& device, std::span<const TimedLaunch> launches,
                                  const TimingOptions& options);

/// Multiprocessors of a GPU; 132, those of an H100 or H200, on a device that is none.
std::uint32_t multiprocessors(const Device& device);

}  // namespace draftproof::gpu
