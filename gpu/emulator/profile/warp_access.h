// WarpAccess: the addresses of one memory instruction, and what they cost.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "gpu/emulator/code/program.h"

namespace draftproof::gpu::emulator {

struct WarpAccess {
  std::array<std::uint64_t, kLanes> addresses{};  ///< of the lanes that access, in their order
  std::array<std::uint8_t, kLanes> lanes{};       ///< which lane each is of
  std::size_t count = 0;
  std::uint32_t width = 0;  ///< bytes a lane

  void add(std::uint32_t lane, std::uint64_t address) {
    lanes[count] = static_cast<std::uint8_t>(lane);
    addresses[count++] = address;
  }
};

/// Different values in ascending order.
struct DistinctValues {
  std::array<std::uint64_t, 2 * kLanes> values;
  std::size_t count = 0;
};

/// The sectors that an access of global memory touches.
DistinctValues sectors_of(const WarpAccess& access);

/// How few sectors could hold the bytes of an access: those that lanes share count once.
/// Precondition: addresses are multiples of the width, as the machine demands.
std::uint64_t ideal_sectors_of(const WarpAccess& access);

struct Wavefronts {
  std::uint64_t needed = 0;
  std::uint64_t ideal = 0;  ///< without a conflict
};

/// Turns that the banks of shared memory need for an access.
Wavefronts wavefronts_of(const WarpAccess& access);

/// The most lanes that name one address.
std::uint64_t most_on_one_address(const WarpAccess& access);

}  // namespace draftproof::gpu::emulator
