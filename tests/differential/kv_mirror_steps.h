// The operations of a mirrored cache (kv_mirror.h).
#pragma once

#include "tests/differential/kv_mirror.h"

namespace draftproof::tests {

/// Cells to their slots, by one launch.
inline void MirroredCache::append(
    const std::vector<std::pair<reference::kv::SlotAddress, Cell>>& cells) {
  if (cells.empty()) return;
  std::vector<std::int64_t> slots = {-1};
  std::vector<CellKey> keys = {0xdead};
  for (const auto& [at, cell] : cells) {
    slots.push_back(std::int64_t{at.page} * config_.page_size + at.offset);
    keys.push_back(key_of(cell));
  }
  draftproof_kv_append_arguments arguments{};
  arguments.pool = pool_.arguments();
  const auto rows = pool_.rows(keys, arguments);
  const auto list = shared_->device.array(slots, "slots");
  arguments.slots = list.pointer();
  arguments.token_count = static_cast<std::uint32_t>(slots.size());
  shared_->device.run(arguments);
  shared_->counts.appended_cells += static_cast<std::int64_t>(cells.size());
}

/// Sequences that came without an operation of this class: forks, whose table a host writes.
inline void MirroredCache::adopt() {
  for (const SequenceId id : open_sequences()) {
    if (rows_.contains(id) || sequence(id).pages.empty()) continue;
    write_table(id, 0);
  }
}

/// What was written since the last operation: the kernel says where it goes.
inline void MirroredCache::flush() {
  adopt();
  if (pending_.empty()) return;
  std::vector<std::pair<reference::kv::SlotAddress, Cell>> cells;
  for (auto first = pending_.begin(); first != pending_.end();) {
    const SequenceId id = first->first.first;
    const Sequence& own = sequence(id);
    const Told told(shared_->device, row_of(id), own.length, own.reserved);
    const auto stride = static_cast<std::size_t>(own.reserved) + 1;
    const auto slots = shared_->device.array(std::vector<std::int64_t>(2 * stride, -3), "slots");
    draftproof_kv_map_slots_arguments arguments{};
    arguments.sequences = sequences_of(told);
    arguments.slots = slots.pointer();
    arguments.statuses = told.statuses.pointer();
    arguments.slot_stride = stride;
    arguments.slot_count = 2 * stride;
    arguments.page_size = static_cast<std::uint32_t>(config_.page_size);
    arguments.page_count = static_cast<std::uint32_t>(config_.page_count);
    shared_->device.run(arguments);
    demand_done(told.statuses, "map_slots");
    const std::vector<std::int64_t> found = slots.read();
    demand(found[stride - 1] == -1 && found[stride] == -1, "map_slots: padding");
    for (; first != pending_.end() && first->first.first == id; ++first) {
      const std::int64_t slot =
          found.at(static_cast<std::size_t>(first->first.second - own.length));
      demand(slot >= 0, "map_slots: no slot");
      cells.push_back(
          {{static_cast<int>(slot / config_.page_size), static_cast<int>(slot % config_.page_size)},
           as_read(first->second)});
    }
  }
  pending_.clear();
  append(cells);
  check();
}

inline void MirroredCache::write(SequenceId id, int slot, const Cell& cell) {
  PagedCache::write(id, slot, cell);
  pending_[{id, slot}] = cell;
}

inline bool MirroredCache::reserve(SequenceId id, int count) {
  flush();
  const Sequence before = sequence(id);
  const bool is_reserved = PagedCache::reserve(id, count);
  const Sequence& after = sequence(id);
  const int row = row_of(id);
  std::vector<draftproof_kv_page_copy> copies;
  for (std::size_t i = 0; i < before.pages.size(); ++i)
    if (before.pages[i] != after.pages[i])
      copies.push_back({before.pages[i], after.pages[i], before.length % config_.page_size, row,
                        static_cast<int>(i)});
  // Evicted pages before somebody writes into them; the page that is copied from, behind that.
  poison_dropped(copies.empty() ? reference::kv::kNoPage : copies.front().source);
  if (!copies.empty()) {
    const auto list = shared_->device.array(copies, "copies");
    const auto statuses =
        shared_->device.array(std::vector<std::uint32_t>(copies.size(), 99), "statuses");
    draftproof_kv_copy_pages_arguments arguments{};
    arguments.pool = pool_.arguments();
    arguments.copies = list.pointer();
    arguments.tables = tables_->pointer();
    arguments.statuses = statuses.pointer();
    arguments.table_stride = static_cast<std::uint64_t>(page_max_);
    arguments.row_count = kRows;
    arguments.page_max = static_cast<std::uint32_t>(page_max_);
    arguments.copy_count = static_cast<std::uint32_t>(copies.size());
    shared_->device.run(arguments);
    demand_done(statuses, "copy_pages");
    shared_->counts.copied_pages += static_cast<std::int64_t>(copies.size());
  }
  write_table(id, before.pages.size());
  check();
  return is_reserved;
}

inline void MirroredCache::commit(SequenceId id, std::span<const int> kept) {
  flush();
  const Sequence before = sequence(id);
  const std::int64_t moved = moved_cell_count();
  PagedCache::commit(id, kept);
  ++shared_->counts.commits;
  shared_->counts.moved_cells += moved_cell_count() - moved;
  KvDevice& device = shared_->device;
  const Told told(device, row_of(id), before.length, before.reserved);
  // As a target's that was fed a pending token first, or as a plain list of offsets.
  KvKept list;
  list.leading = !kept.empty() && kept.front() == 0 && shared_->dice.is_one_in(2) ? 1 : 0;
  list.nodes.emplace_back();
  for (const int offset : kept.subspan(static_cast<std::size_t>(list.leading)))
    list.nodes.back().push_back(offset - list.leading);
  list.outcomes = {{static_cast<std::uint32_t>(list.nodes.back().size()), 0, 0, 0}, {}};
  list.nodes.emplace_back();
  const KvKeptArrays arrays = on_device(device, list);
  const auto lengths = device.array<std::int32_t>({-5, -5}, "new lengths");
  draftproof_kv_commit_arguments arguments{};
  arguments.pool = pool_.arguments();
  arguments.sequences = sequences_of(told);
  arguments.kept = arrays.arguments;
  arguments.new_lengths = lengths.pointer();
  arguments.statuses = told.statuses.pointer();
  device.run(arguments);
  demand_done(told.statuses, "commit");
  demand(lengths.read() == std::vector<std::int32_t>{sequence(id).length, -5},
         "commit: length " + std::to_string(lengths.read()[0]) + " of a sequence of " +
             std::to_string(sequence(id).length));
  if (shared_->dice.is_one_in(2)) {
    draftproof_kv_poison_arguments poisoned{};
    poisoned.pool = pool_.arguments();
    poisoned.sequences = sequences_of(told);
    poisoned.new_lengths = lengths.pointer();
    poisoned.statuses = told.statuses.pointer();
    poisoned.byte = static_cast<std::uint32_t>(KvPool::kPoison);
    device.run(poisoned);
    demand_done(told.statuses, "poison");
  }
  // A cell may have moved to a slot that nobody wrote, in a page that a window has left since.
  for (int slot = before.length; slot < sequence(id).length; ++slot)
    pool_.key(before.pages[static_cast<std::size_t>(slot / config_.page_size)],
              slot % config_.page_size) |= 1;
  release_pages(told, sequence(id).length, before, sequence(id).pages);
  check();
}

/// Pages that left a table, in the kernel's order: the last one first.
inline void MirroredCache::release_pages(const Told& told, std::int32_t length,
                                         const Sequence& before,
                                         const std::vector<reference::kv::PageId>& after) {
  KvDevice& device = shared_->device;
  const auto lengths = device.array<std::int32_t>({length, 7}, "new lengths");
  const auto width = static_cast<std::size_t>(page_max_);
  const auto freed = device.array(std::vector<std::int32_t>(2 * width, -4), "freed pages");
  const auto counts = device.array<std::uint32_t>({99, 99}, "freed counts");
  const auto held =
      device.array<std::int32_t>({static_cast<std::int32_t>(before.pages.size()), 7}, "held");
  draftproof_kv_release_pages_arguments arguments{};
  arguments.sequences = sequences_of(told);
  arguments.new_lengths = lengths.pointer();
  arguments.freed = freed.pointer();
  arguments.freed_counts = counts.pointer();
  arguments.held_counts = shared_->dice.is_one_in(2) ? held.pointer() : 0;
  arguments.statuses = told.statuses.pointer();
  arguments.freed_stride = width;
  arguments.page_size = static_cast<std::uint32_t>(config_.page_size);
  arguments.page_count = static_cast<std::uint32_t>(config_.page_count);
  arguments.window = static_cast<std::uint32_t>(config_.window);
  device.run(arguments);
  demand_done(told.statuses, "release_pages");
  std::vector<std::int32_t> expected;
  for (std::size_t i = before.pages.size(); i-- > after.size();)
    if (before.pages[i] != reference::kv::kNoPage) expected.push_back(before.pages[i]);
  for (std::size_t i = std::min(after.size(), before.pages.size()); i-- > 0;)
    if (after[i] == reference::kv::kNoPage && before.pages[i] != reference::kv::kNoPage)
      expected.push_back(before.pages[i]);
  shared_->counts.released_pages += static_cast<std::int64_t>(expected.size());
  demand(counts.read()[0] == expected.size(), "release_pages: " + std::to_string(counts.read()[0]) +
                                                  " pages instead of " +
                                                  std::to_string(expected.size()));
  const std::vector<std::int32_t> list = freed.read();
  demand(std::equal(expected.begin(), expected.end(), list.begin()), "release_pages: other pages");
}

inline bool MirroredCache::trim(SequenceId id, int length) {
  flush();
  const Sequence before = sequence(id);
  const bool is_trimmed = PagedCache::trim(id, length);
  if (is_trimmed)
    release_pages(Told(shared_->device, row_of(id), before.length, 0), length, before,
                  sequence(id).pages);
  check();
  return is_trimmed;
}

inline void MirroredCache::leave(SequenceId id, const Sequence& before) {
  if (!before.pages.empty())
    release_pages(Told(shared_->device, row_of(id), before.length, before.reserved), 0, before, {});
  rows_.erase(id);
  check();
}

inline void MirroredCache::release(SequenceId id) {
  flush();
  const Sequence before = sequence(id);
  PagedCache::release(id);
  leave(id, before);
}

inline void MirroredCache::offload(SequenceId id) {
  flush();
  const Sequence before = sequence(id);
  PagedCache::offload(id);
  leave(id, before);
}

inline bool MirroredCache::restore(SequenceId id) {
  flush();
  const bool is_restored = PagedCache::restore(id);
  poison_dropped();
  if (is_restored) {
    write_table(id, 0);
    std::vector<std::pair<reference::kv::SlotAddress, Cell>> cells;
    for (int slot = 0; slot < sequence(id).length; ++slot) {
      const auto index = static_cast<std::size_t>(slot / config_.page_size);
      if (sequence(id).pages[index] == reference::kv::kNoPage) continue;
      if (const Cell cell = read(id, slot); cell.is_written())
        cells.push_back({address(id, slot), cell});
    }
    append(cells);
    shared_->counts.restored_cells += static_cast<std::int64_t>(cells.size());
  }
  check();
  return is_restored;
}

inline int MirroredCache::attach_prefix(SequenceId id, std::span<const Token> tokens) {
  flush();
  const int found = PagedCache::attach_prefix(id, tokens);
  write_table(id, 0);
  check();
  return found;
}

/// What the cache has poisoned is poisoned there: runs of slots, each as a sequence of one page.
inline void MirroredCache::poison_dropped(reference::kv::PageId but) {
  std::vector<std::int32_t> pages, firsts, counts;
  for (int page = 0; page < config_.page_count; ++page)
    for (int slot = 0; slot < config_.page_size; ++slot) {
      if (page == but || pool_.key(page, slot) == 0 || key_of(page, slot) != 0) continue;
      pool_.key(page, slot) = 0;
      if (!pages.empty() && pages.back() == page && firsts.back() + counts.back() == slot) {
        ++counts.back();
        continue;
      }
      pages.push_back(page);
      firsts.push_back(slot);
      counts.push_back(1);
    }
  if (pages.empty()) return;
  KvDevice& device = shared_->device;
  const auto tables = device.array(pages, "pages");
  const auto lengths = device.array(firsts, "firsts");
  const auto fed = device.array(counts, "counts");
  const auto statuses = device.array(std::vector<std::uint32_t>(pages.size(), 99), "statuses");
  draftproof_kv_poison_arguments arguments{};
  arguments.pool = pool_.arguments();
  arguments.sequences = {tables.pointer(),
                         0,
                         lengths.pointer(),
                         fed.pointer(),
                         1,
                         static_cast<std::uint32_t>(pages.size()),
                         1,
                         static_cast<std::uint32_t>(pages.size()),
                         0};
  arguments.new_lengths = lengths.pointer();
  arguments.statuses = statuses.pointer();
  arguments.byte = static_cast<std::uint32_t>(KvPool::kPoison);
  device.run(arguments);
  demand_done(statuses, "poison");
  shared_->counts.poisoned_ranges += static_cast<std::int64_t>(pages.size());
}

/// Every byte, and every entry of every table.
inline void MirroredCache::check() {
  poison_dropped();
  for (int page = 0; page < config_.page_count; ++page)
    for (int slot = 0; slot < config_.page_size; ++slot)
      if (const auto key = key_of(page, slot); true) pool_.key(page, slot) = key;
  // A write that waits is in the cells and not yet in the bytes; operations flush first.
  pool_.compare("cells");
  std::vector<std::int32_t> tables(table_size());
  tables_->read(std::span<std::int32_t>(tables));
  for (const auto& [id, row] : rows_) {
    const auto& pages = sequence(id).pages;
    for (std::size_t i = 0; i < static_cast<std::size_t>(page_max_); ++i)
      demand(tables[static_cast<std::size_t>(row * page_max_) + i] ==
                 (i < pages.size() ? pages[i] : -1),
             "entry " + std::to_string(i) + " of a table");
  }
  ++shared_->counts.comparisons;
}

}  // namespace draftproof::tests
