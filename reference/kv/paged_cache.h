// Paged cache: the KV cache of an engine as a state machine over pages. Sequences own slots through
// tables of pages (Kwon et al., "PagedAttention", SOSP 2023); pages may be shared (prefix reuse,
// forks) and are then copied before they are written. What speculation adds is temporary ownership:
// slots of drafted tokens are reserved behind the committed ones, and every verification ends with
// commit(), which keeps the accepted ones, in order, and gives the rest back.
//
//   slots of a sequence:   0 .. length-1 committed | length .. length+reserved-1 temporary
//   pages:                 free + live + cached == total; live: in some table; cached: in none, but
//                          kept for its contents, evicted least recently used first
// Slots are absolute: with a window the pages that lie wholly behind it are given back, and slots
// keep their numbers. Everything that is given back is poisoned, so that whoever reads it shows.
//
// Prefixes (the rule of the index): a page is found under the key of all tokens from position 0 to
// its end, and only if the tokens it was published for and the key of the page before are equal
// too, so that neither equal pages behind different prefixes nor colliding keys are confused. What
// is compared is what the publisher said, never the cells: a faulty engine can pollute the index,
// as it can pollute a real one, and first_fault() tells. A published page keeps all its cells until
// it is evicted or its only holder is about to write into it (trim, then reserve). Of two pages
// with equal contents the first is published and the second stays as it is. Pages behind a window
// stay findable while they are cached; those that come back from host memory are unpublished until
// they are published again; quantised pages are published like others, with what they keep of a
// history.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "reference/kv/cell.h"

namespace draftproof::reference::kv {

struct CacheConfig {
  int page_size = 4;         ///< slots, >= 1
  int page_count = 64;       ///< >= 1
  int window = 0;            ///< so many last tokens are visible; 0: all of them
  bool is_trimmable = true;  ///< false: trim() refuses (rotating and recurrent caches; mlx-lm#1109)
  bool is_quantised = false;   ///< 16 bits of history a cell, relative to a scale of its page
  bool keeps_prefixes = true;  ///< full committed pages may be found again by their contents

  friend bool operator==(const CacheConfig&, const CacheConfig&) = default;
};

/// A sequence of the cache; never used twice.
using SequenceId = std::int32_t;
using PageId = std::int32_t;
inline constexpr PageId kNoPage = -1;

struct SlotAddress {
  PageId page = kNoPage;
  int offset = 0;
  friend bool operator==(const SlotAddress&, const SlotAddress&) = default;
};

struct Sequence {
  std::vector<PageId> pages;  ///< kNoPage where the window has moved on
  int length = 0;
  int reserved = 0;
  bool is_offloaded = false;  ///< its cells are in host memory, and it has no pages

  friend bool operator==(const Sequence&, const Sequence&) = default;
};

struct PageCounts {
  int free = 0, live = 0, cached = 0, total = 0;
  friend bool operator==(const PageCounts&, const PageCounts&) = default;
};

/// All member functions throw BrokenInvariant for a sequence that is not open, a slot that is not
/// there, and where a precondition does not hold; the cache is then as before. Copies are deep.
class PagedCache {
 public:
  /// Throws Error(kInput) naming the field for sizes below 1 or a negative window.
  explicit PagedCache(const CacheConfig& config);
  virtual ~PagedCache() = default;
  PagedCache(const PagedCache&) = default;
  PagedCache& operator=(const PagedCache&) = delete;
  /// A deep copy of the same class: explorers copy whole engines.
  virtual std::unique_ptr<PagedCache> clone() const;

  const CacheConfig& config() const { return config_; }

  /// An empty sequence.
  SequenceId open();
  bool is_open(SequenceId id) const { return sequences_.contains(id); }
  /// The reference holds until the sequence is released.
  const Sequence& sequence(SequenceId id) const;

  /// Attaches the longest chain of full pages that hold `tokens` at positions 0, 1, ...; at least
  /// the last token is left out, so that there is a row behind it to be computed. Answers the
  /// number of tokens found, a multiple of the page size; the sequence's length is then that.
  /// Precondition: the sequence is empty. 0 when prefixes are not kept.
  virtual int attach_prefix(SequenceId id, std::span<const Token> tokens);
  /// Makes the full pages of the committed `tokens` findable, each page of a sequence once: those
  /// of an earlier call are not looked at again. Precondition: as many tokens as the sequence's
  /// length or fewer, not offloaded. Pages behind a window are not there and are not published.
  virtual void publish_prefix(SequenceId id, std::span<const Token> tokens);

  /// Makes slots [length, length + count) writable: takes pages (evicting cached ones), copies the
  /// last page if it is shared. False, and nothing changed, when pages do not suffice.
  /// Precondition: nothing is reserved and the sequence is not offloaded.
  virtual bool reserve(SequenceId id, int count);
  /// How many pages reserve() would take from free and cached ones; of an offloaded sequence, how
  /// many restore() and then reserve() would take.
  int pages_to_reserve(SequenceId id, int count) const;

  /// Where a slot lies. Precondition: committed inside the window's pages, or reserved.
  SlotAddress address(SequenceId id, int slot) const;
  /// Precondition for write: the slot is reserved.
  virtual void write(SequenceId id, int slot, const Cell& cell);
  /// Writes by the physical address, as kernels do: whoever owns the slot. Precondition: in the
  /// pool.
  void write_at(const SlotAddress& at, const Cell& cell);
  /// The cell as it was written (quantised: with the low 16 bits of its history).
  Cell read(SequenceId id, int slot) const;
  /// What read() gives back for a cell that was written.
  Cell as_read(const Cell& written) const;

  /// Ends a reservation: of the temporary slots keeps those at `kept` (offsets behind the length,
  /// strictly increasing), moved together in this order, and gives back what is not needed. Pages
  /// that no longer hold a visible slot of a window are given back too: the visible ones are the
  /// last `window` committed slots. Precondition: not offloaded.
  virtual void commit(SequenceId id, std::span<const int> kept);
  /// commit() of nothing.
  virtual void roll_back(SequenceId id) { commit(id, {}); }
  /// Shortens the committed part. False, and nothing changed, when the cache cannot: it is not
  /// trimmable, or the window would need slots that are gone. Callers must look at the answer.
  /// True for the length that is, whatever the cache. Precondition: 0 <= length <= that of the
  /// sequence, nothing reserved, not offloaded.
  virtual bool trim(SequenceId id, int length);

  /// A second sequence with the same committed cells, sharing every page. Precondition: nothing
  /// reserved, not offloaded.
  SequenceId fork(SequenceId id);
  /// Ends a sequence, reserved or offloaded as it may be; its pages lose one holder each, the last
  /// page first, so that cached chains are evicted from their ends.
  virtual void release(SequenceId id);

  /// Moves the committed cells to host memory and gives the pages back; brings them back. restore
  /// answers false, and changes nothing, when pages do not suffice. Preconditions: nothing reserved
  /// and not offloaded; offloaded.
  virtual void offload(SequenceId id);
  virtual bool restore(SequenceId id);

  /// Cached pages are given up, least recently used first, at most `count`. Answers how many.
  int evict(int count);

  PageCounts counts() const;
  /// Largest number of live pages so far.
  int live_page_count_max() const { return live_max_; }
  /// Cells that commits have moved between slots so far: what compaction cost.
  std::int64_t moved_cell_count() const { return moved_cells_; }
  /// Holders of a page: how many tables it is in.
  int holder_count(PageId page) const;
  /// In increasing order.
  std::vector<SequenceId> open_sequences() const;

  /// Everything that must hold between two operations, recounted from the tables: page counts,
  /// holders, tables inside the pool, no page twice in a table, poison in every slot that is
  /// neither committed nor reserved nor published, and a prefix index in which each page lies under
  /// the key of its own cells (tokens and positions; without window and quantisation histories
  /// too: those of history_of()). The first thing that does not, in one line with numbers.
  std::optional<std::string> first_fault() const;
  /// A hash of everything that may influence a later operation, in which pages are numbered in the
  /// order of their first use by tables and sequences in the order of their ids: two caches that
  /// differ in such numbers only are equal. Scales of quantised pages are left out: no answer
  /// depends on them.
  std::uint64_t state_hash() const;

 protected:
  struct Page {
    int holders = 0;
    bool is_cached = false;
    bool has_scale = false;    ///< something was written since it was handed out
    std::uint64_t scale = 0;   ///< of a quantised page: the first history written to it
    std::uint64_t key = 0;     ///< of its contents in the prefix index; 0: not published
    std::uint64_t behind = 0;  ///< the key of the page before it in the chain
    PageId older = kNoPage;    ///< of cached pages: neighbours in the order of last use
    PageId younger = kNoPage;
  };
  struct OpenSequence {
    Sequence table;
    std::vector<std::uint64_t> keys;  ///< of the first pages, attached or looked at by publish
    std::vector<Cell> host;           ///< the cells of an offloaded sequence's pages
  };

  // What a faulty cache may override one of (fixtures/state_faults); each right on its own.
  /// Pages that stay in the table of a sequence whose committed length becomes `length`.
  virtual int pages_for(int length) const;
  /// Pages in front of this one leave the table of a sequence with a window.
  virtual int first_page_for(int length) const;
  /// A cell moved to another slot: read by the scale of one page, written by that of the other.
  virtual void move_cell(const SlotAddress& from, const SlotAddress& to);
  /// A page that no table holds any longer: kept for its contents or poisoned and free.
  virtual void let_go(PageId page);

  /// The cell as it is stored, quantised or not.
  Cell& stored(const SlotAddress& at) { return cells_[index_of(at.page, at.offset)]; }
  const Cell& stored(const SlotAddress& at) const { return cells_[index_of(at.page, at.offset)]; }
  void poison(PageId page, int from, int to);
  void add_to_cached(PageId page);
  void unpublish(PageId page);

  CacheConfig config_;
  std::vector<Page> pages_;
  std::vector<PageId> free_;  ///< the next one is taken from the back

 private:
  std::size_t index_of(PageId page, int offset) const {
    return static_cast<std::size_t>(page) * static_cast<std::size_t>(config_.page_size) +
           static_cast<std::size_t>(offset);
  }
  const OpenSequence& find(SequenceId id) const;
  OpenSequence& find(SequenceId id);
  /// find() of a sequence with its pages here, and with nothing reserved.
  OpenSequence& find_here(SequenceId id);
  OpenSequence& find_settled(SequenceId id);
  SlotAddress address_in(const Sequence& table, int slot) const;
  Cell decoded(const SlotAddress& at) const;
  void encode(const SlotAddress& at, const Cell& cell);

  /// Pages that `slots` slots lie in.
  int page_count_of(std::int64_t slots) const;
  /// The first page with a visible slot.
  int first_page_of(int length) const;
  /// Slots of the page at `index` of a table that are committed or reserved.
  int covered(const Sequence& table, int index) const;
  /// The most that any table has of a page. A page lies at the same index of every table that holds
  /// it; all sequences are looked at, so this is for shared pages that are not published.
  int covered_by_all(PageId page, int index) const;
  int available() const { return static_cast<int>(free_.size()) + cached_; }
  PageId take_page();
  void hold(PageId page);
  /// `end`: how many slots of the page the sequence had that lets it go, already without it.
  void drop(PageId page, int index, int end);
  void drop_last_page(Sequence& table, int end);
  /// Gives back what a table has behind its committed length, up to slot `end`, and in front of its
  /// window.
  void give_back(Sequence& table, int end);
  void make_last_page_writable(Sequence& table);

  std::uint64_t key_behind(std::uint64_t key, std::span<const Token> tokens, int page_index) const;
  std::span<const Token> page_of(std::span<const Token> tokens, int page_index) const;
  std::span<Token> claim_of(PageId page);
  PageId published(std::uint64_t key, std::uint64_t behind, std::span<const Token> tokens) const;
  void remove_from_cached(PageId page);

  class Audit;  // paged_cache_audit.cpp

  std::vector<Cell> cells_;    ///< page by page
  std::vector<Token> claims_;  ///< of published pages: the tokens they were published for
  std::unordered_map<SequenceId, OpenSequence> sequences_;
  std::unordered_map<std::uint64_t, PageId> prefixes_;
  SequenceId next_sequence_ = 0;
  PageId oldest_ = kNoPage;  ///< of the cached pages
  PageId youngest_ = kNoPage;
  int cached_ = 0;
  int live_ = 0;  ///< pages with a holder, counted where holders change
  int live_max_ = 0;
  std::int64_t moved_cells_ = 0;
};

}  // namespace draftproof::reference::kv
