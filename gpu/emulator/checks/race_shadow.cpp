// RaceShadow: see the header. The loops over a run's cells are written so that the compiler can
// turn them into vector instructions; the exact question is asked only where the cheap one says no.
#include "gpu/emulator/checks/race_shadow.h"

#include <algorithm>
#include <bit>

namespace draftproof::gpu::emulator {

namespace {

/// Cells a step of the inner loops, whose trip count must be known for g++ 12 to vectorise at -O2.
constexpr std::uint32_t kChunk = 8;

}  // namespace

bool Accessor::is_ordered(Clock clock, WarpNumber who, std::uint32_t other_tag) const {
  if (clock < settled || who == self) return true;
  const bool is_mate = is_same_block(who);
  if (is_mate) {
    if (clocks->knows(warp(), who - block_first, clock)) return true;
  } else {
    const RemotePointer& remote = clocks->warp(warp()).remote;
    if (remote != nullptr && remote->covers(who / block_warps, who % block_warps, clock)) {
      return true;
    }
  }
  // Two strong operations never race, unless one of them is strong in its own block only.
  const bool both_strong = (tag & other_tag & AccessTag::kStrong) != 0;
  const bool too_narrow = !is_mate && ((tag | other_tag) & AccessTag::kCtaScope) != 0;
  return both_strong && !too_narrow;
}

RaceShadow::RaceShadow(std::uint64_t bytes)
    : bytes_(bytes), pages_((bytes + kPageBytes - 1) >> kPageShift) {}

void RaceShadow::clear() {
  for (auto& page : pages_) page.reset();
}

void RaceShadow::ensure(Track& track, std::uint32_t count) {
  if (track.stamps != nullptr) return;
  track.count = count;
  track.stamps = std::make_unique<std::uint32_t[]>(std::size_t{3} * count);
}

RaceShadow::Page& RaceShadow::page_at(std::uint64_t offset, std::uint32_t lane_bytes) {
  auto& page = pages_[offset >> kPageShift];
  if (page == nullptr) page = std::make_unique<Page>();
  if (lane_bytes < 4 && page->cell_shift != 0) refine(*page);
  return *page;
}

void RaceShadow::refine(Page& page) {
  for (Track* track : {&page.write, &page.first_read, &page.last_read}) {
    if (track->stamps == nullptr) continue;
    Track bytes;
    bytes.latest = track->latest;
    ensure(bytes, track->count * 4);
    for (std::uint32_t i = 0; i < bytes.count; ++i) {
      bytes.clock()[i] = track->clock()[i / 4];
      bytes.who()[i] = track->who()[i / 4];
      bytes.tag()[i] = track->tag()[i / 4];
    }
    *track = std::move(bytes);
  }
  page.cell_shift = 0;
}

RaceShadow::Run RaceShadow::run_in(const Page& page, std::uint64_t within, std::uint64_t bytes,
                                   std::uint64_t done, std::uint32_t lane_bytes,
                                   std::uint32_t first_lane) {
  Run run;
  run.first = static_cast<std::uint32_t>(within >> page.cell_shift);
  run.count = static_cast<std::uint32_t>(bytes >> page.cell_shift);
  run.lane_shift = static_cast<std::uint32_t>(std::countr_zero(lane_bytes) - page.cell_shift);
  run.lane = first_lane + static_cast<std::uint32_t>(done / lane_bytes);
  run.skip = static_cast<std::uint32_t>((done % lane_bytes) >> page.cell_shift);
  return run;
}

bool RaceShadow::all_ordered(const Track& track, const Run& run, const Accessor& accessor) {
  if (track.latest < accessor.settled) return true;
  const Clock* clock = track.clock() + run.first;
  const std::uint32_t* who = track.who() + run.first;
  const Accessor& by = accessor;
  const auto is_unordered = [&by](Clock then, std::uint32_t other) {
    const bool is_mate = other - by.block_first < by.block_warps;
    return static_cast<std::uint32_t>(
        !((then < by.settled) | (other == by.self) | (is_mate & (then < by.floor))));
  };
  std::uint32_t unordered = 0;
  std::uint32_t i = 0;
  for (; i + kChunk <= run.count; i += kChunk) {
    for (std::uint32_t j = i; j < i + kChunk; ++j) unordered |= is_unordered(clock[j], who[j]);
  }
  for (; i < run.count; ++i) unordered |= is_unordered(clock[i], who[i]);
  return unordered == 0;
}

void RaceShadow::stamp(Track& track, const Run& run, const Accessor& accessor) {
  Clock* clock = track.clock() + run.first;
  std::uint32_t* who = track.who() + run.first;
  std::uint32_t* tag = track.tag() + run.first;
  const Clock now = accessor.now;
  const WarpNumber self = accessor.self;
  const std::uint32_t base = accessor.tag;
  const auto tag_of = [&run, base](std::uint32_t cell) {
    const std::uint32_t lane = run.lane + ((cell + run.skip) >> run.lane_shift);
    return base | (lane << AccessTag::kLaneShift);
  };
  std::uint32_t i = 0;
  for (; i + kChunk <= run.count; i += kChunk) {
    for (std::uint32_t j = 0; j < kChunk; ++j) clock[i + j] = now;
    for (std::uint32_t j = 0; j < kChunk; ++j) who[i + j] = self;
    for (std::uint32_t j = 0; j < kChunk; ++j) tag[i + j] = tag_of(i + j);
  }
  for (; i < run.count; ++i) {
    clock[i] = now;
    who[i] = self;
    tag[i] = tag_of(i);
  }
  track.latest = std::max(track.latest, now);
}

void RaceShadow::stamp_reads(Track& first, Track& last, const Run& run, const Accessor& accessor) {
  // The first reader gives way once it is settled; until then later readers share the second place.
  if (all_ordered(first, run, accessor)) {
    stamp(first, run, accessor);
    return;
  }
  Run one = run;
  one.count = 1;
  for (std::uint32_t i = 0; i < run.count; ++i) {
    one.first = run.first + i;
    one.lane = run.lane + ((i + run.skip) >> run.lane_shift);
    one.skip = 0;
    Accessor plain = accessor;
    plain.tag &= ~AccessTag::kStrong;
    const bool gives_way = plain.is_ordered(first.clock()[one.first], first.who()[one.first], 0);
    stamp(gives_way ? first : last, one, accessor);
  }
}

void RaceShadow::collect(const Track& track, const Run& run, const Accessor& accessor,
                         bool is_write, std::uint64_t page_offset, int cell_shift,
                         Conflicts& conflicts) {
  for (std::uint32_t i = run.first; i < run.first + run.count; ++i) {
    const Clock clock = track.clock()[i];
    const WarpNumber who = track.who()[i];
    const std::uint32_t tag = track.tag()[i];
    if (accessor.is_ordered(clock, who, tag)) continue;
    PriorAccess prior;
    prior.who = who;
    prior.tag = tag;
    prior.is_write = is_write;
    prior.offset = page_offset + (std::uint64_t{i} << cell_shift);
    prior.cell_bytes = 1u << cell_shift;
    conflicts.push_back(prior);
  }
}

bool RaceShadow::read(std::uint64_t offset, std::uint64_t bytes, std::uint32_t lane_bytes,
                      std::uint32_t first_lane, const Accessor& accessor, Conflicts& conflicts) {
  const std::size_t before = conflicts.size();
  for (std::uint64_t done = 0; done < bytes;) {
    const std::uint64_t at = offset + done;
    const std::uint64_t within = at & (kPageBytes - 1);
    const std::uint64_t part = std::min(bytes - done, kPageBytes - within);
    Page& page = page_at(at, lane_bytes);
    const Run run = run_in(page, within, part, done, lane_bytes, first_lane);
    if (page.write.stamps != nullptr && !all_ordered(page.write, run, accessor)) {
      collect(page.write, run, accessor, true, at - within, page.cell_shift, conflicts);
    }
    const std::uint64_t line_mask = (std::uint64_t{1} << kLineShift) - 1;
    if (((within | part) & line_mask) == 0) {
      Run lines;
      lines.first = static_cast<std::uint32_t>(within >> kLineShift);
      lines.count = static_cast<std::uint32_t>(part >> kLineShift);
      lines.lane = run.lane;
      lines.lane_shift = 5;
      ensure(page.line_first, kLines);
      ensure(page.line_last, kLines);
      stamp_reads(page.line_first, page.line_last, lines, accessor);
    } else {
      const auto cells = static_cast<std::uint32_t>(kPageBytes >> page.cell_shift);
      ensure(page.first_read, cells);
      ensure(page.last_read, cells);
      stamp_reads(page.first_read, page.last_read, run, accessor);
    }
    done += part;
  }
  return conflicts.size() == before;
}

bool RaceShadow::write(std::uint64_t offset, std::uint64_t bytes, std::uint32_t lane_bytes,
                       std::uint32_t first_lane, const Accessor& accessor, Conflicts& conflicts) {
  const std::size_t before = conflicts.size();
  for (std::uint64_t done = 0; done < bytes;) {
    const std::uint64_t at = offset + done;
    const std::uint64_t within = at & (kPageBytes - 1);
    const std::uint64_t part = std::min(bytes - done, kPageBytes - within);
    Page& page = page_at(at, lane_bytes);
    const Run run = run_in(page, within, part, done, lane_bytes, first_lane);
    const auto examine = [&](const Track& track, const Run& cells, bool is_write, int shift) {
      if (track.stamps == nullptr || all_ordered(track, cells, accessor)) return;
      collect(track, cells, accessor, is_write, at - within, shift, conflicts);
    };
    examine(page.write, run, true, page.cell_shift);
    examine(page.first_read, run, false, page.cell_shift);
    examine(page.last_read, run, false, page.cell_shift);
    if (page.line_first.latest >= accessor.settled) {
      Run lines;
      lines.first = static_cast<std::uint32_t>(within >> kLineShift);
      lines.count = static_cast<std::uint32_t>((within + part - 1) >> kLineShift) + 1 - lines.first;
      examine(page.line_first, lines, false, kLineShift);
      examine(page.line_last, lines, false, kLineShift);
    }
    ensure(page.write, static_cast<std::uint32_t>(kPageBytes >> page.cell_shift));
    stamp(page.write, run, accessor);
    done += part;
  }
  return conflicts.size() == before;
}

bool RaceShadow::was_written(std::uint64_t offset, std::uint64_t bytes, Clock since,
                             PriorAccess* by) const {
  const std::uint64_t end = std::min(offset + bytes, bytes_);
  for (std::uint64_t at = offset; at < end;) {
    const std::uint64_t page_end = (at | (kPageBytes - 1)) + 1;
    const Page* page = pages_[at >> kPageShift].get();
    if (page == nullptr || page->write.latest < since) {
      at = page_end;
      continue;
    }
    const std::uint64_t cell = (at & (kPageBytes - 1)) >> page->cell_shift;
    if (page->write.clock()[cell] >= since) {
      by->who = page->write.who()[cell];
      by->tag = page->write.tag()[cell];
      by->is_write = true;
      by->offset = at;
      return true;
    }
    at = std::min(page_end, ((at >> page->cell_shift) + 1) << page->cell_shift);
  }
  return false;
}

}  // namespace draftproof::gpu::emulator
