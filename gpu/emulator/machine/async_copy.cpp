// WarpExecution: cp.async. A copy may land at any time between its issue and the wait; the seed
// decides between at once and at the last moment. Until then the destination counts as undefined,
// so that a read before the wait shows.
#include <algorithm>
#include <bit>
#include <cstring>

#include "gpu/emulator/machine/warp_execution.h"

namespace draftproof::gpu::emulator {

void WarpExecution::copy_async(const Instruction& in, LaneMask active) {
  const auto size = static_cast<std::uint32_t>(in.modifier);
  Addresses to;
  LaneMask able = gather_addresses(in, active, to);
  if (able != 0) able = aligned_lanes(in, able, to, size);
  const LaneMask undefined = able & ~frame_.valid(in.sources[0]);
  if (undefined != 0) report_undefined(in, undefined, "address");
  const bool is_late =
      launch_.options.schedule != reference::ScheduleKind::kRandom || (launch_.random() & 1) != 0;
  for (LaneMask rest = able; rest != 0; rest &= rest - 1) {
    const auto lane = static_cast<std::uint32_t>(std::countr_zero(rest));
    const LaneMask bit = LaneMask{1} << lane;
    const std::uint64_t from = read_register(in.sources[0], lane);
    std::uint32_t read_bytes = size;
    if (in.sources[1].present) {
      read_bytes = std::min(size, static_cast<std::uint32_t>(read_register(in.sources[1], lane)));
    }
    const Location target = locate(Space::kShared, to[lane], size, lane);
    if (target.data == nullptr) {
      report_bounds(in, bit, to[lane], size, "cp.async write");
      continue;
    }
    PendingCopy copy;
    copy.to = target.offset;
    copy.count = static_cast<std::uint8_t>(size);
    copy.lane = static_cast<std::uint8_t>(lane);
    copy.instruction = &in;
    copy.defined = static_cast<std::uint16_t>((1u << size) - 1);
    if (read_bytes != 0 && !copy_source(in, lane, from, read_bytes, copy)) continue;
    watch_write(in, bit, target, size, size, nullptr);
    if (is_late) {
      block_.shared_defined.undefine(target.offset, size);
      warp_.copies.push_back(copy);
    } else {
      deliver(copy);
    }
  }
}

bool WarpExecution::copy_source(const Instruction& in, std::uint32_t lane, std::uint64_t from,
                                std::uint32_t bytes, PendingCopy& copy) {
  const LaneMask bit = LaneMask{1} << lane;
  if (from % copy.count != 0) {
    launch_.observer.add("misaligned", party(in, bit), [&] {
      return "cp.async reads at " + describe(Space::kGlobal, from, copy.count) +
             ", which is not a multiple of " + std::to_string(copy.count);
    });
    return false;
  }
  const Location source = locate(Space::kGlobal, from, bytes, lane);
  if (source.data == nullptr) {
    launch_.observer.add("bounds", party(in, bit), [&] {
      return "cp.async read of " + std::to_string(bytes) + " bytes at " +
             describe(Space::kGlobal, from, bytes);
    });
    return false;
  }
  watch_read(in, bit, source, bytes, std::bit_floor(bytes));
  launch_.report.global_bytes_read += bytes;
  std::memcpy(copy.bytes.data(), source.data, bytes);
  for (std::uint32_t i = 0; i < bytes; ++i) {
    if (!source.defined->is_defined(source.offset + i, 1)) {
      copy.defined &= static_cast<std::uint16_t>(~(1u << i));
    }
  }
  return true;
}

void WarpExecution::deliver(const PendingCopy& copy) {
  Location at = locate(Space::kShared, copy.to, copy.count, copy.lane);
  watch_write(*copy.instruction, LaneMask{1} << copy.lane, at, copy.count, copy.count, nullptr);
  std::memcpy(at.data, copy.bytes.data(), copy.count);
  for (std::uint32_t i = 0; i < copy.count; ++i) {
    if (copy.defined >> i & 1) {
      at.defined->define(at.offset + i, 1);
    } else {
      at.defined->undefine(at.offset + i, 1);
    }
  }
}

void WarpExecution::commit_copies(LaneMask active) {
  for (std::uint32_t lane = 0; lane < kLanes; ++lane) {
    if (active >> lane & 1) ++warp_.commits[lane];
  }
  for (PendingCopy& copy : warp_.copies) {
    if (copy.is_committed || (active >> copy.lane & 1) == 0) continue;
    copy.is_committed = true;
    copy.group = warp_.commits[copy.lane];
  }
}

void WarpExecution::wait_copies(const Instruction& in, LaneMask active) {
  const auto in_flight = static_cast<std::uint32_t>(in.immediate);
  const auto is_due = [&](const PendingCopy& copy) {
    if ((active >> copy.lane & 1) == 0) return false;
    if (in_flight == 0) return true;
    return copy.is_committed && copy.group + in_flight <= warp_.commits[copy.lane];
  };
  for (const PendingCopy& copy : warp_.copies) {
    if (is_due(copy)) deliver(copy);
  }
  std::erase_if(warp_.copies, is_due);
}

}  // namespace draftproof::gpu::emulator
