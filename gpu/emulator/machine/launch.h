// Launch: one grid run from start to end on one thread. Blocks are resident together and run in
// turns, since kernels exist whose blocks wait for each other; the turns come from a seed, so that
// every run can be had again.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "gpu/device.h"
#include "gpu/emulated_device.h"
#include "gpu/emulator/checks/observer.h"
#include "gpu/emulator/machine/memory.h"
#include "gpu/emulator/machine/thread_block.h"
#include "gpu/emulator/profile/launch_counters.h"

namespace draftproof::gpu::emulator {

/// What a launch needs and does not own.
struct LaunchInput {
  const Program& program;
  const std::vector<std::string>& source_files;
  const std::vector<std::string>& forms;  ///< of the module, by Instruction::form
  const LaunchOptions& options;
  const EmulatedDeviceOptions& device;
  std::vector<std::byte> parameters;
};

/// Storage that outlives launches, so that register files are not made anew for each.
class ThreadBlockPool {
 public:
  std::unique_ptr<ThreadBlock> take();
  void give(std::unique_ptr<ThreadBlock> block) { free_.push_back(std::move(block)); }
  void clear() { free_.clear(); }

 private:
  std::vector<std::unique_ptr<ThreadBlock>> free_;
};

class Launch {
 public:
  /// `clock` is the device's: all earlier accesses have earlier stamps; it is moved on.
  Launch(const LaunchInput& input, GlobalMemory& memory, ThreadBlockPool& pool, Clock& clock);
  ~Launch();
  LaunchReport run();
  /// A hash of which warp ran how far, in order.
  std::uint64_t trace_hash() const { return trace_; }

  // What the parts of the machine share.
  const Program& program;
  const LaunchOptions& options;
  const EmulatedDeviceOptions& device;
  const std::vector<std::byte>& parameters;
  GlobalMemory& memory;
  Observer observer;
  LaunchReport report;
  SyncTable global_sync;
  std::mt19937_64 random;
  Clock base = 1;  ///< stamps below are of earlier launches
  std::uint32_t warps_a_block = 1;
  bool is_single_block = false;
  bool is_aborted = false;
  std::uint64_t progress = 0;  ///< grows when memory changes, a barrier opens or threads exit
  std::uint64_t warp_instructions = 0;
  std::uint64_t warp_instruction_limit = 0;
  std::vector<LaneMask> constant_validity;
  Conflicts conflicts;                       ///< scratch
  std::unique_ptr<LaunchCounters> counters;  ///< null: costs are not counted

  Dim3 block_position(std::uint32_t linear) const;

 private:
  void start_block();
  void start_warp(ThreadBlock& block, std::uint32_t index);
  void fill_specials(const ThreadBlock& block, Warp& warp);
  std::uint64_t special_value(const SpecialOperand& special, const ThreadBlock& block,
                              std::uint32_t warp, std::uint32_t lane) const;
  std::size_t choose_block();
  void run_block(ThreadBlock& block);
  std::uint32_t choose_warp(std::uint32_t candidates);
  std::uint64_t choose_quantum();
  void retire(std::size_t slot);
  void report_blocked(const ThreadBlock& block, const char* why);
  void report_limit(const ThreadBlock& block);
  bool is_deadlocked() const;
  void note_trace(std::uint64_t value) {
    trace_ = (trace_ ^ value) * 0x100000001b3u;
    trace_ ^= trace_ >> 29;
  }

  ThreadBlockPool& pool_;
  Clock& device_clock_;
  std::vector<std::unique_ptr<ThreadBlock>> resident_;
  std::uint64_t next_block_ = 0;
  std::uint64_t block_count_ = 0;
  std::size_t turn_ = 0;
  std::uint64_t trace_ = 0xcbf29ce484222325u;
};

}  // namespace draftproof::gpu::emulator
