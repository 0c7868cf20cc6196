#include "gpu/emulator/profile/launch_counters.h"

#include <algorithm>
#include <bit>

#include "gpu/emulator/machine/address.h"
#include "gpu/emulator/profile/instruction_class.h"

namespace draftproof::gpu::emulator {

namespace {

std::uint64_t register_of(const Frame& frame, const Operand& operand, std::uint32_t lane) {
  return operand.bytes == 8 ? frame.lanes<std::uint64_t>(operand)[lane]
                            : frame.lanes<std::uint32_t>(operand)[lane];
}

/// Lanes whose address no one has set are left out; the machine reports them.
WarpAccess addresses_of(const Operand& base, std::int64_t offset, const Frame& frame,
                        LaneMask active, std::uint32_t width) {
  WarpAccess access;
  access.width = width;
  if (base.present) active &= frame.valid(base);
  for (LaneMask rest = active; rest != 0; rest &= rest - 1) {
    const auto lane = static_cast<std::uint32_t>(std::countr_zero(rest));
    std::uint64_t address = static_cast<std::uint64_t>(offset);
    if (base.present) {
      address += register_of(frame, base, lane);
      if (base.bytes == 4) address &= 0xffffffffu;
    }
    access.add(lane, address);
  }
  return access;
}

Window window_of(const Instruction& in, const WarpAccess& access) {
  switch (in.access.space) {
    case Space::kGlobal:
      return Window::kGlobal;
    case Space::kShared:
    case Space::kSharedCluster:
      return Window::kShared;
    case Space::kLocal:
      return Window::kLocal;
    case Space::kParam:
    case Space::kConst:
      return Window::kNone;
    case Space::kGeneric:
      break;
  }
  // A compiler's generic access may mix windows; the first lane stands for all.
  return access.count == 0 ? Window::kNone : emulator::window_of(access.addresses[0]);
}

bool is_conditional(const Instruction& in) {
  return in.kind == Kind::kIndexedBranch || (in.kind == Kind::kBranch && in.guard.present);
}

bool diverges(const Instruction& in, const Frame& frame, LaneMask mask, LaneMask active) {
  if (in.kind == Kind::kBranch) return active != 0 && active != mask;
  if (active == 0) return false;
  const auto first = static_cast<std::uint32_t>(std::countr_zero(active));
  const std::uint64_t choice = register_of(frame, in.sources[0], first);
  for (LaneMask rest = active; rest != 0; rest &= rest - 1) {
    const auto lane = static_cast<std::uint32_t>(std::countr_zero(rest));
    if (register_of(frame, in.sources[0], lane) != choice) return true;
  }
  return active != mask;
}

/// `last` is a hash of the warp's strong load before, and becomes this one's.
bool is_repeated_poll(const Instruction& in, const WarpAccess& access, std::uint64_t& last) {
  if (in.access.order == Order::kWeak) return false;
  std::uint64_t hash = 0xcbf29ce484222325u ^ static_cast<std::uint64_t>(in.ptx_line);
  for (std::size_t i = 0; i < access.count; ++i)
    hash = (hash ^ access.addresses[i]) * 0x100000001b3u;
  const bool is_repeated = hash == last;
  last = hash;
  return is_repeated;
}

void add(GlobalTraffic& traffic, const SectorSet& sectors) {
  traffic.distinct_sectors += sectors.count();
}

}  // namespace

LaunchCounters::LaunchCounters(const std::vector<std::string>& forms, std::uint32_t warps_a_block)
    : warps_a_block_(warps_a_block) {
  classes_.reserve(forms.size());
  for (const std::string& form : forms) classes_.push_back(class_of(form));
}

LaunchCounters::BlockCounts& LaunchCounters::counts_of(std::uint32_t block) {
  if (last_ == nullptr || block != last_block_) {
    last_ = &blocks_[block];
    last_block_ = block;
    if (last_->instructions.empty()) {
      last_->instructions.assign(warps_a_block_, 0);
      last_->waits.assign(warps_a_block_, 0);
      last_->polls.assign(warps_a_block_, 0);
    }
  }
  return *last_;
}

void LaunchCounters::step(const Instruction& in, const Frame& frame, LaneMask mask, LaneMask active,
                          std::uint32_t block, std::uint32_t warp) {
  BlockCounts& counts = counts_of(block);
  ++counts.instructions[warp];
  ++profile_.warp_instructions;
  // A branch's guard is what it decides by: every lane takes part.
  const LaneMask lanes = in.kind == Kind::kBranch ? mask : active;
  profile_.thread_instructions += static_cast<std::uint64_t>(std::popcount(lanes));
  ++profile_.by_class[static_cast<std::size_t>(classes_[in.form])];
  switch (in.kind) {
    case Kind::kLoad:
    case Kind::kStore:
    case Kind::kAtomic:
    case Kind::kReduction:
    case Kind::kCopyAsync:
      if (active != 0) access(in, frame, active, counts, warp);
      break;
    case Kind::kBranch:
    case Kind::kIndexedBranch:
      if (!is_conditional(in)) break;
      ++profile_.branches;
      profile_.divergent_branches += diverges(in, frame, mask, active) ? 1 : 0;
      break;
    default:
      break;
  }
}

void LaunchCounters::access(const Instruction& in, const Frame& frame, LaneMask active,
                            BlockCounts& counts, std::uint32_t warp) {
  if (in.kind == Kind::kCopyAsync) {
    // Its shared side is written by the copy engine, behind the banks' queue of the warp.
    const auto width = static_cast<std::uint32_t>(in.modifier);
    global_access(addresses_of(in.sources[0], 0, frame, active, width), profile_.loads,
                  counts.loaded);
    return;
  }
  const std::uint32_t width = in.access.element_bytes * std::uint32_t{in.access.elements};
  WarpAccess access = addresses_of(in.address, in.immediate, frame, active, width);
  const bool is_atomic = in.kind == Kind::kAtomic || in.kind == Kind::kReduction;
  switch (window_of(in, access)) {
    case Window::kGlobal:
      if (is_atomic)
        atomic_access(access, profile_.global_atomics, global_queues_);
      else if (in.kind == Kind::kLoad && is_repeated_poll(in, access, counts.polls[warp]))
        break;
      else if (in.kind == Kind::kLoad)
        global_access(access, profile_.loads, counts.loaded);
      else
        global_access(access, profile_.stores, counts.stored);
      break;
    case Window::kShared: {
      if (is_atomic) {
        atomic_access(access, profile_.shared_atomics, counts.atomics);
        break;
      }
      const Wavefronts wavefronts = wavefronts_of(access);
      ++profile_.shared.accesses;
      profile_.shared.wavefronts += wavefronts.needed;
      profile_.shared.ideal_wavefronts += wavefronts.ideal;
      break;
    }
    case Window::kLocal:
      ++profile_.local_accesses;
      break;
    case Window::kParam:
    case Window::kNone:
      break;
  }
}

void LaunchCounters::global_access(const WarpAccess& access, GlobalTraffic& traffic,
                                   SectorSet& sectors) {
  if (access.count == 0) return;
  const DistinctValues touched = sectors_of(access);
  ++traffic.accesses;
  traffic.requested_sectors += touched.count;
  traffic.ideal_sectors += ideal_sectors_of(access);
  for (std::size_t i = 0; i < touched.count; ++i) sectors.add(touched.values[i]);
}

void LaunchCounters::atomic_access(const WarpAccess& access, AtomicTraffic& traffic,
                                   Queues& queues) {
  if (access.count == 0) return;
  ++traffic.accesses;
  traffic.operations += access.count;
  traffic.turns += most_on_one_address(access);
  for (std::size_t i = 0; i < access.count; ++i)
    traffic.queue_max = std::max(traffic.queue_max, ++queues[access.addresses[i]]);
}

void LaunchCounters::barrier_waited(std::uint32_t block, std::uint32_t warp) {
  ++counts_of(block).waits[warp];
}

void LaunchCounters::barrier_completed(std::uint32_t block) { ++counts_of(block).barriers; }

void LaunchCounters::fold(const BlockCounts& counts) {
  ++profile_.blocks;
  profile_.warps += warps_a_block_;
  add(profile_.loads, counts.loaded);
  add(profile_.stores, counts.stored);
  profile_.barriers += counts.barriers;
  profile_.barriers_block_max = std::max(profile_.barriers_block_max, counts.barriers);
  for (std::uint32_t warp = 0; warp < warps_a_block_; ++warp) {
    profile_.barriers_warp_max = std::max(profile_.barriers_warp_max, counts.waits[warp]);
    profile_.warp_instructions_max =
        std::max(profile_.warp_instructions_max, counts.instructions[warp]);
  }
}

void LaunchCounters::retire(std::uint32_t block) {
  fold(counts_of(block));
  blocks_.erase(block);
  last_ = nullptr;
}

LaunchProfile LaunchCounters::take() {
  for (const auto& [block, counts] : blocks_) fold(counts);
  blocks_.clear();
  last_ = nullptr;
  return profile_;
}

}  // namespace draftproof::gpu::emulator
