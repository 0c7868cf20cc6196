// GlobalMemory: the device's allocations. Each has its own region of the address space, its own
// bytes, a shadow that says which bytes are defined, and one that says who touched them last.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "gpu/emulator/checks/defined_bytes.h"
#include "gpu/emulator/checks/race_shadow.h"
#include "gpu/emulator/machine/address.h"

namespace draftproof::gpu::emulator {

struct Allocation {
  std::string label;
  std::uint64_t address = 0;
  std::uint64_t bytes = 0;
  std::unique_ptr<std::byte[]> data;
  DefinedBytes defined;
  RaceShadow race;
  bool is_live = true;
  bool is_constant = false;  ///< .const: a store is out of bounds
};

/// Addresses are deterministic. The region of a freed allocation is used again only after
/// kQuarantine later frees, so that a use after free is found for long.
class GlobalMemory {
 public:
  static constexpr std::size_t kQuarantine = 16384;
  /// Regions lie below the windows.
  static constexpr std::size_t kRegionsMax = (kSharedWindow >> kRegionShift) - 1;

  /// What live allocations may hold together, well below a real device's: a size that is a typing
  /// error must not become the host's trouble.
  static constexpr std::uint64_t kBytesMax = std::uint64_t{8} << 30;

  /// Throws Error(kInput) when the allocation, all live ones or their number are too large.
  std::uint64_t allocate(std::uint64_t bytes, std::string_view label);
  /// Throws Error(kInput) unless `address` is what allocate() returned and is still live.
  void free(std::uint64_t address);
  /// The allocation whose region `address` lies in, live or freed; null when there is none.
  Allocation* find(std::uint64_t address) {
    const std::uint64_t region = address >> kRegionShift;
    if (region == 0 || region > regions_.size()) return nullptr;
    return regions_[region - 1].get();
  }
  /// Both throw Error(kInput) for a range outside a live allocation.
  void write(std::uint64_t to, std::span<const std::byte> from);
  void read(std::uint64_t from, std::span<std::byte> to, std::optional<std::byte> poison);
  /// Forgets who touched what in all allocations.
  void clear_races();
  /// "N bytes before/after/inside ... of allocation 'label' (M bytes)".
  std::string describe(std::uint64_t address, std::uint64_t width);

 private:
  Allocation& host_range(std::uint64_t address, std::uint64_t count, const char* what);

  std::size_t choose_region();

  std::vector<std::unique_ptr<Allocation>> regions_;
  std::uint64_t live_bytes_ = 0;
  std::deque<std::size_t> freed_;  ///< regions, oldest first
};

}  // namespace draftproof::gpu::emulator
