// WarpExecution: from an address to bytes. One look-up decides whether an access is inside an
// allocation, whatever its size; the messages for those that are not are made here.
#include <sstream>

#include "gpu/emulator/machine/warp_execution.h"

namespace draftproof::gpu::emulator {

namespace {

bool is_inside(std::uint64_t offset, std::uint64_t width, std::uint64_t bytes) {
  return width <= bytes && offset <= bytes - width;
}

const char* space_name(Window window) {
  switch (window) {
    case Window::kShared:
      return "shared memory";
    case Window::kLocal:
      return "local memory";
    case Window::kParam:
      return "the parameters";
    case Window::kNone:
      return "no window";
    case Window::kGlobal:
      return "global memory";
  }
  return "";
}

/// The window an access of `space` may use, and the offset in it. A generic address says itself.
Window window_for(Space space, std::uint64_t& address) {
  switch (space) {
    case Space::kGlobal:
    case Space::kConst:
      return Window::kGlobal;
    case Space::kShared:
    case Space::kSharedCluster:
      return Window::kShared;
    case Space::kLocal:
      return Window::kLocal;
    case Space::kParam:
      return Window::kParam;
    case Space::kGeneric:
      break;
  }
  const Window window = window_of(address);
  if (window != Window::kGlobal) address &= kWindowBytes - 1;
  return window;
}

}  // namespace

Location WarpExecution::locate(Space space, std::uint64_t address, std::uint64_t width,
                               std::uint32_t lane) {
  Location at;
  at.key = address;
  at.window = window_for(space, address);
  at.offset = address;
  switch (at.window) {
    case Window::kGlobal: {
      Allocation* allocation = launch_.memory.find(address);
      at.offset = address & kRegionMask;
      at.allocation = allocation;
      if (allocation == nullptr || !allocation->is_live ||
          !is_inside(at.offset, width, allocation->bytes)) {
        return at;
      }
      at.data = allocation->data.get() + at.offset;
      at.defined = &allocation->defined;
      at.race = allocation->is_constant ? nullptr : &allocation->race;
      return at;
    }
    case Window::kShared:
      // Blocks have shared memories of their own, so the block is part of the key.
      at.key = kSharedWindow | (std::uint64_t{block_.index} << 24) | (address & 0xffffff);
      if (!is_inside(address, width, block_.shared_bytes)) return at;
      at.data = block_.shared.data() + address;
      at.defined = &block_.shared_defined;
      at.race = &block_.shared_race;
      return at;
    case Window::kLocal:
      if (!is_inside(address, width, launch_.program.local_bytes)) return at;
      at.offset = lane * launch_.program.local_bytes + address;
      at.data = warp_.local.data() + at.offset;
      at.defined = &warp_.local_defined;
      return at;
    case Window::kParam:
      if (!is_inside(address, width, launch_.parameters.size())) return at;
      at.data = const_cast<std::byte*>(launch_.parameters.data()) + address;
      return at;
    case Window::kNone:
      return at;
  }
  return at;
}

void WarpExecution::report_bounds(const Instruction& in, LaneMask lanes, std::uint64_t address,
                                  std::uint64_t width, const char* verb) {
  launch_.observer.add("bounds", party(in, lanes), [&] {
    return std::string(verb) + " of " + std::to_string(width) + " bytes at " +
           describe(in.access.space, address, width);
  });
}

std::string WarpExecution::describe(Space space, std::uint64_t address, std::uint64_t width) const {
  std::uint64_t offset = address;
  const Window window = window_for(space, offset);
  if (window == Window::kGlobal) {
    const bool is_foreign = window_of(address) != Window::kGlobal;
    if (is_foreign) {
      std::ostringstream out;
      out << "address 0x" << std::hex << address << ", which is not in global memory but in "
          << space_name(window_of(address));
      return out.str();
    }
    return launch_.memory.describe(address, width);
  }
  std::uint64_t bytes = 0;
  if (window == Window::kShared) bytes = block_.shared_bytes;
  if (window == Window::kLocal) bytes = launch_.program.local_bytes;
  if (window == Window::kParam) bytes = launch_.parameters.size();
  std::string text = "offset " + std::to_string(offset) + " of " + space_name(window) + " (" +
                     std::to_string(bytes) + " bytes)";
  if (offset >= bytes) {
    text += ", " + std::to_string(offset - bytes) + " bytes past its end";
  } else if (width > bytes - offset) {
    text += ", across its end";
  }
  return text;
}

std::string WarpExecution::describe(const Location& location, std::uint64_t width) const {
  std::string text =
      std::to_string(width) + " bytes at offset " + std::to_string(location.offset) + " of ";
  if (location.allocation != nullptr) {
    return text + "allocation '" + location.allocation->label + "' (" +
           std::to_string(location.allocation->bytes) + " bytes)";
  }
  return text + space_name(location.window);
}

}  // namespace draftproof::gpu::emulator
