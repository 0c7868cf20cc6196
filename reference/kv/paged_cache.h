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
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
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
  const Sequence& sequence(SequenceId id) const;

  /// Attaches the longest chain of full pages that hold `tokens` at positions 0, 1, ...; at least
  /// the last token is left out, so that there is a row behind it to be computed. Answers the
  /// number of tokens found, a multiple of the page size; the sequence's length is then that.
  /// Precondition: the sequence is empty. 0 when prefixes are not kept.
  virtual int attach_prefix(SequenceId id, std::span<const Token> tokens);
  /// Makes the full pages of the committed `tokens` findable. Precondition: as many tokens as the
  /// sequence's length or fewer. Pages behind a window are not there and are not published.
  virtual void publish_prefix(SequenceId id, std::span<const Token> tokens);

  /// Makes slots [length, length + count) writable: takes pages (evicting cached ones), copies the
  /// last page if it is shared. False, and nothing changed, when pages do not suffice.
  /// Precondition: nothing is reserved and the sequence is not offloaded.
  virtual bool reserve(SequenceId id, int count);
  /// How many pages reserve() would take from free and cached ones.
  int pages_to_reserve(SequenceId id, int count) const;

  /// Where a slot lies. Precondition: committed inside the window's pages, or reserved.
  SlotAddress address(SequenceId id, int slot) const;
  /// Precondition for write: the slot is reserved.
  void write(SequenceId id, int slot, const Cell& cell);
  /// The cell as it was written (quantised: with the low 16 bits of its history, see quantised()).
  Cell read(SequenceId id, int slot) const;
  /// What read() gives back for a cell that was written.
  Cell as_read(const Cell& written) const;

  /// Ends a reservation: of the temporary slots keeps those at `kept` (offsets behind the length,
  /// strictly increasing), moved together in this order, and gives back what is not needed. Pages
  /// that no longer hold a visible slot of a window are given back too.
  virtual void commit(SequenceId id, std::span<const int> kept);
  /// commit() of nothing.
  virtual void roll_back(SequenceId id) { commit(id, {}); }
  /// Shortens the committed part. False, and nothing changed, when the cache cannot: it is not
  /// trimmable, or the window would need slots that are gone. Callers must look at the answer.
  virtual bool trim(SequenceId id, int length);

  /// A second sequence with the same committed cells, sharing every page.
  SequenceId fork(SequenceId id);
  /// Ends a sequence; its pages lose one holder each.
  virtual void release(SequenceId id);

  /// Moves the committed cells to host memory and gives the pages back; brings them back. restore
  /// answers false, and changes nothing, when pages do not suffice. Precondition: not reserved.
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
  std::vector<SequenceId> open_sequences() const;

  /// Everything that must hold between two operations, recounted from the tables: page counts,
  /// holders, tables inside the pool, no page twice in a table, poison in every slot that is
  /// neither committed nor reserved, prefix index pointing at what it says. The first thing that
  /// does not, in one line with numbers.
  std::optional<std::string> first_fault() const;
  /// A hash of everything that may influence a later operation, in which pages are numbered in the
  /// order of their first use by tables: two caches that differ in page numbers only are equal.
  std::uint64_t state_hash() const;

 protected:
  struct Page {
    std::vector<Cell> cells;
    int holders = 0;
    std::uint64_t key = 0;    ///< of its contents in the prefix index; 0: not published
    std::uint64_t used = 0;   ///< when it was last let go of, for eviction
    std::uint64_t scale = 0;  ///< of a quantised page
  };

  // What a faulty cache may override one of (fixtures/state_faults); each right on its own.
  /// Slots that lie in pages of its own when a sequence's committed length is `length`.
  virtual int pages_for(int length) const;
  /// A cell moved to another slot: read by the scale of one page, written by that of the other.
  virtual void move_cell(const SlotAddress& from, const SlotAddress& to);
  /// A page that no table holds any longer: kept for its contents or poisoned and free.
  virtual void let_go(PageId page);

  CacheConfig config_;
  std::vector<Page> pages_;
  std::vector<PageId> free_;  ///< the next one is taken from the back
  std::map<SequenceId, Sequence> sequences_;
  std::map<SequenceId, std::vector<Cell>> offloaded_;
  std::map<std::uint64_t, PageId> prefixes_;
  SequenceId next_sequence_ = 0;
  std::uint64_t clock_ = 0;
  int live_max_ = 0;
  std::int64_t moved_cells_ = 0;
};

}  // namespace draftproof::reference::kv
