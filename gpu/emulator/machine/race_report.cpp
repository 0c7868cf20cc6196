// WarpExecution: asks the race shadows about each access and words what they find.
#include <algorithm>
#include <bit>
#include <cstring>

#include "gpu/emulator/machine/warp_execution.h"

namespace draftproof::gpu::emulator {

namespace {

std::string place_text(const Party& party) {
  return "block " + std::to_string(party.block) + " warp " + std::to_string(party.warp);
}

}  // namespace

Accessor WarpExecution::accessor(const Instruction& in, const Location& location,
                                 bool is_strong) const {
  Accessor who;
  who.block_warps = launch_.warps_a_block;
  who.block_first = block_.index * launch_.warps_a_block;
  who.self = who.block_first + warp_.index;
  who.now = block_.clocks.warp(warp_.index).now;
  who.floor = block_.clocks.floor();
  const bool is_own = location.window == Window::kShared || launch_.is_single_block;
  who.settled = is_own ? who.floor : launch_.base;
  who.clocks = &block_.clocks;
  const auto pc = static_cast<std::uint32_t>(&in - launch_.program.instructions.data());
  who.tag = std::min(pc, AccessTag::kInstructionMask);
  if (is_strong) {
    who.tag |= AccessTag::kStrong;
    if (in.access.scope == Scope::kCta) who.tag |= AccessTag::kCtaScope;
  }
  return who;
}

void WarpExecution::watch_read(const Instruction& in, LaneMask lanes, const Location& location,
                               std::uint64_t bytes, std::uint32_t lane_bytes) {
  if (location.race == nullptr || !launch_.device.check_races) return;
  const Accessor who = accessor(in, location, in.access.order != Order::kWeak);
  Conflicts& conflicts = launch_.conflicts;
  const auto first = static_cast<std::uint32_t>(std::countr_zero(lanes));
  if (in.access.noncoherent) report_noncoherent(in, lanes, location, bytes);
  if (location.race->read(location.offset, bytes, lane_bytes, first, who, conflicts)) return;
  for (const PriorAccess& prior : conflicts) {
    report_race(in, lanes, location, prior, false, false);
  }
  conflicts.clear();
}

void WarpExecution::watch_write(const Instruction& in, LaneMask lanes, const Location& location,
                                std::uint64_t bytes, std::uint32_t lane_bytes,
                                const std::byte* values) {
  if (location.race == nullptr || !launch_.device.check_races) return;
  const bool is_atomic = in.kind == Kind::kAtomic || in.kind == Kind::kReduction;
  const Accessor who = accessor(in, location, is_atomic || in.access.order != Order::kWeak);
  Conflicts& conflicts = launch_.conflicts;
  const auto first = static_cast<std::uint32_t>(std::countr_zero(lanes));
  if (location.race->write(location.offset, bytes, lane_bytes, first, who, conflicts)) return;
  for (const PriorAccess& prior : conflicts) {
    // Part of the cell, or of the line, may lie outside this access.
    const std::uint64_t begin = std::max(prior.offset, location.offset);
    const std::uint64_t end = std::min(prior.offset + prior.cell_bytes, location.offset + bytes);
    const bool is_same = values != nullptr && prior.is_write && begin < end &&
                         std::memcmp(location.data + (begin - location.offset),
                                     values + (begin - location.offset), end - begin) == 0;
    report_race(in, lanes, location, prior, true, is_same);
  }
  conflicts.clear();
}

void WarpExecution::report_race(const Instruction& in, LaneMask lanes, const Location& location,
                                const PriorAccess& prior, bool is_write, bool is_same_value) {
  const Party other = party_of(prior);
  const std::uint32_t width = in.access.element_bytes * std::uint32_t{in.access.elements};
  LaneMask lane = lanes;
  if (std::popcount(lanes) > 1 && width != 0 && prior.offset >= location.offset) {
    // Lanes of a contiguous access follow each other from the first on.
    const auto at = static_cast<std::uint32_t>((prior.offset - location.offset) / width) +
                    static_cast<std::uint32_t>(std::countr_zero(lanes));
    if (at < kLanes && (lanes >> at & 1) != 0) lane = LaneMask{1} << at;
  }
  Location cell = location;
  cell.offset = std::max(prior.offset, location.offset);
  launch_.observer.add(
      is_same_value ? "same-value-race" : "race", party(in, lane),
      [&] {
        return std::string(is_write ? "write" : "read") + " of " +
               describe(cell, std::min(prior.cell_bytes, 8u)) + " by " +
               place_text(party(in, lane)) + " is not ordered after the " +
               (prior.is_write ? "write" : "read") + " by " + place_text(other) +
               (is_same_value ? "; both write the same value" : "");
      },
      other, is_same_value ? reference::Severity::kNote : reference::Severity::kUnsafe);
}

void WarpExecution::report_noncoherent(const Instruction& in, LaneMask lanes,
                                       const Location& location, std::uint64_t bytes) {
  PriorAccess by;
  if (!location.race->was_written(location.offset, bytes, launch_.base, &by)) return;
  launch_.observer.add(
      "noncoherent-write", party(in, lanes),
      [&] {
        return "ld.global.nc of " + describe(location, bytes) +
               ", which this launch has written; .nc promises that nothing writes it";
      },
      party_of(by));
}

}  // namespace draftproof::gpu::emulator
