// WarpExecution: loads. A contiguous or uniform access is one look-up, one question to each shadow
// and a copy; anything else goes lane by lane. Loading a byte that no one wrote is silent and makes
// the lane's value undefined.
#include <xmmintrin.h>

#include <bit>
#include <cstring>
#include <type_traits>

#include "gpu/emulator/machine/warp_execution.h"

namespace draftproof::gpu::emulator {

namespace {

template <class M, class R>
void spread(const std::byte* from, std::uint32_t stride, R* to, LaneMask active) {
  if (active == ~LaneMask{0}) {
    if constexpr (sizeof(M) == sizeof(R)) {
      if (stride == sizeof(M)) {
        std::memcpy(to, from, sizeof(M) * kLanes);
        return;
      }
    }
    if (stride == 0) {
      M value;
      std::memcpy(&value, from, sizeof value);
      for (int lane = 0; lane < kLanes; ++lane) to[lane] = static_cast<R>(value);
      return;
    }
    for (int lane = 0; lane < kLanes; ++lane) {
      M value;
      std::memcpy(&value, from + static_cast<std::size_t>(lane) * stride, sizeof value);
      to[lane] = static_cast<R>(value);
    }
    return;
  }
  const int first = std::countr_zero(active);
  for (LaneMask rest = active; rest != 0; rest &= rest - 1) {
    const int lane = std::countr_zero(rest);
    M value;
    std::memcpy(&value, from + static_cast<std::size_t>(lane - first) * stride, sizeof value);
    to[lane] = static_cast<R>(value);
  }
}

template <class M>
void spread_into(const Frame& frame, const Operand& to, const std::byte* from, std::uint32_t stride,
                 LaneMask active) {
  if (to.bytes == 8) {
    spread<M>(from, stride, frame.lanes<std::uint64_t>(to), active);
  } else {
    spread<M>(from, stride, frame.lanes<std::uint32_t>(to), active);
  }
}

/// Widening to the register extends the sign of signed types (PTX ISA, operand size).
void spread_element(const Frame& frame, const Access& access, const Operand& to,
                    const std::byte* from, std::uint32_t stride, LaneMask active) {
  const bool is_signed = access.type == ElementType::kSigned;
  switch (access.element_bytes) {
    case 1:
      if (is_signed)
        spread_into<std::int8_t>(frame, to, from, stride, active);
      else
        spread_into<std::uint8_t>(frame, to, from, stride, active);
      return;
    case 2:
      if (is_signed)
        spread_into<std::int16_t>(frame, to, from, stride, active);
      else
        spread_into<std::uint16_t>(frame, to, from, stride, active);
      return;
    case 4:
      if (is_signed)
        spread_into<std::int32_t>(frame, to, from, stride, active);
      else
        spread_into<std::uint32_t>(frame, to, from, stride, active);
      return;
    default:
      spread_into<std::uint64_t>(frame, to, from, stride, active);
  }
}

/// 32 vectors of four words become four registers: transposed four lanes at a time.
void spread_quads(const Frame& frame, const Instruction& in, const std::byte* from) {
  std::array<float*, 4> to;
  for (int e = 0; e < 4; ++e) to[e] = frame.lanes<float>(in.destinations[e]);
  const auto* rows = reinterpret_cast<const float*>(from);
  for (int lane = 0; lane < kLanes; lane += 4) {
    __m128 a = _mm_loadu_ps(rows + 4 * lane);
    __m128 b = _mm_loadu_ps(rows + 4 * lane + 4);
    __m128 c = _mm_loadu_ps(rows + 4 * lane + 8);
    __m128 d = _mm_loadu_ps(rows + 4 * lane + 12);
    _MM_TRANSPOSE4_PS(a, b, c, d);
    _mm_storeu_ps(to[0] + lane, a);
    _mm_storeu_ps(to[1] + lane, b);
    _mm_storeu_ps(to[2] + lane, c);
    _mm_storeu_ps(to[3] + lane, d);
  }
}

/// True when spread_quads does it.
bool is_quads(const Instruction& in, LaneMask active, std::uint32_t stride) {
  if (active != ~LaneMask{0} || stride != 16 || in.access.element_bytes != 4) return false;
  bool is_plain = true;
  for (int e = 0; e < 4; ++e) {
    is_plain &= in.destinations[e].present && in.destinations[e].bytes == 4;
  }
  return is_plain;
}

std::uint64_t first_value(const std::byte* from, std::uint32_t width) {
  std::uint64_t value = 0;
  std::memcpy(&value, from, width < 8 ? width : 8);
  return value;
}

/// The bytes of a vector that are meant: [begin, end).
struct UsedBytes {
  std::uint32_t begin;
  std::uint32_t end;
  UsedBytes(const Access& access, std::uint32_t width) {
    const std::uint32_t mask =
        access.used_bytes_mask & (width >= 32 ? ~0u : (std::uint32_t{1} << width) - 1);
    begin = mask == 0 ? 0 : static_cast<std::uint32_t>(std::countr_zero(mask));
    end = mask == 0 ? width : 32 - static_cast<std::uint32_t>(std::countl_zero(mask));
  }
};

}  // namespace

void WarpExecution::load(const Instruction& in, LaneMask active) {
  const Access& access = in.access;
  const std::uint32_t width = access.element_bytes * std::uint32_t{access.elements};
  if (access.space == Space::kParam && !in.address.present) {
    const Location at = locate(Space::kParam, static_cast<std::uint64_t>(in.immediate), width, 0);
    if (at.data != nullptr) {
      load_together(in, active, at, 0);
      return;
    }
  }
  Addresses addresses;
  LaneMask able = gather_addresses(in, active, addresses);
  const UsedBytes used(access, width);
  const bool is_whole = used.end - used.begin == width;
  Shape shape = is_whole ? shape_of(addresses, able, width) : Shape::kScattered;
  if (!is_aligned(addresses, able, shape, width)) {
    able = aligned_lanes(in, able, addresses, width);
    shape = Shape::kScattered;
  }
  if (able != active) {
    for (std::uint32_t e = 0; e < access.elements; ++e) {
      if (in.destinations[e].present) set_valid(in.destinations[e], active, 0);
    }
    if (able == 0) return;
  }
  const bool is_strong = access.order != Order::kWeak;
  const auto first = static_cast<std::uint32_t>(std::countr_zero(able));
  if (shape == Shape::kContiguous && (!is_strong || std::popcount(able) == 1)) {
    const auto total = width * static_cast<std::uint32_t>(std::popcount(able));
    const Location at = locate(access.space, addresses[first], total, first);
    if (at.data != nullptr && at.window != Window::kLocal) {
      load_together(in, able, at, width);
      if (is_strong) {
        poll(in, at.key, first_value(at.data, width));
        synchronise_load(in, at);
      }
      return;
    }
  } else if (shape == Shape::kUniform) {
    const Location at = locate(access.space, addresses[first], width, first);
    if (at.data != nullptr) {
      const bool is_local = at.window == Window::kLocal;
      const LaneMask run = able >> first;
      if (!is_local || (run & (run + 1)) == 0) {
        load_together(in, able, at,
                      is_local ? static_cast<std::uint32_t>(launch_.program.local_bytes) : 0);
        if (is_strong) {
          poll(in, at.key, first_value(at.data, width));
          synchronise_load(in, at);
        }
        return;
      }
    }
  }
  load_scattered(in, able, addresses);
}

void WarpExecution::load_together(const Instruction& in, LaneMask active, const Location& location,
                                  std::uint32_t stride) {
  const Access& access = in.access;
  const std::uint32_t width = access.element_bytes * std::uint32_t{access.elements};
  const auto first = static_cast<std::uint32_t>(std::countr_zero(active));
  // The stride also tells local memory, whose lanes lie apart, from one shared address.
  const std::uint64_t lanes = 32 - static_cast<std::uint64_t>(std::countl_zero(active)) - first;
  const std::uint64_t total = stride == 0 ? width : (lanes - 1) * stride + width;
  if (location.race != nullptr) watch_read(in, active, location, total, width);
  if (location.window == Window::kGlobal) {
    launch_.report.global_bytes_read +=
        std::uint64_t{width} * static_cast<std::uint64_t>(std::popcount(active));
  }
  const bool is_defined =
      location.defined == nullptr || location.defined->is_defined(location.offset, total);
  const bool is_spread = is_quads(in, active, stride);
  if (is_spread) spread_quads(frame_, in, location.data);
  for (std::uint32_t e = 0; e < access.elements; ++e) {
    const Operand& to = in.destinations[e];
    if (!to.present) continue;
    const std::uint32_t at = e * access.element_bytes;
    if (!is_spread) spread_element(frame_, access, to, location.data + at, stride, active);
    LaneMask valid = active;
    if (!is_defined) {
      for (LaneMask rest = active; rest != 0; rest &= rest - 1) {
        const auto lane = static_cast<std::uint32_t>(std::countr_zero(rest));
        const std::uint64_t offset = location.offset + std::uint64_t{lane - first} * stride + at;
        if (!location.defined->is_defined(offset, access.element_bytes)) {
          valid &= ~(LaneMask{1} << lane);
        }
      }
    }
    set_valid(to, active, valid);
  }
}

void WarpExecution::load_scattered(const Instruction& in, LaneMask active,
                                   const Addresses& addresses) {
  // A warp may poll several words at once: what all lanes saw is one poll.
  std::uint64_t seen = 0;
  for (LaneMask rest = active; rest != 0; rest &= rest - 1) {
    const auto lane = static_cast<std::uint32_t>(std::countr_zero(rest));
    seen = seen * 0x9e3779b97f4a7c15u + load_lane(in, lane, addresses[lane]);
  }
  if (in.access.order != Order::kWeak) poll(in, seen, 0);
}

std::uint64_t WarpExecution::load_lane(const Instruction& in, std::uint32_t lane,
                                       std::uint64_t address) {
  const Access& access = in.access;
  const std::uint32_t width = access.element_bytes * std::uint32_t{access.elements};
  const LaneMask bit = LaneMask{1} << lane;
  const UsedBytes used(access, width);
  const std::uint32_t meant = used.end - used.begin;
  const Location at = locate(access.space, address + used.begin, meant, lane);
  if (at.data == nullptr) {
    report_bounds(in, bit, address + used.begin, meant, "read");
    for (std::uint32_t e = 0; e < access.elements; ++e) {
      if (in.destinations[e].present) set_valid(in.destinations[e], bit, 0);
    }
    return 0;
  }
  if (at.race != nullptr) watch_read(in, bit, at, meant, std::bit_floor(meant | 1u));
  if (at.window == Window::kGlobal) launch_.report.global_bytes_read += meant;
  for (std::uint32_t e = 0; e < access.elements; ++e) {
    const Operand& to = in.destinations[e];
    if (!to.present) continue;
    const std::uint32_t begin = e * access.element_bytes;
    if (begin < used.begin || begin + access.element_bytes > used.end) {
      set_valid(to, bit, 0);
      continue;
    }
    const std::uint32_t inside = begin - used.begin;
    spread_element(frame_, access, to, at.data + inside, 0, bit);
    const bool is_defined =
        at.defined == nullptr || at.defined->is_defined(at.offset + inside, access.element_bytes);
    set_valid(to, bit, is_defined ? bit : 0);
  }
  if (access.order == Order::kWeak) return 0;
  synchronise_load(in, at);
  return at.key * 0xc2b2ae3d27d4eb4fu + first_value(at.data, access.element_bytes);
}

}  // namespace draftproof::gpu::emulator
