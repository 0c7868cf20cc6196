// KernelLaunch: one launch of one of our kernels as a value. Whoever knows a kernel family makes
// them (gpu/launches/), whoever holds a device runs them: KernelModules under tests and properties,
// the C interface on a stream. No allocation, so that the C interface needs none.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "gpu/device.h"

namespace draftproof::gpu {

/// Bytes of one kernel argument, owned by somebody who outlives the launch.
struct ArgumentView {
  const void* data = nullptr;
  std::size_t bytes = 0;
};

struct KernelLaunch {
  const char* module = "";  ///< stem of the .cu file
  const char* entry = "";
  Dim3 grid;
  Dim3 block;
  std::uint32_t dynamic_shared_bytes = 0;
  bool is_cooperative = false;  ///< its blocks wait for each other
  static constexpr std::size_t kArgumentsMax = 24;
  std::array<ArgumentView, kArgumentsMax> arguments{};
  std::size_t argument_count = 0;

  /// Appends one argument. `value` must outlive the launch. Precondition: fewer than kArgumentsMax.
  template <class T>
  void add(const T& value) {
    arguments[argument_count++] = {&value, sizeof(T)};
  }
};

}  // namespace draftproof::gpu
