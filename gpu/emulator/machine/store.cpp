// WarpExecution: stores. The values of all lanes are packed first, so that the race check can
// compare what is written with what is there. Storing an undefined value to global memory is
// reported; to shared or local memory it travels on silently.
#include <bit>
#include <cstring>

#include "gpu/emulator/machine/warp_execution.h"

namespace draftproof::gpu::emulator {

namespace {

constexpr std::size_t kPackedBytes = std::size_t{kLanes} * 32;

template <class M, class R>
void pack(const R* from, std::byte* to, std::uint32_t stride) {
  if constexpr (sizeof(M) == sizeof(R)) {
    if (stride == sizeof(M)) {
      std::memcpy(to, from, sizeof(M) * kLanes);
      return;
    }
  }
  for (int lane = 0; lane < kLanes; ++lane) {
    const M value = static_cast<M>(from[lane]);
    std::memcpy(to + static_cast<std::size_t>(lane) * stride, &value, sizeof value);
  }
}

template <class M>
void pack_from(const Frame& frame, const Operand& from, std::byte* to, std::uint32_t stride) {
  if (from.bytes == 8) {
    pack<M>(frame.lanes<std::uint64_t>(from), to, stride);
  } else {
    pack<M>(frame.lanes<std::uint32_t>(from), to, stride);
  }
}

void pack_element(const Frame& frame, const Operand& from, std::uint32_t element_bytes,
                  std::byte* to, std::uint32_t stride) {
  switch (element_bytes) {
    case 1:
      pack_from<std::uint8_t>(frame, from, to, stride);
      return;
    case 2:
      pack_from<std::uint16_t>(frame, from, to, stride);
      return;
    case 4:
      pack_from<std::uint32_t>(frame, from, to, stride);
      return;
    default:
      pack_from<std::uint64_t>(frame, from, to, stride);
  }
}

}  // namespace

void WarpExecution::store(const Instruction& in, LaneMask active) {
  const Access& access = in.access;
  const std::uint32_t width = access.element_bytes * std::uint32_t{access.elements};
  Addresses addresses;
  LaneMask able = gather_addresses(in, active, addresses);
  Shape shape = shape_of(addresses, able, width);
  if (!is_aligned(addresses, able, shape, width)) {
    able = aligned_lanes(in, able, addresses, width);
    shape = Shape::kScattered;
  }
  if (able == 0) return;
  alignas(16) std::byte values[kPackedBytes];
  for (std::uint32_t e = 0; e < access.elements; ++e) {
    pack_element(frame_, in.sources[e], access.element_bytes, values + e * access.element_bytes,
                 width);
  }
  const bool is_strong = access.order != Order::kWeak;
  const auto first = static_cast<std::uint32_t>(std::countr_zero(able));
  if (shape == Shape::kContiguous && !is_strong) {
    const auto total = width * static_cast<std::uint32_t>(std::popcount(able));
    const Location at = locate(access.space, addresses[first], total, first);
    if (at.data != nullptr && at.window != Window::kLocal && at.window != Window::kParam &&
        (at.allocation == nullptr || !at.allocation->is_constant)) {
      store_contiguous(in, able, at, values + std::size_t{first} * width);
      return;
    }
  } else if (shape == Shape::kUniform && !is_strong) {
    const Location at = locate(access.space, addresses[first], width, first);
    if (at.data != nullptr && at.race != nullptr) {
      store_uniform(in, able, at, values);
      return;
    }
  }
  store_scattered(in, able, addresses, values);
}

void WarpExecution::report_undefined_store(const Instruction& in, LaneMask active) {
  LaneMask undefined = 0;
  for (std::uint32_t e = 0; e < in.access.elements; ++e) {
    undefined |= active & ~frame_.valid(in.sources[e]);
  }
  if (undefined != 0) report_undefined(in, undefined, "value stored to global memory");
}

void WarpExecution::define_stored(const Instruction& in, LaneMask active, const Location& location,
                                  std::uint32_t stride) {
  const Access& access = in.access;
  const std::uint32_t width = access.element_bytes * std::uint32_t{access.elements};
  const std::uint64_t lanes = stride == 0 ? 1 : static_cast<std::uint64_t>(std::popcount(active));
  location.defined->define(location.offset, lanes * width);
  // A global store of an undefined value was reported; what follows from it would be the same news.
  if (location.window == Window::kGlobal) return;
  const auto first = static_cast<std::uint32_t>(std::countr_zero(active));
  for (std::uint32_t e = 0; e < access.elements; ++e) {
    LaneMask undefined = active & ~frame_.valid(in.sources[e]);
    for (; undefined != 0; undefined &= undefined - 1) {
      const auto lane = static_cast<std::uint32_t>(std::countr_zero(undefined));
      location.defined->undefine(
          location.offset + std::uint64_t{lane - first} * stride + e * access.element_bytes,
          access.element_bytes);
    }
  }
}

void WarpExecution::store_contiguous(const Instruction& in, LaneMask active,
                                     const Location& location, const std::byte* values) {
  const std::uint32_t width = in.access.element_bytes * std::uint32_t{in.access.elements};
  const std::uint64_t total =
      std::uint64_t{width} * static_cast<std::uint64_t>(std::popcount(active));
  if (location.window == Window::kGlobal) {
    report_undefined_store(in, active);
    launch_.report.global_bytes_written += total;
  }
  watch_write(in, active, location, total, width, values);
  std::memcpy(location.data, values, total);
  define_stored(in, active, location, width);
  ++launch_.progress;
}

void WarpExecution::store_uniform(const Instruction& in, LaneMask active, const Location& location,
                                  const std::byte* values) {
  const std::uint32_t width = in.access.element_bytes * std::uint32_t{in.access.elements};
  if (location.window == Window::kGlobal) {
    report_undefined_store(in, active);
    launch_.report.global_bytes_written += width;
  }
  // Which lane's value stays is unspecified; here it is the last one's.
  const int last = kLanes - 1 - std::countl_zero(active);
  const std::byte* value = values + static_cast<std::size_t>(last) * width;
  const LaneMask last_bit = LaneMask{1} << last;
  if (active != last_bit) {
    bool is_same_value = true;
    for (LaneMask rest = active; rest != 0; rest &= rest - 1) {
      const auto lane = static_cast<std::size_t>(std::countr_zero(rest));
      is_same_value &= std::memcmp(values + lane * width, value, width) == 0;
    }
    report_clash(in, active, location, is_same_value);
  }
  watch_write(in, last_bit, location, width, width, value);
  std::memcpy(location.data, value, width);
  location.defined->define(location.offset, width);
  if (location.window != Window::kGlobal) define_stored(in, last_bit, location, 0);
  ++launch_.progress;
}

void WarpExecution::report_clash(const Instruction& in, LaneMask lanes, const Location& location,
                                 bool is_same_value) {
  if (!launch_.device.check_races) return;
  const std::uint32_t width = in.access.element_bytes * std::uint32_t{in.access.elements};
  launch_.observer.add(
      is_same_value ? "same-value-race" : "race", party(in, lanes),
      [&] {
        return "lanes of one store write " +
               std::string(is_same_value ? "the same value" : "different values") + " to " +
               describe(location, width);
      },
      party(in, lanes), is_same_value ? reference::Severity::kNote : reference::Severity::kUnsafe);
}

void WarpExecution::store_scattered(const Instruction& in, LaneMask active,
                                    const Addresses& addresses, const std::byte* values) {
  const Access& access = in.access;
  const std::uint32_t width = access.element_bytes * std::uint32_t{access.elements};
  std::array<Location, kLanes> places;
  for (LaneMask rest = active; rest != 0; rest &= rest - 1) {
    const auto lane = static_cast<std::uint32_t>(std::countr_zero(rest));
    const LaneMask bit = LaneMask{1} << lane;
    Location& at = places[lane];
    at = locate(access.space, addresses[lane], width, lane);
    const bool is_read_only =
        at.window == Window::kParam || (at.allocation != nullptr && at.allocation->is_constant);
    if (at.data == nullptr || is_read_only) {
      at.data = nullptr;
      report_bounds(in, bit, addresses[lane], width, "write");
      continue;
    }
    if (at.window == Window::kGlobal) {
      report_undefined_store(in, bit);
      launch_.report.global_bytes_written += width;
    }
    const std::byte* value = values + std::size_t{lane} * width;
    watch_write(in, bit, at, width, width, value);
    std::memcpy(at.data, value, width);
    define_stored(in, bit, at, width);
    if (access.order != Order::kWeak) synchronise_store(in, at);
    if (at.window != Window::kLocal) ++launch_.progress;
  }
  // A lane whose value is not there was overwritten by another lane of this very store.
  for (LaneMask rest = active; rest != 0; rest &= rest - 1) {
    const auto lane = static_cast<std::uint32_t>(std::countr_zero(rest));
    const Location& at = places[lane];
    if (at.data == nullptr || at.race == nullptr) continue;
    if (std::memcmp(at.data, values + std::size_t{lane} * width, width) != 0) {
      report_clash(in, LaneMask{1} << lane, at, false);
    }
  }
}

}  // namespace draftproof::gpu::emulator
