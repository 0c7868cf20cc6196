// RaceShadow: who last wrote and who last read each cell of a piece of memory, in shared and in
// global memory alike. A cell is a 4-byte word until a page sees a narrower access; then the page's
// cells are bytes, so that neighbours of one word are told apart.
//
// A cell remembers one write and two reads (the first and the last that no write or barrier has
// settled), the FastTrack scheme (Flanagan and Freund 2009) with the readers bounded. That can lose
// a race among more than two readers, and never invents one. A read of whole 128-byte lines by a
// warp is kept once a line, which makes streaming over a large buffer cheap.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "gpu/emulator/checks/happens_before.h"

namespace draftproof::gpu::emulator {

/// Packed description of an access: instruction, lane and strength.
struct AccessTag {
  static constexpr int kLaneShift = 22;
  static constexpr std::uint32_t kInstructionMask = (1u << kLaneShift) - 1;
  static constexpr std::uint32_t kStrong = 1u << 27;    ///< volatile, relaxed, acquire, release
  static constexpr std::uint32_t kCtaScope = 1u << 28;  ///< strong among its own block only
  static std::uint32_t instruction(std::uint32_t tag) { return tag & kInstructionMask; }
  static std::uint32_t lane(std::uint32_t tag) { return (tag >> kLaneShift) & 31; }
};

/// The warp that accesses now, and what is ordered before it.
struct Accessor {
  WarpNumber self = 0;
  Clock now = 0;
  Clock settled = 0;  ///< any access stamped below is ordered before, whoever made it
  Clock floor = 0;    ///< the same, for warps of the own block
  WarpNumber block_first = 0;
  std::uint32_t block_warps = 1;
  std::uint32_t tag = 0;  ///< with lane 0
  const BlockClocks* clocks = nullptr;

  std::uint32_t warp() const { return self - block_first; }
  bool is_same_block(WarpNumber other) const { return other - block_first < block_warps; }
  /// True when the earlier access (clock, who, tag) cannot race with this one.
  bool is_ordered(Clock clock, WarpNumber who, std::uint32_t other_tag) const;
};

/// The earlier party of a race.
struct PriorAccess {
  WarpNumber who = 0;
  std::uint32_t tag = 0;
  bool is_write = false;
  std::uint64_t offset = 0;  ///< of the cell
  std::uint32_t cell_bytes = 4;
};
/// The conflicts of one access; bounded, since one line is reported once.
using Conflicts = std::vector<PriorAccess>;

class RaceShadow {
 public:
  explicit RaceShadow(std::uint64_t bytes = 0);

  /// A read or write of `bytes` at `offset` in which each lane takes `lane_bytes`, from
  /// `first_lane` on. Returns false, and fills `conflicts`, when an earlier access races with it.
  bool read(std::uint64_t offset, std::uint64_t bytes, std::uint32_t lane_bytes,
            std::uint32_t first_lane, const Accessor& accessor, Conflicts& conflicts);
  bool write(std::uint64_t offset, std::uint64_t bytes, std::uint32_t lane_bytes,
             std::uint32_t first_lane, const Accessor& accessor, Conflicts& conflicts);
  /// True when this launch (clocks from `since` on) wrote to the range.
  bool was_written(std::uint64_t offset, std::uint64_t bytes, Clock since, PriorAccess* by) const;
  /// Forgets everything: nothing is left that a later access could race with.
  void clear();

  static constexpr int kPageShift = 10;
  static constexpr std::uint64_t kPageBytes = std::uint64_t{1} << kPageShift;
  static constexpr int kLineShift = 7;
  static constexpr std::uint32_t kLines = 1u << (kPageShift - kLineShift);

 private:
  /// Stamps of one kind of access, structure of arrays: clock, who, tag.
  struct Track {
    std::unique_ptr<std::uint32_t[]> stamps;
    std::uint32_t count = 0;
    Clock latest = 0;  ///< no stamp is later
    Clock* clock() const { return reinterpret_cast<Clock*>(stamps.get()); }
    std::uint32_t* who() const { return stamps.get() + count; }
    std::uint32_t* tag() const { return stamps.get() + std::size_t{2} * count; }
  };
  struct Page {
    int cell_shift = 2;
    Track write, first_read, last_read;
    Track line_first, line_last;
  };
  /// A run of cells of one page.
  struct Run {
    std::uint32_t first = 0;
    std::uint32_t count = 0;
    std::uint32_t lane_shift = 0;  ///< log2 cells a lane
    std::uint32_t lane = 0;        ///< of the first cell
    std::uint32_t skip = 0;        ///< cells of that lane before the first
  };

  Page& page_at(std::uint64_t offset, std::uint32_t lane_bytes);
  static void refine(Page& page);
  static Run run_in(const Page& page, std::uint64_t within, std::uint64_t bytes, std::uint64_t done,
                    std::uint32_t lane_bytes, std::uint32_t first_lane);
  static void ensure(Track& track, std::uint32_t count);
  static bool all_ordered(const Track& track, const Run& run, const Accessor& accessor);
  static void stamp(Track& track, const Run& run, const Accessor& accessor);
  static void stamp_reads(Track& first, Track& last, const Run& run, const Accessor& accessor);
  static void collect(const Track& track, const Run& run, const Accessor& accessor, bool is_write,
                      std::uint64_t page_offset, int cell_shift, Conflicts& conflicts);

  std::uint64_t bytes_;
  std::vector<std::unique_ptr<Page>> pages_;
};

}  // namespace draftproof::gpu::emulator
