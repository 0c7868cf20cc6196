// GlobalMemory: see the header.
#include "gpu/emulator/machine/memory.h"

#include <algorithm>
#include <cstring>
#include <sstream>

#include "reference/error.h"

namespace draftproof::gpu::emulator {

namespace {

/// What memory that no one wrote holds: a value that is neither zero nor a plausible number.
constexpr int kUnwritten = 0xcb;

std::string hexadecimal(std::uint64_t value) {
  std::ostringstream out;
  out << "0x" << std::hex << value;
  return out.str();
}

}  // namespace

std::size_t GlobalMemory::choose_region() {
  if (freed_.size() > kQuarantine) {
    const std::size_t region = freed_.front();
    freed_.pop_front();
    return region;
  }
  if (regions_.size() >= kRegionsMax) {
    throw Error(ErrorKind::kInput,
                std::to_string(kRegionsMax) + " allocations are live or newly freed; free some");
  }
  regions_.emplace_back();
  return regions_.size() - 1;
}

std::uint64_t GlobalMemory::allocate(std::uint64_t bytes, std::string_view label) {
  static_assert(kBytesMax <= kRegionMask);
  if (bytes > kBytesMax - live_bytes_) {
    throw Error(ErrorKind::kInput, "an allocation of " + std::to_string(bytes) + " bytes ('" +
                                       std::string(label) + "') beside " +
                                       std::to_string(live_bytes_) +
                                       " live ones does not fit the emulated device's " +
                                       std::to_string(kBytesMax) + "; allocate less");
  }
  auto allocation = std::make_unique<Allocation>();
  allocation->label = label;
  const std::size_t region = choose_region();
  allocation->address = (std::uint64_t{region} + 1) << kRegionShift;
  allocation->bytes = bytes;
  allocation->data.reset(new std::byte[bytes]);
  std::memset(allocation->data.get(), kUnwritten, bytes);
  allocation->defined = DefinedBytes(bytes);
  allocation->race = RaceShadow(bytes);
  regions_[region] = std::move(allocation);
  live_bytes_ += bytes;
  return regions_[region]->address;
}

void GlobalMemory::free(std::uint64_t address) {
  Allocation* allocation = find(address);
  if (allocation == nullptr || allocation->address != address || !allocation->is_live) {
    throw Error(ErrorKind::kInput,
                "free of " + hexadecimal(address) + ", which is not a live allocation");
  }
  freed_.push_back((address >> kRegionShift) - 1);
  allocation->is_live = false;
  live_bytes_ -= allocation->bytes;
  allocation->data.reset();
  allocation->defined = DefinedBytes();
  allocation->race = RaceShadow();
}

Allocation& GlobalMemory::host_range(std::uint64_t address, std::uint64_t count, const char* what) {
  Allocation* allocation = find(address);
  const std::uint64_t offset = address & kRegionMask;
  if (allocation == nullptr || !allocation->is_live || offset > allocation->bytes ||
      count > allocation->bytes - offset) {
    throw Error(ErrorKind::kInput, std::string(what) + " of " + std::to_string(count) +
                                       " bytes at " + describe(address, count));
  }
  return *allocation;
}

void GlobalMemory::write(std::uint64_t to, std::span<const std::byte> from) {
  Allocation& allocation = host_range(to, from.size(), "host write");
  if (from.empty()) return;
  const std::uint64_t offset = to & kRegionMask;
  std::memcpy(allocation.data.get() + offset, from.data(), from.size());
  allocation.defined.define(offset, from.size());
}

void GlobalMemory::read(std::uint64_t from, std::span<std::byte> to,
                        std::optional<std::byte> poison) {
  Allocation& allocation = host_range(from, to.size(), "host read");
  if (to.empty()) return;
  const std::uint64_t offset = from & kRegionMask;
  const std::uint64_t end = offset + to.size();
  std::uint64_t undefined = allocation.defined.first_undefined(offset, to.size());
  if (undefined != end && !poison) {
    throw Error(ErrorKind::kInput, "host read of byte " + std::to_string(undefined) +
                                       " of allocation '" + allocation.label + "' (" +
                                       std::to_string(allocation.bytes) +
                                       " bytes), which no one has written; write it or give a "
                                       "poison byte");
  }
  std::memcpy(to.data(), allocation.data.get() + offset, to.size());
  while (undefined != end) {
    to[undefined - offset] = *poison;
    ++undefined;
    undefined = allocation.defined.first_undefined(undefined, end - undefined);
  }
}

void GlobalMemory::clear_races() {
  for (auto& allocation : regions_) {
    if (allocation != nullptr) allocation->race.clear();
  }
}

std::string GlobalMemory::describe(std::uint64_t address, std::uint64_t width) {
  const Allocation* allocation = find(address);
  const std::uint64_t offset = address & kRegionMask;
  if (allocation == nullptr) {
    // A pointer a little below an allocation lands at the top of the region before it.
    const Allocation* above = find(address + (kRegionMask >> 1));
    if (above != nullptr && above->address > address) {
      return "address " + hexadecimal(address) + ", " + std::to_string(above->address - address) +
             " bytes before allocation '" + above->label + "' (" + std::to_string(above->bytes) +
             " bytes)";
    }
    return "address " + hexadecimal(address) +
           (address <= kRegionMask ? ", a null pointer plus an offset" : ", no allocation");
  }
  if (offset > (kRegionMask >> 1)) {
    const Allocation* above = find(address + (kRegionMask >> 1));
    if (above != nullptr && above != allocation) {
      return std::to_string(above->address - address) + " bytes before allocation '" +
             above->label + "' (" + std::to_string(above->bytes) + " bytes)";
    }
  }
  std::string text = "offset " + std::to_string(offset) + " of allocation '" + allocation->label +
                     "' (" + std::to_string(allocation->bytes) + " bytes)";
  if (!allocation->is_live) return text + ", which was freed";
  if (offset >= allocation->bytes) {
    text += ", " + std::to_string(offset - allocation->bytes) + " bytes past its end";
  } else if (width > allocation->bytes - offset) {
    text += ", across its end";
  }
  return text;
}

}  // namespace draftproof::gpu::emulator
