// Address: how a 64-bit device address names a byte. Every global allocation is a region of its
// own, 2^40 bytes apart, so that a bounds check is one look-up and an overrun never lands in a
// neighbour; the windows of shared, local and parameter space sit above all regions (program.h).
#pragma once

#include <cstdint>

#include "gpu/emulator/code/program.h"

namespace draftproof::gpu::emulator {

inline constexpr int kRegionShift = 40;
inline constexpr std::uint64_t kRegionMask = (std::uint64_t{1} << kRegionShift) - 1;

/// Which window a generic address lies in.
enum class Window : std::uint8_t { kGlobal = 0, kShared = 1, kLocal = 2, kParam = 3, kNone = 4 };

constexpr Window window_of(std::uint64_t address) {
  const std::uint64_t window = address / kWindowBytes;
  return window <= 3 ? static_cast<Window>(window) : Window::kNone;
}
static_assert(window_of(kSharedWindow) == Window::kShared &&
              window_of(kLocalWindow) == Window::kLocal &&
              window_of(kParamWindow) == Window::kParam);

}  // namespace draftproof::gpu::emulator
