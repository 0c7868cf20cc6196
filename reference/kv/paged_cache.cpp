// Sequences of the paged cache: reservation, commit, trim, fork, release (paged_cache.h). Pages and
// the prefix index are in paged_cache_pages.cpp, what must hold in paged_cache_audit.cpp.
#include "reference/kv/paged_cache.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "reference/error.h"

namespace draftproof::reference::kv {

namespace {

constexpr std::uint64_t kQuantisedBits = 0xffff;

void check_field(bool holds, const char* field, const char* remedy, int value) {
  if (!holds)
    throw Error(ErrorKind::kInput, std::string("is ") + std::to_string(value) + "; " + remedy,
                std::string("cache ") + field);
}

std::string name_of(SequenceId id) { return "sequence " + std::to_string(id); }

}  // namespace

PagedCache::PagedCache(const CacheConfig& config) : config_(config) {
  check_field(config.page_size >= 1, "page_size", "give 1 slot or more", config.page_size);
  check_field(config.page_count >= 1, "page_count", "give 1 page or more", config.page_count);
  check_field(config.window >= 0, "window", "give 0 for no window, or 1 slot or more",
              config.window);
  // Slots are numbered by int everywhere.
  check_field(config.page_count <= std::numeric_limits<int>::max() / config.page_size, "page_count",
              "page_count * page_size must be below 2^31", config.page_count);
  const auto page_count = static_cast<std::size_t>(config.page_count);
  pages_.resize(page_count);
  cells_.resize(page_count * static_cast<std::size_t>(config.page_size));
  if (config.keeps_prefixes) claims_.resize(cells_.size());
  free_.reserve(page_count);
  for (PageId page = config.page_count; page-- > 0;) free_.push_back(page);
}

std::unique_ptr<PagedCache> PagedCache::clone() const {
  return std::make_unique<PagedCache>(*this);
}

SequenceId PagedCache::open() {
  DRAFTPROOF_CHECK(next_sequence_ < std::numeric_limits<SequenceId>::max());
  sequences_.try_emplace(next_sequence_);
  return next_sequence_++;
}

const PagedCache::OpenSequence& PagedCache::find(SequenceId id) const {
  const auto found = sequences_.find(id);
  DRAFTPROOF_CHECK(found != sequences_.end(), name_of(id) + " is not open");
  return found->second;
}

PagedCache::OpenSequence& PagedCache::find(SequenceId id) {
  return const_cast<OpenSequence&>(std::as_const(*this).find(id));
}

PagedCache::OpenSequence& PagedCache::find_here(SequenceId id) {
  OpenSequence& sequence = find(id);
  DRAFTPROOF_CHECK(!sequence.table.is_offloaded, name_of(id));
  return sequence;
}

PagedCache::OpenSequence& PagedCache::find_settled(SequenceId id) {
  OpenSequence& sequence = find_here(id);
  DRAFTPROOF_CHECK(
      sequence.table.reserved == 0,
      name_of(id) + " has " + std::to_string(sequence.table.reserved) + " reserved slots");
  return sequence;
}

const Sequence& PagedCache::sequence(SequenceId id) const { return find(id).table; }

std::vector<SequenceId> PagedCache::open_sequences() const {
  std::vector<SequenceId> ids;
  ids.reserve(sequences_.size());
  for (const auto& [id, sequence] : sequences_) ids.push_back(id);
  std::sort(ids.begin(), ids.end());
  return ids;
}

int PagedCache::page_count_of(std::int64_t slots) const {
  return static_cast<int>((slots + config_.page_size - 1) / config_.page_size);
}

int PagedCache::pages_for(int length) const { return page_count_of(length); }

int PagedCache::first_page_for(int length) const { return first_page_of(length); }

int PagedCache::first_page_of(int length) const {
  return config_.window == 0 ? 0 : std::max(0, length - config_.window) / config_.page_size;
}

int PagedCache::pages_to_reserve(SequenceId id, int count) const {
  const Sequence& table = find(id).table;
  DRAFTPROOF_CHECK(count >= 0 && count <= std::numeric_limits<int>::max() - table.length,
                   std::to_string(count) + " slots");
  const int held =
      table.is_offloaded ? first_page_of(table.length) : static_cast<int>(table.pages.size());
  int needed = std::max(0, page_count_of(std::int64_t{table.length} + count) - held);
  const auto last = static_cast<std::size_t>(table.length / config_.page_size);
  const bool is_partial = count > 0 && table.length % config_.page_size != 0;
  if (is_partial && last < table.pages.size() && holder_count(table.pages[last]) > 1) ++needed;
  return needed;
}

bool PagedCache::reserve(SequenceId id, int count) {
  Sequence& table = find_settled(id).table;
  if (pages_to_reserve(id, count) > available()) return false;
  if (count == 0) return true;
  make_last_page_writable(table);
  const int page_count = page_count_of(std::int64_t{table.length} + count);
  while (static_cast<int>(table.pages.size()) < page_count) table.pages.push_back(take_page());
  table.reserved = count;
  return true;
}

void PagedCache::make_last_page_writable(Sequence& table) {
  const int index = table.length / config_.page_size;
  const int offset = table.length % config_.page_size;
  if (offset == 0 || index >= static_cast<int>(table.pages.size())) return;
  PageId& held = table.pages[static_cast<std::size_t>(index)];
  const PageId shared = held;
  if (pages_[static_cast<std::size_t>(shared)].holders > 1) {
    const PageId own = take_page();
    const auto cells = cells_.begin() + static_cast<std::ptrdiff_t>(index_of(shared, 0));
    std::copy(cells, cells + offset,
              cells_.begin() + static_cast<std::ptrdiff_t>(index_of(own, 0)));
    const Page& from = pages_[static_cast<std::size_t>(shared)];
    Page& to = pages_[static_cast<std::size_t>(own)];
    to.scale = from.scale;
    to.has_scale = from.has_scale;
    held = own;
    drop(shared, index, offset);
  } else if (pages_[static_cast<std::size_t>(shared)].key != 0) {
    unpublish(shared);
    poison(shared, offset, config_.page_size);
  }
}

SlotAddress PagedCache::address_in(const Sequence& table, int slot) const {
  DRAFTPROOF_CHECK(slot >= 0 && slot < table.length + table.reserved,
                   "slot " + std::to_string(slot) + ", length " + std::to_string(table.length) +
                       ", reserved " + std::to_string(table.reserved));
  const auto index = static_cast<std::size_t>(slot / config_.page_size);
  DRAFTPROOF_CHECK(index < table.pages.size() && table.pages[index] != kNoPage,
                   "slot " + std::to_string(slot) + " has no page");
  return {table.pages[index], slot % config_.page_size};
}

SlotAddress PagedCache::address(SequenceId id, int slot) const {
  return address_in(find(id).table, slot);
}

Cell PagedCache::as_read(const Cell& written) const {
  Cell cell = written;
  if (config_.is_quantised && cell.is_written()) cell.history &= kQuantisedBits;
  return cell;
}

Cell PagedCache::decoded(const SlotAddress& at) const {
  Cell cell = stored(at);
  if (config_.is_quantised && cell.is_written())
    cell.history =
        (cell.history + pages_[static_cast<std::size_t>(at.page)].scale) & kQuantisedBits;
  return cell;
}

void PagedCache::encode(const SlotAddress& at, const Cell& cell) {
  Cell& slot = stored(at);
  slot = cell;
  if (!config_.is_quantised || !cell.is_written()) return;
  Page& page = pages_[static_cast<std::size_t>(at.page)];
  if (!page.has_scale) {
    page.scale = cell.history;
    page.has_scale = true;
  }
  slot.history = (cell.history - page.scale) & kQuantisedBits;
}

void PagedCache::write(SequenceId id, int slot, const Cell& cell) {
  const Sequence& table = find(id).table;
  DRAFTPROOF_CHECK(slot >= table.length,
                   "slot " + std::to_string(slot) + " of " + name_of(id) + " is committed");
  encode(address_in(table, slot), cell);
}

void PagedCache::write_at(const SlotAddress& at, const Cell& cell) {
  DRAFTPROOF_CHECK(at.page >= 0 && at.page < config_.page_count && at.offset >= 0 &&
                       at.offset < config_.page_size,
                   "slot " + std::to_string(at.offset) + " of page " + std::to_string(at.page));
  encode(at, cell);
}

Cell PagedCache::read(SequenceId id, int slot) const {
  return decoded(address_in(find(id).table, slot));
}

void PagedCache::move_cell(const SlotAddress& from, const SlotAddress& to) {
  encode(to, decoded(from));
}

void PagedCache::commit(SequenceId id, std::span<const int> kept) {
  Sequence& table = find_here(id).table;
  int before = -1;
  for (const int offset : kept) {
    DRAFTPROOF_CHECK(offset > before && offset < table.reserved,
                     "kept offset " + std::to_string(offset) + " behind " + std::to_string(before) +
                         ", reserved " + std::to_string(table.reserved));
    before = offset;
  }
  int next = 0;  // kept[next] >= next, so that no cell is overwritten before it has moved
  for (const int offset : kept) {
    if (offset != next) {
      move_cell(address_in(table, table.length + offset), address_in(table, table.length + next));
      ++moved_cells_;
    }
    ++next;
  }
  const int end = table.length + table.reserved;
  table.length += next;
  table.reserved = 0;
  give_back(table, end);
}

bool PagedCache::trim(SequenceId id, int length) {
  OpenSequence& sequence = find_settled(id);
  Sequence& table = sequence.table;
  DRAFTPROOF_CHECK(length >= 0 && length <= table.length,
                   std::to_string(length) + " of " + std::to_string(table.length));
  if (length == table.length) return true;
  if (!config_.is_trimmable) return false;
  // The first page with a slot that becomes visible again must be there; none does for length 0.
  const auto first = static_cast<std::size_t>(first_page_of(length));
  if (length > 0 && (first >= table.pages.size() || table.pages[first] == kNoPage)) return false;
  const int end = table.length;
  table.length = length;
  const auto full = static_cast<std::size_t>(length / config_.page_size);
  if (sequence.keys.size() > full) sequence.keys.resize(full);
  give_back(table, end);
  return true;
}

SequenceId PagedCache::fork(SequenceId id) {
  const OpenSequence& source = find_settled(id);
  DRAFTPROOF_CHECK(next_sequence_ < std::numeric_limits<SequenceId>::max());
  OpenSequence copy = source;
  for (const PageId page : copy.table.pages)
    if (page != kNoPage) hold(page);
  sequences_.emplace(next_sequence_, std::move(copy));
  return next_sequence_++;
}

void PagedCache::release(SequenceId id) {
  Sequence& table = find(id).table;
  const int end = table.length + table.reserved;
  while (!table.pages.empty()) drop_last_page(table, end);
  sequences_.erase(id);
}

void PagedCache::offload(SequenceId id) {
  OpenSequence& sequence = find_settled(id);
  Sequence& table = sequence.table;
  const int first = first_page_of(table.length) * config_.page_size;
  for (int slot = first; slot < table.length; ++slot)
    sequence.host.push_back(decoded(address_in(table, slot)));
  while (!table.pages.empty()) drop_last_page(table, table.length);
  sequence.keys.clear();
  table.is_offloaded = true;
}

bool PagedCache::restore(SequenceId id) {
  OpenSequence& sequence = find(id);
  Sequence& table = sequence.table;
  DRAFTPROOF_CHECK(table.is_offloaded, name_of(id));
  const int first = first_page_of(table.length);
  const int page_count = page_count_of(table.length);
  if (page_count - first > available()) return false;
  table.pages.assign(static_cast<std::size_t>(first), kNoPage);
  for (int index = first; index < page_count; ++index) table.pages.push_back(take_page());
  int slot = first * config_.page_size;
  for (const Cell& cell : sequence.host) encode(address_in(table, slot++), cell);
  sequence.host.clear();
  table.is_offloaded = false;
  return true;
}

}  // namespace draftproof::reference::kv
