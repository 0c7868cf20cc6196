// HappensBefore: vector clocks of a launch, one entry a warp. An access is stamped (warp, clock); a
// later access by another warp is ordered after it when that warp has learned of the stamp through
// a barrier, or through a release that it acquired (PTX ISA, memory consistency model: release and
// acquire patterns, causality order). Clocks of one block advance together at a barrier of the
// whole block, to a common `floor`, so that nearly every question is one comparison with the floor.
//
// Two rules are kinder than the letter of the model, since the CUDA programming guide's own
// last-block example needs them: an atomic acquires what it reads without a later fence, and a
// block barrier hands on what its warps had fenced.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <unordered_map>
#include <utility>
#include <vector>

namespace draftproof::gpu::emulator {

/// A launch-wide warp number: block * warps of a block + warp.
using WarpNumber = std::uint32_t;
/// Grows through all launches of a device; 0 is before everything.
using Clock = std::int32_t;

/// What is known of blocks other than one's own: for a warp, or for a whole block, the first clock
/// that is *not* known. Immutable and shared; sorted by key.
class RemoteKnowledge {
 public:
  using Entry = std::pair<std::uint64_t, Clock>;
  static std::uint64_t warp_key(std::uint32_t block, std::uint32_t warp) {
    return (std::uint64_t{block} << 8) | warp;
  }
  static std::uint64_t block_key(std::uint32_t block) { return warp_key(block, 0xff); }

  explicit RemoteKnowledge(std::vector<Entry> entries) : entries_(std::move(entries)) {}
  bool covers(std::uint32_t block, std::uint32_t warp, Clock clock) const;
  const std::vector<Entry>& entries() const { return entries_; }

 private:
  std::vector<Entry> entries_;
};
using RemotePointer = std::shared_ptr<const RemoteKnowledge>;

/// The union; either may be null.
RemotePointer join(const RemotePointer& left, const RemotePointer& right);

/// What a warp knew when it released, seen from inside its block.
struct Knowledge {
  std::uint32_t block = 0;
  Clock floor = 0;
  std::vector<Clock> own;  ///< per warp of the block; empty: only the floor
  RemotePointer remote;
  bool reaches_other_blocks = true;  ///< scope wider than .cta
};
using KnowledgePointer = std::shared_ptr<const Knowledge>;

/// The union of what two warps released; either may be null.
KnowledgePointer join(const KnowledgePointer& left, const KnowledgePointer& right);

/// The clock of one warp. `floor` of its block is kept by the block.
struct WarpClock {
  Clock now = 0;
  std::vector<Clock> own;  ///< what it knows of its block-mates; empty until a partial sync
  RemotePointer remote;
  KnowledgePointer fenced;                ///< what a later relaxed store or atomic publishes
  KnowledgePointer fenced_cta;            ///< the same, visible to its own block only
  std::vector<KnowledgePointer> pending;  ///< read by relaxed loads; acquired by the next fence
  KnowledgePointer acquired;              ///< the last one: polling finds the same again and again
};

/// Clocks of a block's warps and what synchronises them.
class BlockClocks {
 public:
  void start(std::uint32_t block, std::uint32_t warp_count, Clock floor);

  std::uint32_t block() const { return block_; }
  Clock floor() const { return floor_; }
  Clock latest() const { return latest_; }
  WarpClock& warp(std::uint32_t warp) { return warps_[warp]; }
  const WarpClock& warp(std::uint32_t warp) const { return warps_[warp]; }
  /// True when (other, clock) of this block is ordered before `warp`.
  bool knows(std::uint32_t warp, std::uint32_t other, Clock clock) const {
    const WarpClock& mine = warps_[warp];
    if (clock < floor_ || (!mine.own.empty() && clock < mine.own[other])) return true;
    // A block may learn of itself by way of another block.
    return mine.remote != nullptr && mine.remote->covers(block_, other, clock);
  }

  /// All warps of the block met: everything before is ordered before everything after.
  void meet_all();
  /// `warp` leaves a barrier of some warps: it acquires what those that arrived released, and may
  /// publish what they had fenced.
  void leave(std::uint32_t warp, const KnowledgePointer& released, const KnowledgePointer& fenced);

  /// Everything `warp` knows, its own accesses included; its clock moves on.
  KnowledgePointer release(std::uint32_t warp, bool reaches_other_blocks);
  void acquire(std::uint32_t warp, const KnowledgePointer& knowledge);
  /// What a relaxed store or atomic of `warp` publishes: what it knew at its last fence, or null.
  KnowledgePointer fenced(std::uint32_t warp) const {
    return join(warps_[warp].fenced, warps_[warp].fenced_cta);
  }
  /// A relaxed load read it; the next fence acquires it.
  void read_relaxed(std::uint32_t warp, const KnowledgePointer& knowledge);
  /// fence / membar.
  void fence(std::uint32_t warp, bool reaches_other_blocks);

 private:
  void learn(WarpClock& warp, const std::vector<Clock>& own);

  std::uint32_t block_ = 0;
  Clock floor_ = 0;
  Clock latest_ = 0;
  std::vector<WarpClock> warps_;
};

/// What was released to an address that strong operations touch.
class SyncTable {
 public:
  bool empty() const { return released_.empty(); }
  void clear() { released_.clear(); }
  /// Null when nothing was released there.
  KnowledgePointer find(std::uint64_t address) const {
    const auto found = released_.find(address);
    return found == released_.end() ? nullptr : found->second;
  }
  /// A store begins a new value; an atomic continues the release sequence.
  void store(std::uint64_t address, const KnowledgePointer& knowledge);
  void update(std::uint64_t address, const KnowledgePointer& knowledge);

 private:
  std::unordered_map<std::uint64_t, KnowledgePointer> released_;
};

}  // namespace draftproof::gpu::emulator
