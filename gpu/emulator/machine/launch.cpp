// Launch: starts blocks, gives them turns, ends the grid.
#include "gpu/emulator/machine/launch.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "gpu/emulator/machine/warp_execution.h"
#include "reference/error.h"

namespace draftproof::gpu::emulator {

namespace {

using reference::ScheduleKind;

/// Turns of a warp under the two ordered schedules: long, but a warp that spins must end.
constexpr std::uint64_t kOrderedQuantum = 1 << 16;
/// Rounds in which every warp of every block only polled, without any progress: no one is left who
/// could change what they wait for.
constexpr std::uint64_t kFruitlessRounds = 256;
/// Blocks that start although the others do not wait for them.
constexpr std::size_t kEagerBlocks = 8;
/// Stamps are 31 bits; the shadows are cleared long before they run out.
constexpr Clock kClockLimit = 1 << 30;

std::string schedule_name(const LaunchOptions& options) {
  switch (options.schedule) {
    case ScheduleKind::kRandom:
      return "random:" + std::to_string(options.schedule_seed);
    case ScheduleKind::kFirstWarpFirst:
      return "first-warp-first";
    case ScheduleKind::kLastWarpFirst:
      return "last-warp-first";
  }
  return "";
}

std::uint64_t round_up(std::uint64_t value, std::uint64_t multiple) {
  return multiple <= 1 ? value : (value + multiple - 1) / multiple * multiple;
}

}  // namespace

std::unique_ptr<ThreadBlock> ThreadBlockPool::take() {
  if (free_.empty()) return std::make_unique<ThreadBlock>();
  auto block = std::move(free_.back());
  free_.pop_back();
  return block;
}

Launch::Launch(const LaunchInput& input, GlobalMemory& memory_of_device, ThreadBlockPool& pool,
               Clock& clock)
    : program(input.program),
      options(input.options),
      device(input.device),
      parameters(input.parameters),
      memory(memory_of_device),
      observer(input.program, input.source_files, schedule_name(input.options)),
      random(input.options.schedule_seed),
      pool_(pool),
      device_clock_(clock) {
  if (device_clock_ > kClockLimit) {
    memory.clear_races();
    pool_.clear();
    device_clock_ = 0;
  }
  base = ++device_clock_;
  const auto threads = static_cast<std::uint32_t>(options.block.count());
  warps_a_block = (threads + kLanes - 1) / kLanes;
  block_count_ = options.grid.count();
  is_single_block = block_count_ == 1;
  constant_validity.assign(std::max<std::size_t>(program.constant_count, 1), ~LaneMask{0});
  warp_instruction_limit = options.warp_instruction_limit != 0 ? options.warp_instruction_limit
                                                               : device.warp_instruction_limit;
  if (device.counts_costs) counters = std::make_unique<LaunchCounters>(input.forms, warps_a_block);
  report.schedule_seed = options.schedule_seed;
  report.counts.launches = 1;
}

Launch::~Launch() {
  for (auto& block : resident_) {
    device_clock_ = std::max(device_clock_, block->clocks.latest());
    pool_.give(std::move(block));
  }
}

Dim3 Launch::block_position(std::uint32_t linear) const {
  Dim3 position;
  position.x = linear % options.grid.x;
  position.y = linear / options.grid.x % options.grid.y;
  position.z = linear / options.grid.x / options.grid.y;
  return position;
}

void Launch::start_block() {
  auto block = pool_.take();
  const bool is_reversed = options.schedule == ScheduleKind::kLastWarpFirst;
  block->index =
      static_cast<std::uint32_t>(is_reversed ? block_count_ - 1 - next_block_ : next_block_);
  ++next_block_;
  block->position = block_position(block->index);
  block->thread_count = static_cast<std::uint32_t>(options.block.count());
  block->exited = 0;
  block->fruitless_rounds = 0;
  block->barriers.fill(Barrier{});
  const std::uint64_t shared =
      options.dynamic_shared_bytes == 0
          ? program.static_shared_bytes
          : round_up(program.static_shared_bytes,
                     std::max<std::uint64_t>(program.shared_alignment, 16)) +
                options.dynamic_shared_bytes;
  if (block->shared_bytes != shared) {
    block->shared_bytes = shared;
    block->shared.assign(shared, std::byte{0xcb});
    block->shared_defined = DefinedBytes(shared);
    block->shared_race = RaceShadow(shared);
  } else {
    block->shared_defined.reset();
  }
  const Clock floor = std::max(base, block->clocks.latest() + 1);
  block->clocks.start(block->index, warps_a_block, floor);
  block->warps.resize(warps_a_block);
  block->runnable = first_lanes(warps_a_block);
  for (std::uint32_t i = 0; i < warps_a_block; ++i) start_warp(*block, i);
  resident_.push_back(std::move(block));
}

void Launch::start_warp(ThreadBlock& block, std::uint32_t index) {
  Warp& warp = block.warps[index];
  warp.index = index;
  warp.live = first_lanes(block.thread_count - index * kLanes);
  Strand all;
  all.mask = warp.live;
  warp.strands.assign(1, all);
  // Undefined registers hold zero, so that a replay is exact whatever ran here before.
  warp.registers.assign(program.register_bytes, std::byte{0});
  warp.validity.assign(std::max<std::size_t>(program.register_count, 1), 0);
  warp.frame.values = {warp.registers.data(), const_cast<std::byte*>(program.constants.data())};
  warp.frame.validity = {warp.validity.data(), constant_validity.data()};
  const std::uint64_t local = program.local_bytes * kLanes;
  if (warp.local.size() != local) {
    warp.local.assign(local, std::byte{0xcb});
    warp.local_defined = DefinedBytes(local);
  } else {
    warp.local_defined.reset();
  }
  warp.copies.clear();
  warp.commits.fill(0);
  warp.poll_key = 0;
  warp.polls = 0;
  warp.gave_way = false;
  warp.rotate = false;
  fill_specials(block, warp);
}

std::size_t Launch::choose_block() {
  const bool may_start =
      next_block_ < block_count_ && resident_.size() < std::max(1u, device.blocks_in_flight);
  const bool all_wait = std::all_of(resident_.begin(), resident_.end(),
                                    [](const auto& block) { return block->fruitless_rounds > 0; });
  // Every block may be resident, but each costs memory and cache, so one starts when the others
  // wait for it, or now and then.
  bool starts = may_start && all_wait;
  if (options.schedule == ScheduleKind::kRandom) {
    starts = starts || (may_start && resident_.size() < kEagerBlocks && random() % 8 == 0);
    turn_ = starts ? resident_.size() : random() % resident_.size();
  } else if (starts) {
    turn_ = resident_.size();
  } else if (turn_ >= resident_.size()) {
    turn_ = 0;
  }
  if (starts) start_block();
  return turn_;
}

std::uint64_t Launch::choose_quantum() {
  if (options.schedule != ScheduleKind::kRandom) return kOrderedQuantum;
  // Long and short turns alike: short ones interleave finely, long ones let one warp run ahead.
  const std::uint64_t longest = std::max<std::uint64_t>(device.warp_quantum, 1);
  return std::max<std::uint64_t>(longest >> (random() % 8), 1);
}

std::uint32_t Launch::choose_warp(std::uint32_t candidates) {
  switch (options.schedule) {
    case ScheduleKind::kFirstWarpFirst:
      return static_cast<std::uint32_t>(std::countr_zero(candidates));
    case ScheduleKind::kLastWarpFirst:
      return 31 - static_cast<std::uint32_t>(std::countl_zero(candidates));
    case ScheduleKind::kRandom:
      break;
  }
  auto skip = random() % static_cast<std::uint64_t>(std::popcount(candidates));
  for (; skip != 0; --skip) candidates &= candidates - 1;
  return static_cast<std::uint32_t>(std::countr_zero(candidates));
}

void Launch::run_block(ThreadBlock& block) {
  std::uint64_t left = std::max<std::uint64_t>(device.block_quantum, 1);
  const std::uint64_t progress_before = progress;
  if (options.schedule == ScheduleKind::kRandom) {
    left = std::max<std::uint64_t>(left >> (random() % 4), 1);
  }
  std::uint32_t spent = 0;
  while (left > 0 && !is_aborted) {
    const std::uint32_t candidates = block.runnable & ~spent;
    if (candidates == 0) break;
    const std::uint32_t index = choose_warp(candidates);
    Warp& warp = block.warps[index];
    warp.gave_way = false;
    const std::uint64_t steps =
        WarpExecution(*this, block, warp).run(std::min(left, choose_quantum()));
    note_trace((std::uint64_t{block.index} << 40) ^ (std::uint64_t{index} << 32) ^ steps);
    left -= std::min(left, std::max<std::uint64_t>(steps, 1));
    if (!warp.is_runnable()) block.runnable &= ~(1u << index);
    if (warp.gave_way) spent |= 1u << index;
    if (warp_instructions > warp_instruction_limit) {
      report_limit(block);
      return;
    }
  }
  const bool all_spent = block.runnable != 0 && (block.runnable & ~spent) == 0;
  block.fruitless_rounds =
      all_spent && progress == progress_before ? block.fruitless_rounds + 1 : 0;
  if (block.runnable == 0 && !block.is_done()) report_blocked(block, "every warp waits");
}

bool Launch::is_deadlocked() const {
  if (next_block_ < block_count_ && resident_.size() < std::max(1u, device.blocks_in_flight)) {
    return false;
  }
  return !resident_.empty() &&
         std::all_of(resident_.begin(), resident_.end(),
                     [](const auto& block) { return block->fruitless_rounds >= kFruitlessRounds; });
}

LaunchReport Launch::run() {
  while (!is_aborted && (next_block_ < block_count_ || !resident_.empty())) {
    const std::size_t slot = choose_block();
    ThreadBlock& block = *resident_[slot];
    const std::uint64_t before = progress;
    run_block(block);
    if (progress != before) {
      for (auto& other : resident_) other->fruitless_rounds = 0;
    }
    if (block.is_done()) {
      retire(slot);
    } else if (block.fruitless_rounds > 0) {
      ++turn_;
    }
    if (!is_aborted && is_deadlocked()) {
      report_blocked(*resident_.front(), "every warp of every block polls, and nothing changes");
    }
  }
  report.counts.warp_instructions = warp_instructions;
  report.observations = observer.take();
  if (counters) report.profile = counters->take();
  return std::move(report);
}

void Launch::retire(std::size_t slot) {
  device_clock_ = std::max(device_clock_, resident_[slot]->clocks.latest());
  if (counters) counters->retire(resident_[slot]->index);
  pool_.give(std::move(resident_[slot]));
  resident_.erase(resident_.begin() + static_cast<std::ptrdiff_t>(slot));
}

void Launch::report_blocked(const ThreadBlock& block, const char* why) {
  std::vector<Party> parties;
  for (const Warp& warp : block.warps) {
    for (const Strand& strand : warp.strands) {
      const Instruction* in = &program.instructions[strand.pc];
      const bool is_known = std::any_of(parties.begin(), parties.end(), [in](const Party& party) {
        return party.instruction == in;
      });
      if (!is_known) parties.push_back(Party{in, block.index, warp.index, strand.mask});
    }
  }
  parties.resize(std::max<std::size_t>(parties.size(), 1));
  observer.add(
      "deadlock", parties[0],
      [&] { return std::string(why) + " in block " + std::to_string(block.index); },
      parties.size() > 1 ? parties[1] : Party{});
  is_aborted = true;
}

void Launch::report_limit(const ThreadBlock& block) {
  Party party;
  for (const Warp& warp : block.warps) {
    if (warp.strands.empty() || !warp.is_runnable()) continue;
    const std::uint32_t pc = warp.strands[0].pc;
    party = Party{&program.instructions[pc], block.index, warp.index, warp.strands[0].mask};
    break;
  }
  observer.add("limit", party, [&] {
    return "stopped after " + std::to_string(warp_instruction_limit) + " warp instructions";
  });
  is_aborted = true;
}

}  // namespace draftproof::gpu::emulator
