// WarpExecution: bar and barrier. PTX ISA 9.0, 9.7.13.1: a barrier counts threads, in whole warps
// where the form is aligned; threads that exited count where all threads are meant.
#include <algorithm>
#include <bit>

#include "gpu/emulator/machine/warp_execution.h"

namespace draftproof::gpu::emulator {

namespace {

bool is_complete(const ThreadBlock& block, const Barrier& barrier) {
  if (!barrier.is_open()) return false;
  if (barrier.expected != 0) return barrier.arrived >= barrier.expected;
  return barrier.arrived + block.exited >= block.thread_count;
}

}  // namespace

void open_barrier(Launch& launch, ThreadBlock& block, std::uint32_t number) {
  Barrier barrier = std::move(block.barriers[number]);
  block.barriers[number] = Barrier{};
  const bool all_waited = barrier.expected == 0 || (barrier.waiters.size() == block.warps.size() &&
                                                    barrier.arrived >= block.thread_count);
  if (all_waited) {
    block.clocks.meet_all();
  } else {
    for (const std::uint32_t index : barrier.waiters) {
      block.clocks.leave(index, barrier.released, barrier.fenced);
    }
  }
  for (const std::uint32_t index : barrier.waiters) {
    Warp& warp = block.warps[index];
    for (Strand& strand : warp.strands) {
      if (strand.wait != Wait::kBarrier || strand.barrier != number) continue;
      const Instruction& in = launch.program.instructions[strand.pc];
      WarpExecution(launch, block, warp).finish_barrier(in, strand.mask, barrier);
      strand.wait = Wait::kNothing;
      ++strand.pc;
    }
    if (warp.strands.size() > 1) warp.merge();
    block.runnable |= 1u << index;
  }
  if (launch.counters) launch.counters->barrier_completed(block.index);
  ++launch.progress;
}

void open_complete_barriers(Launch& launch, ThreadBlock& block) {
  for (std::uint32_t number = 0; number < kBarriers; ++number) {
    if (is_complete(block, block.barriers[number])) open_barrier(launch, block, number);
  }
}

void WarpExecution::finish_barrier(const Instruction& in, LaneMask lanes, const Barrier& barrier) {
  if (in.kind != Kind::kBarrier || !in.destinations[0].present) return;
  const Operand& to = in.destinations[0];
  if (in.barrier == BarrierMode::kReducePopc) {
    for (std::uint32_t lane = 0; lane < kLanes; ++lane) {
      if (lanes >> lane & 1) write_register(to, lane, barrier.popc);
    }
  } else {
    const bool result = in.barrier == BarrierMode::kReduceAnd ? barrier.all : barrier.any;
    LaneMask& bits = *frame_.lanes<LaneMask>(to);
    bits = result ? bits | lanes : bits & ~lanes;
  }
  set_valid(to, lanes, barrier.operands_valid ? lanes : 0);
}

WarpExecution::Next WarpExecution::cluster_barrier(std::size_t index, const Instruction& in) {
  // A cluster is one block here: the wait is a barrier of it, and the arrival needs no state.
  if (in.barrier == BarrierMode::kArrive) return Next::kAdvance;
  Strand& strand = warp_.strands[index];
  if (strand.mask != warp_.live && in.is_aligned && !strand.alone) {
    strand.wait = Wait::kWarp;
    return Next::kReselect;
  }
  return arrive(index, in, kClusterBarrierNumber, 0);
}

void WarpExecution::report_skipped_barrier(const Instruction& in, LaneMask active,
                                           const Strand& strand) {
  const LaneMask skipping = strand.mask & ~active;
  launch_.observer.add(
      "barrier", party(in, active),
      [&] {
        return std::to_string(std::popcount(skipping)) +
               " lanes of the warp pass this barrier by, for its guard does not hold for them; an "
               "aligned barrier must be executed by all lanes of a warp or by none";
      },
      party(in, skipping));
}

WarpExecution::Next WarpExecution::barrier(std::size_t index, const Instruction& in) {
  Strand& strand = warp_.strands[index];
  if (in.is_aligned && strand.mask != warp_.live && !strand.alone) {
    strand.wait = Wait::kWarp;
    return Next::kReselect;
  }
  const auto first = static_cast<std::uint32_t>(std::countr_zero(strand.mask));
  LaneMask undefined = strand.mask & ~frame_.valid(in.sources[0]);
  if (in.sources[1].present) undefined |= strand.mask & ~frame_.valid(in.sources[1]);
  if (undefined != 0) report_undefined(in, undefined, "barrier number or count");
  const auto number = static_cast<std::uint32_t>(read_register(in.sources[0], first));
  const auto count =
      in.sources[1].present ? static_cast<std::uint32_t>(read_register(in.sources[1], first)) : 0;
  const bool is_count_wrong = in.sources[1].present && (count == 0 || count % kLanes != 0);
  if (number >= kClusterBarrierNumber || is_count_wrong) {
    launch_.observer.add("barrier", party(in, strand.mask), [&] {
      return "barrier " + std::to_string(number) + " with " + std::to_string(count) +
             " threads: the number must be below 16, the count a positive multiple of 32";
    });
    return Next::kAdvance;
  }
  return arrive(index, in, number, count);
}

WarpExecution::Next WarpExecution::arrive(std::size_t index, const Instruction& in,
                                          std::uint32_t number, std::uint32_t count) {
  Strand& strand = warp_.strands[index];
  const LaneMask mask = strand.mask;
  Barrier& barrier = block_.barriers[number];
  if (!barrier.is_open()) {
    barrier.expected = count;
    barrier.first = party(in, mask);
  } else if (barrier.expected != count) {
    launch_.observer.add(
        "barrier", party(in, mask),
        [&] {
          return "barrier " + std::to_string(number) + " is used with two thread counts, " +
                 std::to_string(barrier.expected) + " and " + std::to_string(count) +
                 " (0: all threads)";
        },
        barrier.first);
  }
  // With a count, a warp counts as a whole, whichever of its lanes still live.
  const bool is_whole_warp = mask == warp_.live && count != 0;
  barrier.arrived += is_whole_warp ? kLanes : static_cast<std::uint32_t>(std::popcount(mask));
  if (count != 0) {
    // A warp that only arrives runs on, so what it orders is what it had done by now.
    barrier.released = join(barrier.released, block_.clocks.release(warp_.index, true));
    barrier.fenced = join(barrier.fenced, block_.clocks.fenced(warp_.index));
  }
  const bool reduces = in.kind == Kind::kBarrier && in.sources[2].present;
  if (reduces) {
    const LaneMask bits = frame_.predicate(in.sources[2]) & mask;
    barrier.popc += static_cast<std::uint32_t>(std::popcount(bits));
    barrier.all = barrier.all && bits == mask;
    barrier.any = barrier.any || bits != 0;
    barrier.operands_valid = barrier.operands_valid && (mask & ~frame_.valid(in.sources[2])) == 0;
  }
  const bool waits = in.barrier != BarrierMode::kArrive;
  if (launch_.counters) [[unlikely]] {
    launch_.counters->step(in, frame_, mask, mask, block_.index, warp_.index);
    if (waits) launch_.counters->barrier_waited(block_.index, warp_.index);
  }
  if (waits) {
    barrier.waiters.push_back(warp_.index);
    strand.wait = Wait::kBarrier;
    strand.barrier = static_cast<std::uint8_t>(number);
    strand.alone = false;
  } else {
    ++strand.pc;
  }
  if (is_complete(block_, barrier)) open_barrier(launch_, block_, number);
  return Next::kReselect;
}

bool WarpExecution::resolve_stuck() {
  const auto waits_for = [&](Wait wait) {
    return std::any_of(warp_.strands.begin(), warp_.strands.end(),
                       [wait](const Strand& strand) { return strand.wait == wait; });
  };
  if (waits_for(Wait::kLanes) && complete_across_strands()) return true;
  // Lanes at a barrier of the block may still come back.
  if (waits_for(Wait::kBarrier)) return false;
  if (waits_for(Wait::kLanes)) {
    force_collective();
    return true;
  }
  return waits_for(Wait::kWarp) && split_barrier();
}

bool WarpExecution::split_barrier() {
  const auto& code = launch_.program.instructions;
  const Strand& first = warp_.strands[0];
  Party other;
  if (warp_.strands.size() > 1) {
    other = party(code[warp_.strands[1].pc], warp_.strands[1].mask);
  }
  launch_.observer.add(
      "barrier", party(code[first.pc], first.mask),
      [&] {
        return std::string(
            "lanes of one warp wait at different barriers; an aligned barrier must be "
            "reached by all of them together");
      },
      other);
  for (Strand& strand : warp_.strands) {
    strand.alone = true;
    strand.wait = Wait::kNothing;
  }
  return true;
}

}  // namespace draftproof::gpu::emulator
