// WarpExecution: what loads, stores and atomics share. Most warps access one contiguous piece or
// one address; both are told from the rest in a loop without branches.
#include <bit>

#include "gpu/emulator/machine/warp_execution.h"

namespace draftproof::gpu::emulator {

namespace {

/// So many equal polls in a row are a wait, and let others run.
constexpr std::uint32_t kPollsBeforeGivingWay = 8;

}  // namespace

LaneMask WarpExecution::gather_addresses(const Instruction& in, LaneMask active,
                                         Addresses& addresses) {
  const auto offset = static_cast<std::uint64_t>(in.immediate);
  if (!in.address.present) {
    addresses.fill(offset);
    return active;
  }
  if (in.address.bytes == 8) {
    const auto* base = frame_.lanes<std::uint64_t>(in.address);
    for (int lane = 0; lane < kLanes; ++lane) addresses[lane] = base[lane] + offset;
  } else {
    const auto* base = frame_.lanes<std::uint32_t>(in.address);
    const auto narrow = static_cast<std::uint32_t>(offset);
    for (int lane = 0; lane < kLanes; ++lane) addresses[lane] = base[lane] + narrow;
  }
  const LaneMask undefined = active & ~frame_.valid(in.address);
  if (undefined != 0) [[unlikely]] {
    report_undefined(in, undefined, "address");
    // Such an address may be anything; following it would only report the same again.
    if (launch_.device.check_uninitialised) return active & ~undefined;
  }
  return active;
}

bool WarpExecution::is_aligned(const Addresses& addresses, LaneMask active, Shape shape,
                               std::uint32_t width) {
  if (shape != Shape::kScattered) {
    // The other lanes are whole widths away.
    return (addresses[std::countr_zero(active)] & (width - 1)) == 0;
  }
  std::uint64_t low = 0;
  for (int lane = 0; lane < kLanes; ++lane) {
    low |= (active >> lane & 1) != 0 ? addresses[lane] : 0;
  }
  return (low & (width - 1)) == 0;
}

LaneMask WarpExecution::aligned_lanes(const Instruction& in, LaneMask active,
                                      const Addresses& addresses, std::uint32_t width) {
  if (is_aligned(addresses, active, Shape::kScattered, width)) return active;
  LaneMask misaligned = 0;
  for (int lane = 0; lane < kLanes; ++lane) {
    if ((addresses[lane] & (width - 1)) != 0) misaligned |= LaneMask{1} << lane;
  }
  misaligned &= active;
  const std::uint64_t address = addresses[std::countr_zero(misaligned)];
  launch_.observer.add("misaligned", party(in, misaligned), [&] {
    return "access of " + std::to_string(width) + " bytes at " +
           describe(in.access.space, address, width) + ", which is not a multiple of " +
           std::to_string(width);
  });
  return active & ~misaligned;
}

WarpExecution::Shape WarpExecution::shape_of(const Addresses& addresses, LaneMask active,
                                             std::uint32_t width) {
  if (active == 0) return Shape::kScattered;
  const int first = std::countr_zero(active);
  const std::uint64_t start = addresses[first];
  if (active == ~LaneMask{0}) {
    std::uint64_t apart = 0;
    for (int lane = 0; lane < kLanes; ++lane) {
      apart |= addresses[lane] ^ (start + static_cast<std::uint64_t>(lane) * width);
    }
    if (apart == 0) return Shape::kContiguous;
    std::uint64_t differing = 0;
    for (int lane = 0; lane < kLanes; ++lane) differing |= addresses[lane] ^ start;
    return differing == 0 ? Shape::kUniform : Shape::kScattered;
  }
  const LaneMask run = active >> first;
  bool is_contiguous = (run & (run + 1)) == 0;
  bool is_uniform = true;
  for (LaneMask rest = active; rest != 0; rest &= rest - 1) {
    const int lane = std::countr_zero(rest);
    is_contiguous &= addresses[lane] == start + static_cast<std::uint64_t>(lane - first) * width;
    is_uniform &= addresses[lane] == start;
  }
  if (is_contiguous) return Shape::kContiguous;
  return is_uniform ? Shape::kUniform : Shape::kScattered;
}

void WarpExecution::poll(const Instruction& in, std::uint64_t key, std::uint64_t value) {
  const std::uint64_t seen = (key * 0x9e3779b97f4a7c15u) ^ (value * 0xc2b2ae3d27d4eb4fu) ^
                             static_cast<std::uint64_t>(in.ptx_line);
  if (seen != warp_.poll_key) {
    warp_.poll_key = seen;
    warp_.polls = 0;
    return;
  }
  if (++warp_.polls % kPollsBeforeGivingWay == 0) give_way(true);
}

void WarpExecution::synchronise_load(const Instruction& in, const Location& location) {
  if (launch_.global_sync.empty()) return;
  const KnowledgePointer released = launch_.global_sync.find(location.key);
  if (in.access.order == Order::kAcquire) {
    block_.clocks.acquire(warp_.index, released);
  } else {
    block_.clocks.read_relaxed(warp_.index, released);
  }
}

void WarpExecution::synchronise_store(const Instruction& in, const Location& location) {
  const bool reaches = in.access.scope != Scope::kCta;
  launch_.global_sync.store(location.key, in.access.order == Order::kRelease
                                              ? block_.clocks.release(warp_.index, reaches)
                                              : block_.clocks.fenced(warp_.index));
}

void WarpExecution::synchronise_atomic(const Instruction& in, const Location& location) {
  const Order order = in.access.order;
  const bool releases = order == Order::kRelease || order == Order::kAcquireRelease;
  if (!launch_.global_sync.empty()) {
    block_.clocks.acquire(warp_.index, launch_.global_sync.find(location.key));
  }
  launch_.global_sync.update(
      location.key, releases ? block_.clocks.release(warp_.index, in.access.scope != Scope::kCta)
                             : block_.clocks.fenced(warp_.index));
}

}  // namespace draftproof::gpu::emulator
