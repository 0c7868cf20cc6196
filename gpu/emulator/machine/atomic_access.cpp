// WarpExecution: atom and red. The lanes of a warp act one after another; which is first is
// unspecified, so under a random schedule the seed decides. Floating-point sums round at each step.
#include <bit>
#include <cmath>
#include <cstring>

#include "gpu/emulator/machine/half.h"
#include "gpu/emulator/machine/warp_execution.h"

namespace draftproof::gpu::emulator {

namespace {

template <class T>
T read_as(std::uint64_t bits) {
  T value;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}

template <class T>
std::uint64_t bits_of(T value) {
  std::uint64_t bits = 0;
  std::memcpy(&bits, &value, sizeof value);
  return bits;
}

template <class T>
std::uint64_t add_as(std::uint64_t a, std::uint64_t b) {
  return bits_of<T>(read_as<T>(a) + read_as<T>(b));
}

float flushed(float value) {
  return std::fpclassify(value) == FP_SUBNORMAL ? std::copysign(0.0f, value) : value;
}

/// PTX ISA 9.0, atom: .add.f32 on global memory flushes subnormal inputs and results to zero of the
/// same sign, on shared memory it does not. NaN is canonical.
std::uint64_t add_float(std::uint64_t a, std::uint64_t b, std::uint32_t bytes, bool flushes) {
  if (bytes == 8) return add_as<double>(a, b);
  const float x = read_as<float>(a);
  const float y = read_as<float>(b);
  const float sum = flushes ? flushed(flushed(x) + flushed(y)) : x + y;
  return std::isnan(sum) ? 0x7fffffffu : bits_of(sum);
}

std::uint64_t add_halves(std::uint64_t a, std::uint64_t b, bool is_bfloat, int parts) {
  std::uint64_t result = 0;
  for (int part = 0; part < parts; ++part) {
    const auto x = static_cast<std::uint16_t>(a >> (16 * part));
    const auto y = static_cast<std::uint16_t>(b >> (16 * part));
    const std::uint16_t sum = is_bfloat ? add_bfloat(x, y) : add_half(x, y);
    result |= std::uint64_t{sum} << (16 * part);
  }
  return result;
}

std::uint64_t extremum(const Access& access, std::uint64_t a, std::uint64_t b) {
  const bool is_min = access.atomic == AtomicOperation::kMin;
  bool is_a_less;
  if (access.type == ElementType::kSigned) {
    is_a_less = access.element_bytes == 8
                    ? static_cast<std::int64_t>(a) < static_cast<std::int64_t>(b)
                    : read_as<std::int32_t>(a) < read_as<std::int32_t>(b);
  } else {
    is_a_less = a < b;
  }
  return is_a_less == is_min ? a : b;
}

std::uint64_t sum(const Access& access, std::uint64_t a, std::uint64_t b, bool is_global) {
  switch (access.type) {
    case ElementType::kFloat:
      return access.element_bytes == 2 ? add_halves(a, b, false, 1)
                                       : add_float(a, b, access.element_bytes, is_global);
    case ElementType::kBfloat:
      return add_halves(a, b, true, 1);
    case ElementType::kFloat16x2:
      return add_halves(a, b, false, 2);
    case ElementType::kBfloat16x2:
      return add_halves(a, b, true, 2);
    default:
      return a + b;
  }
}

/// The value that replaces `old`. `value` and `swap` have the access's width.
std::uint64_t updated(const Access& access, std::uint64_t old, std::uint64_t value,
                      std::uint64_t swap, bool is_global) {
  switch (access.atomic) {
    case AtomicOperation::kAdd:
      return sum(access, old, value, is_global);
    case AtomicOperation::kAnd:
      return old & value;
    case AtomicOperation::kOr:
      return old | value;
    case AtomicOperation::kXor:
      return old ^ value;
    case AtomicOperation::kExchange:
      return value;
    case AtomicOperation::kCompareAndSwap:
      return old == value ? swap : old;
    case AtomicOperation::kIncrement:
      return old >= value ? 0 : old + 1;
    case AtomicOperation::kDecrement:
      return old == 0 || old > value ? value : old - 1;
    case AtomicOperation::kMin:
    case AtomicOperation::kMax:
      return extremum(access, old, value);
  }
  return old;
}

std::uint64_t low_bytes(std::uint64_t value, std::uint32_t bytes) {
  return bytes == 8 ? value : value & ((std::uint64_t{1} << (8 * bytes)) - 1);
}

}  // namespace

void WarpExecution::atomic(const Instruction& in, LaneMask active) {
  const std::uint32_t width = in.access.element_bytes;
  Addresses addresses;
  LaneMask able = gather_addresses(in, active, addresses);
  if (able != 0) able = aligned_lanes(in, able, addresses, width);
  LaneMask undefined = 0;
  for (const Operand& source : {in.sources[0], in.sources[1]}) {
    if (source.present) undefined |= able & ~frame_.valid(source);
  }
  if (undefined != 0) report_undefined(in, undefined, "operand of an atomic");
  if (in.destinations[0].present) set_valid(in.destinations[0], active, able);
  const bool is_random = launch_.options.schedule == reference::ScheduleKind::kRandom;
  const auto start = is_random ? static_cast<std::uint32_t>(launch_.random() % kLanes) : 0;
  for (std::uint32_t i = 0; i < kLanes; ++i) {
    const std::uint32_t lane = (start + i) % kLanes;
    if ((able >> lane & 1) == 0) continue;
    const Location at = locate(in.access.space, addresses[lane], width, lane);
    const bool is_read_only =
        at.window == Window::kParam || (at.allocation != nullptr && at.allocation->is_constant);
    if (at.data == nullptr || is_read_only) {
      report_bounds(in, LaneMask{1} << lane, addresses[lane], width, "atomic");
      if (in.destinations[0].present) set_valid(in.destinations[0], LaneMask{1} << lane, 0);
      continue;
    }
    atomic_lane(in, lane, at);
  }
}

void WarpExecution::atomic_lane(const Instruction& in, std::uint32_t lane, const Location& at) {
  const std::uint32_t width = in.access.element_bytes;
  const LaneMask bit = LaneMask{1} << lane;
  watch_write(in, bit, at, width, width, nullptr);
  if (!at.defined->is_defined(at.offset, width)) {
    if (launch_.device.check_uninitialised) {
      launch_.observer.add("uninitialised", party(in, bit), [&] {
        return "atomic on " + describe(at, width) + ", which no one has written";
      });
    }
    at.defined->define(at.offset, width);
  }
  std::uint64_t old = 0;
  std::memcpy(&old, at.data, width);
  const std::uint64_t value = low_bytes(read_register(in.sources[0], lane), width);
  const std::uint64_t swap =
      in.sources[1].present ? low_bytes(read_register(in.sources[1], lane), width) : 0;
  const bool is_global = at.window == Window::kGlobal;
  const std::uint64_t next = low_bytes(updated(in.access, old, value, swap, is_global), width);
  std::memcpy(at.data, &next, width);
  if (is_global) {
    launch_.report.global_bytes_read += width;
    launch_.report.global_bytes_written += width;
  }
  if (in.destinations[0].present) write_register(in.destinations[0], lane, old);
  if (next != old) {
    ++launch_.progress;
    warp_.polls = 0;
  } else {
    poll(in, at.key, old);
  }
  if (at.window != Window::kLocal) synchronise_atomic(in, at);
}

}  // namespace draftproof::gpu::emulator
