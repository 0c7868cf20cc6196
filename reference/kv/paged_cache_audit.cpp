// What must hold of a paged cache between two operations, recounted from its tables, and the hash
// of its state (paged_cache.h). Nothing here trusts a counter that an operation has kept.
#include <algorithm>
#include <utility>

#include "reference/error.h"
#include "reference/kv/paged_cache.h"

namespace draftproof::reference::kv {

namespace {

template <class... Parts>
std::string line(const Parts&... parts) {
  std::string text;
  const auto add = [&text](const auto& part) {
    if constexpr (std::is_arithmetic_v<std::decay_t<decltype(part)>>)
      text += std::to_string(part);
    else
      text += part;
  };
  (add(parts), ...);
  return text;
}

std::uint64_t mixed(std::uint64_t hash, std::uint64_t value) {
  return history_behind(hash, static_cast<Token>(value >> 32), static_cast<std::int32_t>(value));
}

std::uint64_t mixed(std::uint64_t hash, const Cell& cell) {
  hash = history_behind(hash, cell.token, cell.position);
  return mixed(hash, cell.history);
}

}  // namespace

/// One recount; each function answers the first fault of its kind.
class PagedCache::Audit {
 public:
  using Fault = std::optional<std::string>;

  explicit Audit(const PagedCache& cache)
      : cache_(cache),
        ids_(cache.open_sequences()),
        holders_(cache.pages_.size()),
        covered_(cache.pages_.size()),
        index_(cache.pages_.size(), -1) {}

  Fault first() {
    for (const SequenceId id : ids_) {
      if (Fault fault = table(id)) return fault;
    }
    for (const SequenceId id : ids_) {
      if (Fault fault = reserved_pages(id)) return fault;
    }
    if (Fault fault = free_list()) return fault;
    if (Fault fault = cached_list()) return fault;
    if (Fault fault = counts()) return fault;
    for (PageId page = 0; page < cache_.config_.page_count; ++page) {
      if (Fault fault = poison(page)) return fault;
    }
    return index();
  }

 private:
  const Page& page_at(PageId page) const { return cache_.pages_[static_cast<std::size_t>(page)]; }
  bool is_in_pool(PageId page) const { return page >= 0 && page < cache_.config_.page_count; }

  Fault table(SequenceId id) {
    const OpenSequence& sequence = cache_.find(id);
    const Sequence& table = sequence.table;
    const int size = static_cast<int>(table.pages.size());
    const int first = cache_.first_page_of(table.length);
    if (table.is_offloaded) return offloaded(id, sequence, first);
    const int needed = cache_.page_count_of(std::int64_t{table.length} + table.reserved);
    if (size != needed)
      return line("sequence ", id, " has ", size, " pages for ", table.length, " committed and ",
                  table.reserved, " reserved slots, which are ", needed, " pages");
    for (int index = 0; index < size; ++index) {
      const PageId page = table.pages[static_cast<std::size_t>(index)];
      if ((page == kNoPage) != (index < first))
        return line("page ", index, " of sequence ", id, " is ", page, ", and pages from ", first,
                    " on have visible slots");
      if (page == kNoPage) continue;
      if (!is_in_pool(page))
        return line("page ", index, " of sequence ", id, " is ", page, ", outside the pool of ",
                    cache_.config_.page_count);
      const auto at = static_cast<std::size_t>(page);
      if (std::count(table.pages.begin(), table.pages.end(), page) > 1)
        return line("sequence ", id, " has page ", page, " twice");
      if (index_[at] != -1 && index_[at] != index)
        return line("page ", page, " is number ", index, " of sequence ", id, " and number ",
                    index_[at], " of another");
      index_[at] = index;
      ++holders_[at];
      covered_[at] = std::max(covered_[at], cache_.covered(table, index));
    }
    return std::nullopt;
  }

  Fault offloaded(SequenceId id, const OpenSequence& sequence, int first) const {
    const Sequence& table = sequence.table;
    if (!table.pages.empty() || table.reserved != 0)
      return line("sequence ", id, " is offloaded and has ", table.pages.size(), " pages and ",
                  table.reserved, " reserved slots");
    const int slots = table.length - first * cache_.config_.page_size;
    if (static_cast<int>(sequence.host.size()) != slots)
      return line("sequence ", id, " has ", sequence.host.size(), " offloaded cells for ", slots,
                  " slots");
    return std::nullopt;
  }

  Fault reserved_pages(SequenceId id) const {
    const Sequence& table = cache_.find(id).table;
    if (table.reserved == 0) return std::nullopt;
    for (std::size_t index = static_cast<std::size_t>(table.length / cache_.config_.page_size);
         index < table.pages.size(); ++index) {
      const PageId page = table.pages[index];
      const int holders = holders_[static_cast<std::size_t>(page)];
      if (holders != 1 || page_at(page).key != 0)
        return line("page ", page, " is writable for sequence ", id, ", has ", holders,
                    " holders and is ", page_at(page).key == 0 ? "not " : "", "published");
    }
    return std::nullopt;
  }

  Fault free_list() const {
    std::vector<int> seen(cache_.pages_.size());
    for (const PageId page : cache_.free_) {
      if (!is_in_pool(page)) return line("page ", page, " is free and outside the pool");
      const auto at = static_cast<std::size_t>(page);
      if (seen[at]++ > 0) return line("page ", page, " is free twice");
      if (holders_[at] > 0)
        return line("page ", page, " is free and held by ", holders_[at], " sequences");
      if (page_at(page).is_cached || page_at(page).key != 0)
        return line("page ", page, " is free and kept for its contents");
    }
    return std::nullopt;
  }

  Fault cached_list() const {
    int length = 0;
    PageId older = kNoPage;
    for (PageId page = cache_.oldest_; page != kNoPage; page = page_at(page).younger) {
      if (++length > cache_.config_.page_count)
        return line("the list of cached pages has a loop at ", page);
      if (!page_at(page).is_cached || page_at(page).older != older)
        return line("page ", page, " is wrongly linked into the list of cached pages");
      if (holders_[static_cast<std::size_t>(page)] > 0)
        return line("page ", page, " is cached and held by ",
                    holders_[static_cast<std::size_t>(page)], " sequences");
      if (page_at(page).key == 0) return line("page ", page, " is cached and not published");
      older = page;
    }
    if (older != cache_.youngest_ || length != cache_.cached_)
      return line("the list of cached pages ends at ", older, " after ", length, " pages, not at ",
                  cache_.youngest_, " after ", cache_.cached_);
    return std::nullopt;
  }

  Fault counts() const {
    int live = 0;
    for (PageId page = 0; page < cache_.config_.page_count; ++page) {
      const int holders = holders_[static_cast<std::size_t>(page)];
      if (holders != page_at(page).holders)
        return line("page ", page, " counts ", page_at(page).holders, " holders and is in ",
                    holders, " tables");
      live += holders > 0;
    }
    const PageCounts counts = cache_.counts();
    if (live != counts.live)
      return line(live, " pages are in tables, and ", counts.live, " are counted live");
    if (counts.free + counts.live + counts.cached != counts.total)
      return line("free ", counts.free, " + live ", counts.live, " + cached ", counts.cached,
                  " is not the total ", counts.total);
    if (cache_.live_max_ < live)
      return line(live, " pages are live, the largest number so far is said to be ",
                  cache_.live_max_);
    return std::nullopt;
  }

  Fault poison(PageId page) const {
    if (page_at(page).key != 0) return std::nullopt;
    for (int offset = covered_[static_cast<std::size_t>(page)]; offset < cache_.config_.page_size;
         ++offset) {
      const Cell& cell = cache_.stored({page, offset});
      if (cell != Cell{})
        return line("slot ", offset, " of page ", page, " holds token ", cell.token,
                    " at position ", cell.position, ", and nobody has it");
    }
    return std::nullopt;
  }

  Fault index() const {
    std::size_t published = 0;
    for (PageId page = 0; page < cache_.config_.page_count; ++page) {
      if (page_at(page).key == 0) continue;
      ++published;
      const auto found = cache_.prefixes_.find(page_at(page).key);
      if (found == cache_.prefixes_.end() || found->second != page)
        return line("page ", page, " is published, and the prefix index does not lead to it");
      if (Fault fault = contents(page)) return fault;
    }
    if (published != cache_.prefixes_.size())
      return line("the prefix index has ", cache_.prefixes_.size(), " entries for ", published,
                  " published pages");
    return std::nullopt;
  }

  Fault contents(PageId page) const {
    const bool has_whole_history = cache_.config_.window == 0 && !cache_.config_.is_quantised;
    std::uint64_t key = page_at(page).behind;
    for (int offset = 0; offset < cache_.config_.page_size; ++offset) {
      const Cell cell = cache_.decoded({page, offset});
      const Token claimed = cache_.claims_[cache_.index_of(page, offset)];
      if (cell.token != claimed)
        return line("page ", page, " is published with token ", claimed, " in slot ", offset,
                    " and holds token ", cell.token);
      key = history_behind(key, cell.token, cell.position);
      if (has_whole_history && cell.history != key)
        return line("page ", page, " is published, and slot ", offset, " with token ", cell.token,
                    " at position ", cell.position, " has seen another history");
    }
    if (key != page_at(page).key)
      return line("page ", page, " is published for other positions than its cells have");
    return std::nullopt;
  }

  const PagedCache& cache_;
  std::vector<SequenceId> ids_;
  std::vector<int> holders_;
  std::vector<int> covered_;  ///< slots that some table has, from the front
  std::vector<int> index_;    ///< where the page is in the tables that hold it
};

std::optional<std::string> PagedCache::first_fault() const { return Audit(*this).first(); }

std::uint64_t PagedCache::state_hash() const {
  std::uint64_t hash = kEmptyHistory;
  const auto add = [&hash](std::int64_t value) {
    hash = mixed(hash, static_cast<std::uint64_t>(value));
  };
  const auto add_page = [&](PageId page) {
    const Page& added = pages_[static_cast<std::size_t>(page)];
    hash = mixed(mixed(hash, added.key), added.behind);
    for (int offset = 0; offset < config_.page_size; ++offset) {
      hash = mixed(hash, decoded({page, offset}));
      if (added.key != 0) add(claims_[index_of(page, offset)]);
    }
  };
  for (const int field :
       {config_.page_size, config_.page_count, config_.window,
        config_.is_trimmable * 4 + config_.is_quantised * 2 + config_.keeps_prefixes * 1})
    add(field);
  std::vector<int> number(pages_.size(), -1);
  int next = 0;
  for (const SequenceId id : open_sequences()) {
    const OpenSequence& sequence = find(id);
    const Sequence& table = sequence.table;
    for (const std::int64_t field :
         {std::int64_t{table.length}, std::int64_t{table.reserved},
          std::int64_t{table.is_offloaded}, static_cast<std::int64_t>(table.pages.size()),
          static_cast<std::int64_t>(sequence.keys.size())})
      add(field);
    if (!sequence.keys.empty()) hash = mixed(hash, sequence.keys.back());
    for (const Cell& cell : sequence.host) hash = mixed(hash, cell);
    for (const PageId page : table.pages) {
      if (page == kNoPage) {
        add(kNoPage);
        continue;
      }
      int& numbered = number[static_cast<std::size_t>(page)];
      const bool is_first = numbered == -1;
      if (is_first) numbered = next++;
      add(numbered);
      if (is_first) add_page(page);
    }
  }
  for (PageId page = oldest_; page != kNoPage;
       page = pages_[static_cast<std::size_t>(page)].younger)
    add_page(page);
  add(static_cast<std::int64_t>(free_.size()));
  return hash;
}

}  // namespace draftproof::reference::kv
