// WarpExecution: runs one warp for a while. Compute instructions are calls of their handlers; all
// other kinds are here, one file for each family.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "gpu/emulator/machine/launch.h"
#include "gpu/emulator/machine/thread_block.h"

namespace draftproof::gpu::emulator {

/// Where an access lands: the bytes and their shadows. data null: nowhere.
struct Location {
  std::byte* data = nullptr;        ///< of the byte at `offset`
  std::uint64_t offset = 0;         ///< in the piece
  DefinedBytes* defined = nullptr;  ///< null: every byte is defined
  RaceShadow* race = nullptr;       ///< null: private to a thread, or never written
  Allocation* allocation = nullptr;
  Window window = Window::kGlobal;
  std::uint64_t key = 0;  ///< names the byte in the table of releases
};

using Addresses = std::array<std::uint64_t, kLanes>;

class WarpExecution {
 public:
  WarpExecution(Launch& launch, ThreadBlock& block, Warp& warp)
      : launch_(launch), block_(block), warp_(warp), frame_(warp.frame) {}

  /// Runs at most `quantum` warp instructions; returns how many. Stops early when the warp waits,
  /// gives way or has exited.
  std::uint64_t run(std::uint64_t quantum);

 private:
  enum class Next : std::uint8_t {
    kAdvance,   ///< on to the next instruction
    kReselect,  ///< strands changed
    kStop,      ///< give way, or the launch ends
  };

  // warp_execution.cpp
  std::size_t select();
  /// With kCounts, every instruction is told to the launch's counters.
  template <bool kCounts>
  std::uint64_t run_strand(std::size_t index, std::uint64_t budget);
  void count_step(const Instruction& in, LaneMask mask, LaneMask active);
  LaneMask guarded(const Instruction& in, LaneMask mask);
  Next branch(std::size_t index, const Instruction& in, LaneMask active);
  Next indexed_branch(std::size_t index, const Instruction& in, LaneMask active);
  Next execute(std::size_t index, const Instruction& in, LaneMask active);
  Next execute_simple(const Instruction& in, LaneMask active);
  Next exit_lanes(std::size_t index, LaneMask active);
  void give_way(bool is_poll);
  void clock(const Instruction& in, LaneMask active);
  Party party(const Instruction& in, LaneMask lanes) const {
    return Party{&in, block_.index, warp_.index, lanes};
  }
  Party party_of(const PriorAccess& prior) const;
  void report_undefined(const Instruction& in, LaneMask lanes, const char* what);

  // memory_access.cpp
  enum class Shape : std::uint8_t { kContiguous, kUniform, kScattered };
  LaneMask gather_addresses(const Instruction& in, LaneMask active, Addresses& addresses);
  LaneMask aligned_lanes(const Instruction& in, LaneMask active, const Addresses& addresses,
                         std::uint32_t width);
  static bool is_aligned(const Addresses& addresses, LaneMask active, Shape shape,
                         std::uint32_t width);
  static Shape shape_of(const Addresses& addresses, LaneMask active, std::uint32_t width);
  void synchronise_load(const Instruction& in, const Location& location);
  void synchronise_store(const Instruction& in, const Location& location);
  void synchronise_atomic(const Instruction& in, const Location& location);
  void poll(const Instruction& in, std::uint64_t key, std::uint64_t value);

  // load.cpp
  void load(const Instruction& in, LaneMask active);
  void load_together(const Instruction& in, LaneMask active, const Location& location,
                     std::uint32_t stride);
  void load_scattered(const Instruction& in, LaneMask active, const Addresses& addresses);
  /// What a strong load saw, as one word; 0 for others.
  std::uint64_t load_lane(const Instruction& in, std::uint32_t lane, std::uint64_t address);

  // store.cpp
  void store(const Instruction& in, LaneMask active);
  void report_undefined_store(const Instruction& in, LaneMask active);
  void define_stored(const Instruction& in, LaneMask active, const Location& location,
                     std::uint32_t stride);
  void store_contiguous(const Instruction& in, LaneMask active, const Location& location,
                        const std::byte* values);
  void store_uniform(const Instruction& in, LaneMask active, const Location& location,
                     const std::byte* values);
  void store_scattered(const Instruction& in, LaneMask active, const Addresses& addresses,
                       const std::byte* values);
  void report_clash(const Instruction& in, LaneMask lanes, const Location& location,
                    bool is_same_value);

  // location.cpp
  Location locate(Space space, std::uint64_t address, std::uint64_t width, std::uint32_t lane);
  void report_bounds(const Instruction& in, LaneMask lanes, std::uint64_t address,
                     std::uint64_t width, const char* verb);
  std::string describe(Space space, std::uint64_t address, std::uint64_t width) const;
  std::string describe(const Location& location, std::uint64_t width) const;

  // race_report.cpp
  Accessor accessor(const Instruction& in, const Location& location, bool is_strong) const;
  void watch_read(const Instruction& in, LaneMask lanes, const Location& location,
                  std::uint64_t bytes, std::uint32_t lane_bytes);
  void watch_write(const Instruction& in, LaneMask lanes, const Location& location,
                   std::uint64_t bytes, std::uint32_t lane_bytes, const std::byte* values);
  void report_race(const Instruction& in, LaneMask lanes, const Location& location,
                   const PriorAccess& prior, bool is_write, bool is_same_value);
  void report_noncoherent(const Instruction& in, LaneMask lanes, const Location& location,
                          std::uint64_t bytes);

  // atomic_access.cpp
  void atomic(const Instruction& in, LaneMask active);
  void atomic_lane(const Instruction& in, std::uint32_t lane, const Location& location);

  // collective_meeting.cpp
  struct Part {
    const Instruction* instruction;
    LaneMask lanes;
  };
  Next collective(std::size_t index, const Instruction& in);
  LaneMask member_mask(const Instruction& in, std::uint32_t lane) const;
  LaneMask lanes_with_mask(const Instruction& in, LaneMask lanes, LaneMask members) const;
  /// The lanes that wait at the operation of `in` with this mask, wherever they stand.
  LaneMask find_parts(const Instruction& in, LaneMask members, std::vector<Part>& parts) const;
  void release(LaneMask lanes);
  bool complete_across_strands();
  void force_collective();

  // collective.cpp
  void perform(std::span<const Part> parts);
  void shuffle(std::span<const Part> parts, LaneMask all);
  LaneMask shuffle_sources(const Instruction& in, std::array<std::uint32_t, kLanes>& source) const;
  void vote(std::span<const Part> parts);
  void match(std::span<const Part> parts);
  void redux(std::span<const Part> parts);
  void elect(std::span<const Part> parts, LaneMask all);

  // block_barrier.cpp
  Next barrier(std::size_t index, const Instruction& in);
  Next cluster_barrier(std::size_t index, const Instruction& in);
  Next arrive(std::size_t index, const Instruction& in, std::uint32_t number, std::uint32_t count);
  void report_skipped_barrier(const Instruction& in, LaneMask active, const Strand& strand);
  void finish_barrier(const Instruction& in, LaneMask lanes, const Barrier& barrier);
  bool resolve_stuck();
  bool split_barrier();

  // extern_call.cpp
  Next extern_call(const Instruction& in, LaneMask active);
  std::string read_text(std::uint64_t address, std::uint32_t lane);
  bool read_bytes(std::uint64_t address, std::span<std::byte> to, std::uint32_t lane);
  std::string format(const std::string& pattern, std::uint64_t arguments, std::uint32_t lane,
                     std::uint32_t& count);

  // async_copy.cpp
  void copy_async(const Instruction& in, LaneMask active);
  void commit_copies(LaneMask active);
  void wait_copies(const Instruction& in, LaneMask active);
  bool copy_source(const Instruction& in, std::uint32_t lane, std::uint64_t from,
                   std::uint32_t bytes, PendingCopy& copy);
  void deliver(const PendingCopy& copy);

  std::uint64_t read_register(const Operand& operand, std::uint32_t lane) const {
    if (operand.bytes == 8) return frame_.lanes<std::uint64_t>(operand)[lane];
    if (operand.bytes == 4) return frame_.lanes<std::uint32_t>(operand)[lane];
    return frame_.predicate(operand) >> lane & 1;
  }
  void write_register(const Operand& operand, std::uint32_t lane, std::uint64_t value) {
    if (operand.bytes == 8) {
      frame_.lanes<std::uint64_t>(operand)[lane] = value;
    } else {
      frame_.lanes<std::uint32_t>(operand)[lane] = static_cast<std::uint32_t>(value);
    }
  }
  void set_valid(const Operand& operand, LaneMask lanes, LaneMask valid) {
    LaneMask& word = frame_.valid(operand);
    word = (word & ~lanes) | (valid & lanes);
  }

  friend void open_barrier(Launch& launch, ThreadBlock& block, std::uint32_t number);

  Launch& launch_;
  ThreadBlock& block_;
  Warp& warp_;
  const Frame& frame_;
  std::uint64_t steps_ = 0;  ///< of the running strand, not yet counted
};

/// Opens every barrier of `block` that is complete, after threads have exited.
void open_complete_barriers(Launch& launch, ThreadBlock& block);

}  // namespace draftproof::gpu::emulator
