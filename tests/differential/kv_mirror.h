// A paged cache of the engine (reference/kv/paged_cache.h) whose cells lie on a device a second
// time, as bytes that only kernels touch: what the cache does to its cells is done there by a
// launch, and behind every operation every byte there is held against the cells. Tables live on the
// device too and are changed by kernels where a kernel does it.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <utility>
#include <vector>

#include "gpu/kernels/arguments/rows.h"
#include "reference/kv/paged_cache.h"
#include "tests/differential/kv_cache.h"

namespace draftproof::tests {

/// What mirrored caches have done so far, so that a test can ask whether anything was tried.
struct MirrorCounts {
  std::int64_t commits = 0, moved_cells = 0, appended_cells = 0, copied_pages = 0,
               released_pages = 0, poisoned_ranges = 0, restored_cells = 0, comparisons = 0;
};

/// Shared by all caches of a test.
struct MirrorDevice {
  explicit MirrorDevice(gpu::KernelTexts texts, std::uint64_t seed)
      : device(std::move(texts), seed), dice(seed) {}
  KvDevice device;
  Dice dice;
  MirrorCounts counts;
};

class MirroredCache final : public reference::kv::PagedCache {
 public:
  using SequenceId = reference::kv::SequenceId;
  using Cell = reference::kv::Cell;

  MirroredCache(const reference::kv::CacheConfig& config, std::shared_ptr<MirrorDevice> device)
      : PagedCache(config),
        shared_(std::move(device)),
        pool_(shared_->device, layout_for(config, shared_->dice)),
        page_max_(320 / config.page_size + 2) {
    make_tables();
  }
  MirroredCache(const MirroredCache& other)
      : PagedCache(other),
        shared_(other.shared_),
        pool_(shared_->device, other.pool_.layout()),
        page_max_(other.page_max_),
        rows_(other.rows_),
        pending_(other.pending_) {
    pool_.assign(other.pool_);
    make_tables();
    std::vector<std::int32_t> tables(table_size());
    other.tables_->read(std::span<std::int32_t>(tables));
    tables_->write(std::span<const std::int32_t>(tables));
  }
  std::unique_ptr<PagedCache> clone() const override {
    return std::make_unique<MirroredCache>(*this);
  }

  int attach_prefix(SequenceId id, std::span<const Token> tokens) override;
  bool reserve(SequenceId id, int count) override;
  void write(SequenceId id, int slot, const Cell& cell) override;
  void commit(SequenceId id, std::span<const int> kept) override;
  bool trim(SequenceId id, int length) override;
  void release(SequenceId id) override;
  void offload(SequenceId id) override;
  bool restore(SequenceId id) override;

 private:
  using Sequence = reference::kv::Sequence;
  static constexpr int kRows = 24;

  static KvLayout layout_for(const reference::kv::CacheConfig& config, Dice& dice) {
    KvLayout layout = random_layout(dice, config.page_size, config.page_count);
    layout.layer_count = dice.of({1, 2});
    layout.head_count = dice.of({1, 2});
    layout.key_bytes = layout.value_bytes = dice.of({16, 8, 3});
    layout.has_page_scales = false;
    return layout;
  }

  std::size_t table_size() const { return static_cast<std::size_t>(kRows * page_max_); }
  void make_tables() {
    tables_.emplace(shared_->device.device(), table_size() * 4, "tables");
    const std::vector<std::int32_t> none(table_size(), -1);
    tables_->write(std::span<const std::int32_t>(none));
  }
  int row_of(SequenceId id) {
    const auto known = rows_.find(id);
    if (known != rows_.end()) return known->second;
    std::set<int> used;
    for (const auto& [other, row] : rows_) used.insert(row);
    int row = 0;
    while (used.contains(row)) ++row;
    demand(row < kRows, "the test has too few rows");
    return rows_[id] = row;
  }
  void write_table(SequenceId id, std::size_t from) {
    const std::vector<std::int32_t> pages(sequence(id).pages.begin(), sequence(id).pages.end());
    demand(pages.size() <= static_cast<std::size_t>(page_max_), "the test has too short tables");
    if (from >= pages.size()) return;
    const auto at = static_cast<std::size_t>(row_of(id) * page_max_) + from;
    shared_->device.device().write(tables_->pointer() + at * 4,
                                   std::as_bytes(std::span(pages).subspan(from)));
  }

  /// One sequence as kernels are told it.
  struct Told {
    Told(KvDevice& device, int row, int length_before, int fed_count)
        : rows(device.array<std::int32_t>({row, -1}, "rows")),
          lengths(device.array<std::int32_t>({length_before, 7}, "lengths")),
          fed(device.array<std::int32_t>({fed_count, 7}, "fed counts")),
          statuses(device.array<std::uint32_t>({99, 99}, "statuses")) {}
    DeviceArray<std::int32_t> rows, lengths, fed;
    DeviceArray<std::uint32_t> statuses;
  };
  draftproof_kv_sequences sequences_of(const Told& told) const {
    draftproof_kv_sequences sequences{};
    sequences.tables = tables_->pointer();
    sequences.rows = told.rows.pointer();
    sequences.lengths = told.lengths.pointer();
    sequences.fed_counts = told.fed.pointer();
    sequences.table_stride = static_cast<std::uint64_t>(page_max_);
    sequences.row_count = kRows;
    sequences.page_max = static_cast<std::uint32_t>(page_max_);
    sequences.sequence_count = 2;
    return sequences;
  }

  CellKey key_of(int page, int slot) const {
    const Cell& cell = stored({page, slot});
    if (!cell.is_written()) return 0;
    std::uint64_t history = cell.history;
    // What a quantised page keeps is relative to its scale; the bytes here keep what it means.
    if (config_.is_quantised)
      history = (history + pages_[static_cast<std::size_t>(page)].scale) & 0xffff;
    return key_of({cell.token, cell.position, history});
  }
  static CellKey key_of(const Cell& cell) {
    return reference::kv::history_behind(cell.history, cell.token, cell.position) | 1;
  }

  void append(const std::vector<std::pair<reference::kv::SlotAddress, Cell>>& cells);
  void flush();
  void adopt();
  void release_pages(const Told& told, std::int32_t length, const Sequence& before,
                     const std::vector<reference::kv::PageId>& after);
  void leave(SequenceId id, const Sequence& before);
  void poison_dropped(reference::kv::PageId but = reference::kv::kNoPage);
  void check();

  std::shared_ptr<MirrorDevice> shared_;
  KvPool pool_;
  int page_max_ = 0;
  std::optional<gpu::Buffer> tables_;
  std::map<SequenceId, int> rows_;
  std::map<std::pair<SequenceId, int>, Cell> pending_;  ///< written here, not yet there
};

}  // namespace draftproof::tests
