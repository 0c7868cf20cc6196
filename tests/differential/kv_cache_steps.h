// The steps of a cache on the device (kv_cache.h), one launch each.
#pragma once

#include "tests/differential/kv_cache.h"

namespace draftproof::tests {

/// What the twin's cells are: those of the tokens one by one, never drafted.
inline std::vector<CellKey> twin_cells(const std::vector<Token>& tokens) {
  std::vector<CellKey> cells;
  std::uint64_t history = reference::kv::kEmptyHistory;
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    history = reference::kv::history_behind(history, tokens[i], static_cast<std::int32_t>(i));
    cells.push_back(history);
  }
  return cells;
}

/// The cells of fed tokens behind the committed ones: what each attends to is its ancestors.
inline std::vector<CellKey> fed_cells(const std::vector<Token>& committed, const KvFeed& feed) {
  const std::vector<CellKey> before = twin_cells(committed);
  const std::uint64_t root = before.empty() ? reference::kv::kEmptyHistory : before.back();
  std::vector<CellKey> cells;
  std::vector<int> depths;
  for (std::size_t i = 0; i < feed.tokens.size(); ++i) {
    const int parent = feed.parents[i];
    const auto at = static_cast<std::size_t>(parent);
    depths.push_back(parent < 0 ? 0 : depths[at] + 1);
    cells.push_back(
        reference::kv::history_behind(parent < 0 ? root : cells[at], feed.tokens[i],
                                      static_cast<std::int32_t>(committed.size()) + depths.back()));
  }
  return cells;
}

inline void KvCache::make_room(const std::vector<KvFeed>& feeds) {
  std::vector<draftproof_kv_page_copy> copies;
  const int size = pool_.layout().page_size;
  for (const KvFeed& feed : feeds) {
    if (feed.row < 0 || feed.tokens.empty()) {
      copies.push_back({-1, -7, -7, -7, -7});
      continue;
    }
    Sequence& own = sequence(feed.row);
    if (is_shared(feed.row)) {
      const int index = own.length() / size;
      int& held = own.pages[static_cast<std::size_t>(index)];
      const int copy = take_page();
      copies.push_back({held, copy, own.length() % size, feed.row, index});
      for (int slot = 0; slot < own.length() % size; ++slot)
        pool_.key(copy, slot) = pool_.key(held, slot);
      if (pool_.layout().has_page_scales) pool_.page_key(copy) = pool_.page_key(held);
      drop(std::exchange(held, copy));
    }
    while (static_cast<int>(own.pages.size()) <
           pages_of(own.length() + static_cast<int>(feed.tokens.size()))) {
      own.pages.push_back(take_page());
      write_entry(feed.row, static_cast<int>(own.pages.size()) - 1, own.pages.back());
      if (pool_.layout().has_page_scales)
        pool_.write_page_scale(own.pages.back(), 1000 + static_cast<CellKey>(own.root));
    }
  }
  const auto list = device_.array(copies, "copies");
  const auto statuses = words(copies.size());
  draftproof_kv_copy_pages_arguments arguments{};
  arguments.pool = pool_.arguments();
  arguments.copies = list.pointer();
  arguments.tables = tables_.pointer();
  arguments.statuses = statuses.pointer();
  arguments.table_stride = static_cast<std::uint64_t>(stride());
  arguments.row_count = static_cast<std::uint32_t>(row_count());
  arguments.page_max = static_cast<std::uint32_t>(page_max_);
  arguments.copy_count = static_cast<std::uint32_t>(copies.size());
  device_.run(arguments);
  demand_done(statuses, "copy_pages");
}

inline std::vector<std::int64_t> KvCache::map_slots(const Batch& batch,
                                                    const std::vector<KvFeed>& feeds,
                                                    bool is_packed) {
  std::size_t longest = 1, total = 0;
  std::vector<std::int32_t> starts;
  for (const KvFeed& feed : feeds) {
    starts.push_back(static_cast<std::int32_t>(total));
    total += feed.tokens.size();
    longest = std::max(longest, feed.tokens.size());
  }
  const std::size_t places = is_packed ? total + 2 : feeds.size() * longest;
  const auto slots = device_.array(std::vector<std::int64_t>(places, -3), "slots");
  const auto first = device_.array(starts, "starts");
  const auto statuses = words(feeds.size());
  draftproof_kv_map_slots_arguments arguments{};
  arguments.sequences = batch.arguments;
  arguments.slots = slots.pointer();
  arguments.starts = is_packed ? first.pointer() : 0;
  arguments.statuses = statuses.pointer();
  arguments.slot_stride = longest;
  arguments.slot_count = places;
  arguments.page_size = static_cast<std::uint32_t>(pool_.layout().page_size);
  arguments.page_count = static_cast<std::uint32_t>(pool_.layout().page_count);
  device_.run(arguments);
  demand_done(statuses, "map_slots");
  const std::vector<std::int64_t> found = slots.read();
  std::vector<std::int64_t> expected(places, is_packed ? -3 : -1);
  for (std::size_t f = 0; f < feeds.size(); ++f)
    for (std::size_t i = 0; i < feeds[f].tokens.size(); ++i) {
      const Sequence& own = sequence(feeds[f].row);
      const int slot = own.length() + static_cast<int>(i);
      const int size = pool_.layout().page_size;
      expected[is_packed ? static_cast<std::size_t>(starts[f]) + i : f * longest + i] =
          own.pages[static_cast<std::size_t>(slot / size)] * size + slot % size;
    }
  demand(found == expected, "map_slots: slots differ");
  return found;
}

inline void KvCache::append(const std::vector<KvFeed>& feeds,
                            const std::vector<std::int64_t>& slots, Dice& dice) {
  std::vector<std::int64_t> places;  // in the order of the tokens, whatever the map's places are
  std::vector<CellKey> keys;
  for (const KvFeed& feed : feeds) {
    if (feed.row < 0) continue;
    Sequence& own = sequence(feed.row);
    own.fed = fed_cells(own.tokens, feed);
    for (std::size_t i = 0; i < own.fed.size(); ++i)
      key(feed.row, own.length() + static_cast<int>(i)) = own.fed[i];
    keys.insert(keys.end(), own.fed.begin(), own.fed.end());
  }
  for (const std::int64_t slot : slots)
    if (slot >= 0) places.push_back(slot);
  for (int padding = dice.below(3); padding > 0; --padding) {
    const auto at = static_cast<std::ptrdiff_t>(dice.below(static_cast<int>(keys.size()) + 1));
    keys.insert(keys.begin() + at, 0xdead);  // a padded row: whatever it holds goes nowhere
    places.insert(places.begin() + at, -1);
  }
  const auto list = device_.array(places, "slot list");
  const auto statuses = words(places.size());
  draftproof_kv_append_arguments arguments{};
  arguments.pool = pool_.arguments();
  const auto rows = pool_.rows(keys, arguments);
  arguments.slots = list.pointer();
  arguments.statuses = statuses.pointer();
  arguments.token_count = static_cast<std::uint32_t>(places.size());
  device_.run(arguments);
  demand_done(statuses, "append");
}

inline void KvCache::settle(const std::vector<KvFeed>& feeds, const KvKept& kept,
                            const std::vector<std::int32_t>& lengths) {
  for (std::size_t f = 0; f < feeds.size(); ++f) {
    if (feeds[f].row < 0) {
      demand(lengths[f] == -5, "commit wrote the length of a padded sequence");
      continue;
    }
    Sequence& own = sequence(feeds[f].row);
    const int before = own.length();
    for (const int offset : kept.expected[f]) {
      if (offset != own.length() - before) {
        ++moved_cells_;
        moved_floor_ += 2 * pool_.cell_bytes();
      }
      own.tokens.push_back(feeds[f].tokens[static_cast<std::size_t>(offset)]);
    }
    demand(lengths[f] == own.length(), "commit: length " + std::to_string(lengths[f]) +
                                           " of a sequence of " + std::to_string(own.length()));
    const std::vector<CellKey> twin = twin_cells(own.tokens);
    for (int slot = before; slot < own.length(); ++slot)
      key(feeds[f].row, slot) = twin[static_cast<std::size_t>(slot)];
  }
}

inline void KvCache::poison(const Batch& batch, const std::vector<KvFeed>& feeds,
                            const DeviceArray<std::int32_t>& lengths) {
  const auto statuses = words(feeds.size());
  draftproof_kv_poison_arguments arguments{};
  arguments.pool = pool_.arguments();
  arguments.sequences = batch.arguments;
  arguments.new_lengths = lengths.pointer();
  arguments.statuses = statuses.pointer();
  arguments.byte = static_cast<std::uint32_t>(KvPool::kPoison);
  device_.run(arguments);
  demand_done(statuses, "poison");
  const std::vector<std::int32_t> before = batch.lengths.read();
  for (std::size_t f = 0; f < feeds.size(); ++f) {
    if (feeds[f].row < 0) continue;
    const int end = before[f] + static_cast<int>(feeds[f].tokens.size());
    for (int slot = sequence(feeds[f].row).length(); slot < end; ++slot)
      key(feeds[f].row, slot) = 0;
  }
}

inline void KvCache::release(const Batch& batch, const std::vector<KvFeed>& feeds,
                             const DeviceArray<std::int32_t>& lengths, int spare) {
  const auto statuses = words(feeds.size());
  const auto counts = words(feeds.size());
  const auto width = static_cast<std::size_t>(page_max_);
  const auto freed =
      device_.array(std::vector<std::int32_t>(feeds.size() * width, -4), "freed pages");
  const auto held = device_.array(
      Batch::of(feeds,
                [&](const KvFeed& feed) {
                  return feed.row < 0 ? -9 : static_cast<int>(sequence(feed.row).pages.size());
                }),
      "held counts");
  draftproof_kv_release_pages_arguments arguments{};
  arguments.sequences = batch.arguments;
  arguments.new_lengths = lengths.pointer();
  arguments.freed = freed.pointer();
  arguments.freed_counts = counts.pointer();
  arguments.statuses = statuses.pointer();
  // Without spare pages a sequence has those that its slots need.
  arguments.held_counts = spare_ > 0 ? held.pointer() : 0;
  arguments.freed_stride = width;
  arguments.page_size = static_cast<std::uint32_t>(pool_.layout().page_size);
  arguments.page_count = static_cast<std::uint32_t>(pool_.layout().page_count);
  arguments.spare_count = static_cast<std::uint32_t>(spare);
  arguments.window = static_cast<std::uint32_t>(window_);
  device_.run(arguments);
  demand_done(statuses, "release_pages");
  std::vector<std::int32_t> expected(feeds.size() * width, -4);
  for (std::size_t f = 0; f < feeds.size(); ++f) {
    if (feeds[f].row < 0) continue;
    Sequence& own = sequence(feeds[f].row);
    std::vector<int> list;
    // A page in front of the window has no visible slot; a page behind the spare ones none at all.
    while (static_cast<int>(own.pages.size()) > pages_of(own.length() + spare)) {
      if (own.pages.back() >= 0) list.push_back(own.pages.back());
      own.pages.pop_back();
    }
    for (int index = static_cast<int>(own.pages.size()); window_ > 0 && index-- > 0;) {
      int& page = own.pages[static_cast<std::size_t>(index)];
      const bool is_visible = (index + 1) * pool_.layout().page_size > own.length() - window_;
      if (page >= 0 && !is_visible) list.push_back(std::exchange(page, -1));
    }
    std::copy(list.begin(), list.end(), expected.begin() + static_cast<std::ptrdiff_t>(f * width));
    demand(counts.read()[f] == list.size(), "release_pages: " + std::to_string(counts.read()[f]) +
                                                " pages instead of " + std::to_string(list.size()));
    for (const int page : list) drop(page);
    if (spare_ > 0)
      demand(held.read()[f] == static_cast<int>(own.pages.size()), "release_pages: held counts");
  }
  demand(freed.read() == expected, "release_pages: other pages than were due");
}

}  // namespace draftproof::tests
