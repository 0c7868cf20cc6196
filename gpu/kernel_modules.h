// KernelModules: the texts of our kernels on a device, each loaded when it is first launched.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "gpu/device.h"
#include "gpu/kernel_launch.h"

namespace draftproof::gpu {

/// PTX texts by module name: "shaping", "chain", ...
using KernelTexts = std::map<std::string, std::string>;

/// False in a build without nvcc that was given no PTX built elsewhere.
bool kernels_are_embedded();

/// The embedded texts. Throws Error(kEnvironment) with the remedy when there are none.
KernelTexts embedded_texts();

/// In which order a launch runs, where the device has a say, and when it is stopped.
struct LaunchManner {
  reference::ScheduleKind schedule = reference::ScheduleKind::kRandom;
  std::uint64_t schedule_seed = 1;
  std::uint64_t warp_instruction_limit = 0;  ///< 0: the device's default
};

class KernelModules {
 public:
  /// `device` must outlive this. `texts`: embedded_texts(), or some of them broken on purpose.
  KernelModules(Device& device, KernelTexts texts);

  Device& device() const { return device_; }
  /// Throws Error(kInput) when there is no such module or its text does not load.
  const Module& module(std::string_view name);
  /// A fault of the kernel is an observation in the report. Throws as Device::launch.
  LaunchReport launch(const KernelLaunch& launch, const LaunchManner& manner = {});

 private:
  Device& device_;
  KernelTexts texts_;
  std::map<std::string, std::unique_ptr<Module>, std::less<>> loaded_;
};

}  // namespace draftproof::gpu
