// Pages of the paged cache: who holds them, which are kept for their contents, what is poisoned
// (paged_cache.h, where the rule of the prefix index is). Cached pages form a list from the least
// to the most recently used, linked through the pages themselves.
#include <algorithm>
#include <utility>

#include "reference/error.h"
#include "reference/kv/paged_cache.h"

namespace draftproof::reference::kv {

int PagedCache::covered(const Sequence& table, int index) const {
  const std::int64_t slots =
      std::int64_t{table.length} + table.reserved - std::int64_t{index} * config_.page_size;
  return static_cast<int>(std::clamp<std::int64_t>(slots, 0, config_.page_size));
}

PageId PagedCache::take_page() {
  if (free_.empty()) evict(1);
  DRAFTPROOF_CHECK(!free_.empty(), "no page is free or cached");
  const PageId page = free_.back();
  free_.pop_back();
  hold(page);
  return page;
}

void PagedCache::hold(PageId page) {
  Page& held = pages_[static_cast<std::size_t>(page)];
  remove_from_cached(page);
  if (held.holders++ == 0) live_max_ = std::max(live_max_, ++live_);
}

void PagedCache::drop(PageId page, int index, int end) {
  Page& dropped = pages_[static_cast<std::size_t>(page)];
  if (--dropped.holders > 0) {
    if (dropped.key == 0) poison(page, covered_by_all(page, index), end);
    return;
  }
  --live_;
  let_go(page);
}

void PagedCache::drop_last_page(Sequence& table, int end) {
  const PageId page = table.pages.back();
  table.pages.pop_back();
  if (page == kNoPage) return;
  const int index = static_cast<int>(table.pages.size());
  drop(page, index, std::clamp(end - index * config_.page_size, 0, config_.page_size));
}

void PagedCache::let_go(PageId page) {
  if (pages_[static_cast<std::size_t>(page)].key != 0) {
    add_to_cached(page);
    return;
  }
  poison(page, 0, config_.page_size);
  free_.push_back(page);
}

void PagedCache::give_back(Sequence& table, int end) {
  const auto kept = static_cast<std::size_t>(std::max(0, pages_for(table.length)));
  while (table.pages.size() > kept) drop_last_page(table, end);
  for (int index = table.length / config_.page_size; index < static_cast<int>(table.pages.size());
       ++index) {
    const PageId page = table.pages[static_cast<std::size_t>(index)];
    if (page == kNoPage || pages_[static_cast<std::size_t>(page)].key != 0) continue;
    const bool is_own = pages_[static_cast<std::size_t>(page)].holders == 1;
    poison(page, is_own ? covered(table, index) : covered_by_all(page, index),
           std::min(end - index * config_.page_size, config_.page_size));
  }
  // Pages that are gone already are the first ones, so the first such page ends the search.
  const int first = std::min(first_page_for(table.length), static_cast<int>(table.pages.size()));
  for (int index = first; index-- > 0;) {
    PageId& page = table.pages[static_cast<std::size_t>(index)];
    if (page == kNoPage) break;
    const PageId dropped = std::exchange(page, kNoPage);
    drop(dropped, index, config_.page_size);
  }
}

int PagedCache::covered_by_all(PageId page, int index) const {
  int slots = 0;
  const auto at = static_cast<std::size_t>(index);
  for (const auto& [id, sequence] : sequences_) {
    const Sequence& table = sequence.table;
    if (at < table.pages.size() && table.pages[at] == page)
      slots = std::max(slots, covered(table, index));
  }
  return slots;
}

void PagedCache::poison(PageId page, int from, int to) {
  if (from >= to) return;
  const auto first = cells_.begin() + static_cast<std::ptrdiff_t>(index_of(page, 0));
  std::fill(first + from, first + to, Cell{});
  if (from == 0) pages_[static_cast<std::size_t>(page)].has_scale = false;
}

void PagedCache::add_to_cached(PageId page) {
  Page& added = pages_[static_cast<std::size_t>(page)];
  if (added.is_cached) return;
  added.is_cached = true;
  added.older = youngest_;
  added.younger = kNoPage;
  (youngest_ == kNoPage ? oldest_ : pages_[static_cast<std::size_t>(youngest_)].younger) = page;
  youngest_ = page;
  ++cached_;
}

void PagedCache::remove_from_cached(PageId page) {
  Page& removed = pages_[static_cast<std::size_t>(page)];
  if (!removed.is_cached) return;
  removed.is_cached = false;
  const PageId older = removed.older;
  const PageId younger = removed.younger;
  (older == kNoPage ? oldest_ : pages_[static_cast<std::size_t>(older)].younger) = younger;
  (younger == kNoPage ? youngest_ : pages_[static_cast<std::size_t>(younger)].older) = older;
  removed.older = removed.younger = kNoPage;
  --cached_;
}

int PagedCache::evict(int count) {
  DRAFTPROOF_CHECK(count >= 0, std::to_string(count) + " pages");
  int evicted = 0;
  for (; evicted < count && oldest_ != kNoPage; ++evicted) {
    const PageId page = oldest_;
    remove_from_cached(page);
    unpublish(page);
    poison(page, 0, config_.page_size);
    free_.push_back(page);
  }
  return evicted;
}

void PagedCache::unpublish(PageId page) {
  Page& published = pages_[static_cast<std::size_t>(page)];
  prefixes_.erase(published.key);
  published.key = published.behind = 0;
}

std::span<const Token> PagedCache::page_of(std::span<const Token> tokens, int page_index) const {
  const auto size = static_cast<std::size_t>(config_.page_size);
  return tokens.subspan(static_cast<std::size_t>(page_index) * size, size);
}

std::span<Token> PagedCache::claim_of(PageId page) {
  return std::span(claims_).subspan(index_of(page, 0), static_cast<std::size_t>(config_.page_size));
}

std::uint64_t PagedCache::key_behind(std::uint64_t key, std::span<const Token> tokens,
                                     int page_index) const {
  std::int32_t position = page_index * config_.page_size;
  for (const Token token : tokens) key = history_behind(key, token, position++);
  return key == 0 ? 1 : key;  // 0 says unpublished
}

PageId PagedCache::published(std::uint64_t key, std::uint64_t behind,
                             std::span<const Token> tokens) const {
  const auto found = prefixes_.find(key);
  if (found == prefixes_.end()) return kNoPage;
  const PageId page = found->second;
  const auto claim = claims_.begin() + static_cast<std::ptrdiff_t>(index_of(page, 0));
  const bool is_equal = pages_[static_cast<std::size_t>(page)].behind == behind &&
                        std::equal(tokens.begin(), tokens.end(), claim);
  return is_equal ? page : kNoPage;
}

int PagedCache::attach_prefix(SequenceId id, std::span<const Token> tokens) {
  OpenSequence& sequence = find_settled(id);
  Sequence& table = sequence.table;
  DRAFTPROOF_CHECK(
      table.length == 0 && table.pages.empty(),
      "sequence " + std::to_string(id) + " has length " + std::to_string(table.length));
  if (!config_.keeps_prefixes || tokens.empty()) return 0;
  const int limit =
      static_cast<int>((tokens.size() - 1) / static_cast<std::size_t>(config_.page_size));
  std::uint64_t key = kEmptyHistory;
  std::vector<std::uint64_t> keys;
  for (int index = 0; index < limit; ++index) {
    const std::span<const Token> claimed = page_of(tokens, index);
    const std::uint64_t next = key_behind(key, claimed, index);
    const PageId page = published(next, key, claimed);
    if (page == kNoPage) break;
    table.pages.push_back(page);
    keys.push_back(next);
    key = next;
  }
  sequence.keys = std::move(keys);
  const int found = static_cast<int>(table.pages.size());
  table.length = found * config_.page_size;
  const int first = first_page_of(table.length);
  for (int index = found; index-- > 0;) {
    PageId& page = table.pages[static_cast<std::size_t>(index)];
    if (index >= first) {
      hold(page);
      continue;
    }
    // Behind the window: not taken, but used.
    if (pages_[static_cast<std::size_t>(page)].is_cached) {
      remove_from_cached(page);
      add_to_cached(page);
    }
    page = kNoPage;
  }
  return table.length;
}

void PagedCache::publish_prefix(SequenceId id, std::span<const Token> tokens) {
  OpenSequence& sequence = find_here(id);
  const Sequence& table = sequence.table;
  DRAFTPROOF_CHECK(tokens.size() <= static_cast<std::size_t>(table.length),
                   std::to_string(tokens.size()) + " tokens for sequence " + std::to_string(id) +
                       " of length " + std::to_string(table.length));
  if (!config_.keeps_prefixes) return;
  const std::size_t full = tokens.size() / static_cast<std::size_t>(config_.page_size);
  while (sequence.keys.size() < full) {
    const int index = static_cast<int>(sequence.keys.size());
    const std::uint64_t behind = index == 0 ? kEmptyHistory : sequence.keys.back();
    const std::span<const Token> claimed = page_of(tokens, index);
    const std::uint64_t key = key_behind(behind, claimed, index);
    sequence.keys.push_back(key);
    if (static_cast<std::size_t>(index) >= table.pages.size()) continue;
    const PageId page = table.pages[static_cast<std::size_t>(index)];
    if (page == kNoPage || pages_[static_cast<std::size_t>(page)].key != 0) continue;
    if (!prefixes_.try_emplace(key, page).second) continue;
    pages_[static_cast<std::size_t>(page)].key = key;
    pages_[static_cast<std::size_t>(page)].behind = behind;
    std::copy(claimed.begin(), claimed.end(), claim_of(page).begin());
  }
}

int PagedCache::holder_count(PageId page) const {
  DRAFTPROOF_CHECK(page >= 0 && page < config_.page_count, "page " + std::to_string(page));
  return pages_[static_cast<std::size_t>(page)].holders;
}

PageCounts PagedCache::counts() const {
  return {static_cast<int>(free_.size()), live_, cached_, config_.page_count};
}

}  // namespace draftproof::reference::kv
