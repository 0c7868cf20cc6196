// WarpExecution: the loop, and the instructions that steer it.
#include "gpu/emulator/machine/warp_execution.h"

#include <algorithm>
#include <bit>
#include <limits>

namespace draftproof::gpu::emulator {

namespace {

constexpr std::uint32_t kNoStop = std::numeric_limits<std::uint32_t>::max();
/// A strand that is behind may spin for one that is ahead, so it does not run for ever.
constexpr std::uint64_t kStrandSteps = 4096;

/// True when lanes wait for each other at this instruction.
bool is_meeting(const Instruction& in) {
  switch (in.kind) {
    case Kind::kWarpBarrier:
    case Kind::kShuffle:
    case Kind::kVote:
    case Kind::kMatch:
    case Kind::kRedux:
    case Kind::kElect:
    case Kind::kBarrier:
      return true;
    case Kind::kClusterBarrier:
      return in.barrier != BarrierMode::kArrive;
    default:
      return false;
  }
}

}  // namespace

std::uint64_t WarpExecution::run(std::uint64_t quantum) {
  std::uint64_t done = 0;
  while (done < quantum && !launch_.is_aborted && !warp_.strands.empty()) {
    const std::size_t index = select();
    if (index == warp_.strands.size()) {
      if (!resolve_stuck()) break;
      continue;
    }
    const std::uint64_t left = quantum - done;
    const std::uint64_t steps =
        launch_.counters ? run_strand<true>(index, left) : run_strand<false>(index, left);
    done += steps;
    if (warp_.strands.size() > 1) warp_.merge();
    if (warp_.gave_way) break;
  }
  return done;
}

std::size_t WarpExecution::select() {
  const auto& strands = warp_.strands;
  if (strands.size() == 1) return strands[0].wait == Wait::kNothing ? 0 : 1;
  std::size_t best = strands.size();
  std::size_t next = strands.size();
  for (std::size_t i = 0; i < strands.size(); ++i) {
    if (strands[i].wait != Wait::kNothing) continue;
    if (best == strands.size() || strands[i].pc < strands[best].pc) best = i;
    if (strands[i].pc <= warp_.last_pc) continue;
    if (next == strands.size() || strands[i].pc < strands[next].pc) next = i;
  }
  if (warp_.rotate && best != strands.size()) {
    warp_.rotate = false;
    return next != strands.size() ? next : best;
  }
  return best;
}

LaneMask WarpExecution::guarded(const Instruction& in, LaneMask mask) {
  const LaneMask undefined = mask & ~frame_.valid(in.guard);
  if (undefined != 0) [[unlikely]]
    report_undefined(in, undefined, "guard");
  return mask & frame_.predicate(in.guard);
}

template <bool kCounts>
std::uint64_t WarpExecution::run_strand(std::size_t index, std::uint64_t budget) {
  const Instruction* const code = launch_.program.instructions.data();
  std::uint32_t pc = warp_.strands[index].pc;
  const LaneMask mask = warp_.strands[index].mask;
  std::uint32_t stop = kNoStop;
  if (warp_.strands.size() > 1) {
    budget = std::min(budget, kStrandSteps);
    for (const Strand& other : warp_.strands) {
      if (other.pc > pc) stop = std::min(stop, other.pc);
    }
  }
  const std::uint64_t limit = budget;
  std::uint64_t steps = 0;
  Next next = Next::kAdvance;
  while (true) {
    const Instruction& in = code[pc];
    ++steps;
    LaneMask active = mask;
    if (in.guard.present) active = guarded(in, mask);
    if constexpr (kCounts) count_step(in, mask, active);
    if (in.kind == Kind::kCompute) [[likely]] {
      if (active != 0) {
        const LaneMask faulty = in.handler(in, frame_, active);
        if (faulty != 0) [[unlikely]] {
          launch_.observer.add("divide-by-zero", party(in, faulty),
                               [] { return std::string("integer division by zero"); });
        }
      }
      ++pc;
    } else if (active == 0 || in.kind == Kind::kNothing) {
      ++pc;
    } else if (in.kind == Kind::kBranch && active == mask && (in.target > pc || stop == kNoStop)) {
      pc = in.target;
    } else {
      warp_.strands[index].pc = pc;
      warp_.last_pc = pc;
      steps_ = steps;
      next = in.kind == Kind::kBranch ? branch(index, in, active) : execute(index, in, active);
      if (next != Next::kAdvance) break;
      ++pc;
      if (warp_.gave_way) {
        warp_.strands[index].pc = pc;
        warp_.last_pc = pc;
        break;
      }
    }
    if (pc >= stop || steps >= limit) {
      warp_.strands[index].pc = pc;
      if (pc < stop && steps >= limit && stop != kNoStop) warp_.rotate = true;
      warp_.last_pc = pc;
      break;
    }
  }
  launch_.warp_instructions += steps;
  launch_.report.counts.thread_instructions +=
      steps * static_cast<std::uint64_t>(std::popcount(mask));
  steps_ = 0;
  return steps;
}

void WarpExecution::count_step(const Instruction& in, LaneMask mask, LaneMask active) {
  // Lanes that meet may come here again and again until all are there: counted when they meet.
  if (active != 0 && is_meeting(in)) return;
  launch_.counters->step(in, frame_, mask, active, block_.index, warp_.index);
}

WarpExecution::Next WarpExecution::branch(std::size_t index, const Instruction& in,
                                          LaneMask active) {
  Strand& strand = warp_.strands[index];
  if (active == strand.mask) {
    strand.pc = in.target;
    return Next::kReselect;
  }
  Strand taken;
  taken.pc = in.target;
  taken.mask = active;
  strand.mask &= ~active;
  ++strand.pc;
  warp_.strands.push_back(taken);
  return Next::kReselect;
}

WarpExecution::Next WarpExecution::indexed_branch(std::size_t index, const Instruction& in,
                                                  LaneMask active) {
  const LaneMask undefined = active & ~frame_.valid(in.sources[0]);
  if (undefined != 0) report_undefined(in, undefined, "branch index");
  const std::uint32_t from = warp_.strands[index].pc;
  warp_.strands[index].mask &= ~active;
  warp_.strands[index].pc = from + 1;
  for (std::uint32_t lane = 0; lane < kLanes; ++lane) {
    if ((active >> lane & 1) == 0) continue;
    const std::uint64_t choice = read_register(in.sources[0], lane);
    Strand taken;
    taken.mask = LaneMask{1} << lane;
    if (choice < in.branch_targets.size()) {
      taken.pc = in.branch_targets[choice];
    } else {
      taken.pc = from + 1;
      launch_.observer.add("bounds", party(in, taken.mask), [&] {
        return "branch index " + std::to_string(choice) + " of " +
               std::to_string(in.branch_targets.size()) + " targets";
      });
    }
    warp_.strands.push_back(taken);
  }
  auto& strands = warp_.strands;
  if (strands[index].mask == 0) {
    strands.erase(strands.begin() + static_cast<std::ptrdiff_t>(index));
  }
  warp_.merge();
  return Next::kReselect;
}

WarpExecution::Next WarpExecution::execute(std::size_t index, const Instruction& in,
                                           LaneMask active) {
  switch (in.kind) {
    case Kind::kLoad:
      load(in, active);
      break;
    case Kind::kStore:
      store(in, active);
      break;
    case Kind::kAtomic:
    case Kind::kReduction:
      atomic(in, active);
      break;
    case Kind::kIndexedBranch:
      return indexed_branch(index, in, active);
    case Kind::kExit:
      return exit_lanes(index, active);
    case Kind::kWarpBarrier:
    case Kind::kShuffle:
    case Kind::kVote:
    case Kind::kMatch:
    case Kind::kRedux:
    case Kind::kElect:
    case Kind::kClusterBarrier:
    case Kind::kBarrier: {
      // The lanes whose guard does not hold go on; the others meet here.
      Strand& strand = warp_.strands[index];
      if (active != strand.mask) {
        if (in.kind == Kind::kBarrier && in.is_aligned) report_skipped_barrier(in, active, strand);
        Strand rest = strand;
        rest.mask = strand.mask & ~active;
        rest.pc = strand.pc + 1;
        strand.mask = active;
        warp_.strands.push_back(rest);
        return Next::kReselect;
      }
      if (in.kind == Kind::kBarrier) return barrier(index, in);
      return in.kind == Kind::kClusterBarrier ? cluster_barrier(index, in) : collective(index, in);
    }
    default:
      return execute_simple(in, active);
  }
  return Next::kAdvance;
}

WarpExecution::Next WarpExecution::execute_simple(const Instruction& in, LaneMask active) {
  switch (in.kind) {
    case Kind::kActiveMask:
      for (std::uint32_t lane = 0; lane < kLanes; ++lane) {
        if (active >> lane & 1) write_register(in.destinations[0], lane, active);
      }
      set_valid(in.destinations[0], active, active);
      break;
    case Kind::kFence:
      block_.clocks.fence(warp_.index, in.access.scope != Scope::kCta);
      break;
    case Kind::kClock:
      clock(in, active);
      break;
    case Kind::kSleep:
      give_way(warp_.polls != 0);
      break;
    case Kind::kTrap:
      launch_.observer.add("trap", party(in, active), [] { return std::string("trap executed"); });
      launch_.is_aborted = true;
      return Next::kStop;
    case Kind::kExternCall:
      return extern_call(in, active);
    case Kind::kCopyAsync:
      copy_async(in, active);
      break;
    case Kind::kCopyCommit:
      commit_copies(active);
      break;
    case Kind::kCopyWait:
      wait_copies(in, active);
      break;
    default:
      break;
  }
  return Next::kAdvance;
}

WarpExecution::Next WarpExecution::exit_lanes(std::size_t index, LaneMask active) {
  Strand& strand = warp_.strands[index];
  strand.mask &= ~active;
  ++strand.pc;
  warp_.live &= ~active;
  if (strand.mask == 0) {
    warp_.strands.erase(warp_.strands.begin() + static_cast<std::ptrdiff_t>(index));
  }
  block_.exited += static_cast<std::uint32_t>(std::popcount(active));
  ++launch_.progress;
  warp_.ask_again();
  open_complete_barriers(launch_, block_);
  return Next::kReselect;
}

void WarpExecution::give_way(bool is_poll) {
  warp_.gave_way = true;
  warp_.rotate = true;
  if (!is_poll) ++launch_.progress;
}

void WarpExecution::clock(const Instruction& in, LaneMask active) {
  const std::uint64_t now = launch_.warp_instructions + steps_;
  for (std::uint32_t lane = 0; lane < kLanes; ++lane) {
    if (active >> lane & 1) write_register(in.destinations[0], lane, now);
  }
  set_valid(in.destinations[0], active, active);
}

Party WarpExecution::party_of(const PriorAccess& prior) const {
  Party other;
  const std::uint32_t pc = AccessTag::instruction(prior.tag);
  if (pc < launch_.program.instructions.size())
    other.instruction = &launch_.program.instructions[pc];
  other.block = prior.who / launch_.warps_a_block;
  other.warp = prior.who % launch_.warps_a_block;
  other.lanes = LaneMask{1} << AccessTag::lane(prior.tag);
  return other;
}

void WarpExecution::report_undefined(const Instruction& in, LaneMask lanes, const char* what) {
  if (!launch_.device.check_uninitialised) return;
  launch_.observer.add("uninitialised", party(in, lanes),
                       [&] { return std::string(what) + " depends on a value no one has set"; });
}

}  // namespace draftproof::gpu::emulator
