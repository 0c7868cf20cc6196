// A paged cache whose bytes lie on the device and are touched by kernels alone, with what each byte
// must be. The host keeps what an engine keeps on it: pages, holders, lengths. What a committed
// cell must hold is said by a twin that was fed the committed tokens one by one and never drafted.
#pragma once

#include <algorithm>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "gpu/kernels/arguments/rows.h"
#include "reference/kv/cell.h"
#include "tests/differential/kv_pool.h"

namespace draftproof::tests {

using reference::Token;

/// What one sequence is fed: nodes with their parents, -1 behind the committed cells.
struct KvFeed {
  int row = -1;  ///< -1: padding of the batch
  std::vector<Token> tokens;
  std::vector<int> parents;
};

/// What is kept of every sequence of a batch, as kernels are told it and as offsets.
struct KvKept {
  std::vector<std::vector<std::int32_t>> nodes;         ///< of each sequence; none at all: chains
  std::vector<std::vector<std::int32_t>> node_offsets;  ///< of each sequence; none at all: no map
  std::vector<draftproof_outcome> outcomes;             ///< accepted_count is the count
  int leading = 0;
  bool is_clipped = false;
  std::vector<std::vector<int>> expected;  ///< offsets behind the length, by the host's own reading
};

/// Kept lists on the device for as long as a launch needs them.
struct KvKeptArrays {
  DeviceArray<std::int32_t> nodes, offsets;
  DeviceArray<draftproof_outcome> outcomes;
  draftproof_kv_kept arguments;
};

inline std::vector<std::int32_t> rectangle(const std::vector<std::vector<std::int32_t>>& rows,
                                           std::size_t stride) {
  std::vector<std::int32_t> values(rows.size() * stride, -77);
  for (std::size_t r = 0; r < rows.size(); ++r)
    std::copy(rows[r].begin(), rows[r].end(),
              values.begin() + static_cast<std::ptrdiff_t>(r * stride));
  return values;
}

inline KvKeptArrays on_device(KvDevice& device, const KvKept& kept) {
  std::size_t node_max = 0, offset_max = 0;
  std::uint32_t count_max = 0;
  for (const auto& row : kept.nodes) node_max = std::max(node_max, row.size());
  for (const auto& row : kept.node_offsets) offset_max = std::max(offset_max, row.size());
  for (const auto& outcome : kept.outcomes) count_max = std::max(count_max, outcome.accepted_count);
  KvKeptArrays arrays{device.array(rectangle(kept.nodes, node_max + 1), "nodes"),
                      device.array(rectangle(kept.node_offsets, offset_max + 1), "offsets"),
                      device.array(kept.outcomes, "outcomes"),
                      {}};
  draftproof_kv_kept& to = arrays.arguments;
  to.nodes = arrays.nodes.pointer();
  to.node_offsets = arrays.offsets.pointer();
  to.counts = arrays.outcomes.pointer();
  to.node_stride = node_max + 1;
  to.offset_stride = offset_max + 1;
  to.count_stride_bytes = sizeof(draftproof_outcome);
  to.kept_max = count_max;
  to.node_max = static_cast<std::uint32_t>(offset_max);
  to.leading_count = static_cast<std::uint32_t>(kept.leading);
  return arrays;
}

class KvCache {
 public:
  struct Sequence {
    std::vector<int> pages;     ///< -1 where the window has moved on
    std::vector<Token> tokens;  ///< committed
    std::vector<CellKey> fed;   ///< temporary cells
    int root = -1;              ///< which opened sequence it comes from; -1: the row is not used
    int length() const { return static_cast<int>(tokens.size()); }
  };

  KvCache(KvDevice& device, const KvLayout& layout, int row_count, int page_max, int window,
          int spare)
      : device_(device),
        pool_(device, layout),
        rows_(static_cast<std::size_t>(row_count)),
        holders_(static_cast<std::size_t>(layout.page_count)),
        page_max_(page_max),
        window_(window),
        spare_(spare),
        tables_(device.device(), static_cast<std::size_t>(row_count * stride()) * 4, "tables") {
    const std::vector<std::int32_t> none(static_cast<std::size_t>(row_count * stride()), -1);
    tables_.write(std::span<const std::int32_t>(none));
    for (int page = layout.page_count; page-- > 0;) free_.push_back(page);
  }

  /// What a faulty host tells a commit instead.
  std::function<void(draftproof_kv_commit_arguments&)> wrong_plan;

  KvPool& pool() { return pool_; }
  Sequence& sequence(int row) { return rows_[static_cast<std::size_t>(row)]; }
  int row_count() const { return static_cast<int>(rows_.size()); }
  std::int64_t moved_cells() const { return moved_cells_; }
  /// Bytes that commits read and wrote, and what they had to: two a byte of every moved cell.
  std::int64_t moved_bytes() const { return moved_bytes_; }
  std::int64_t moved_floor() const { return moved_floor_; }

  void open(int row) { sequence(row) = {{}, {}, {}, opened_++}; }

  /// Shares the pages of the committed cells.
  void fork(int from, int to) {
    sequence(to) = sequence(from);
    auto& pages = sequence(to).pages;
    pages.resize(static_cast<std::size_t>(pages_of(sequence(to).length())));
    for (std::size_t i = 0; i < pages.size(); ++i) {
      if (pages[i] >= 0) ++holders_[static_cast<std::size_t>(pages[i])];
      write_entry(to, static_cast<int>(i), pages[i]);
    }
  }

  /// Pages that feeding so many more tokens to this row takes, with a copy of a shared one.
  int pages_for(int row, int count) {
    const int held = static_cast<int>(sequence(row).pages.size());
    return std::max(0, pages_of(sequence(row).length() + count) - held) + (is_shared(row) ? 1 : 0);
  }
  int free_pages() const { return static_cast<int>(free_.size()); }
  int page_max() const { return page_max_; }

  /// Room for the tokens, and their cells written to it, by kernels.
  void feed(const std::vector<KvFeed>& feeds, Dice& dice) {
    make_room(feeds);
    const Batch batch(*this, feeds);
    const std::vector<std::int64_t> slots = map_slots(batch, feeds, dice.is_one_in(2));
    append(feeds, slots, dice);
  }

  /// Ends the step: commit, a poison now and then, release.
  void commit(const std::vector<KvFeed>& feeds, const KvKept& kept, bool poisons) {
    const Batch batch(*this, feeds);
    const std::size_t count = feeds.size();
    const KvKeptArrays lists = on_device(device_, kept);
    const DeviceArray<std::int32_t> lengths =
        device_.array(std::vector<std::int32_t>(count, -5), "new lengths");
    const DeviceArray<std::uint32_t> statuses = words(count);
    draftproof_kv_commit_arguments arguments{};
    arguments.pool = pool_.arguments();
    arguments.sequences = batch.arguments;
    arguments.kept = lists.arguments;
    arguments.new_lengths = lengths.pointer();
    arguments.statuses = statuses.pointer();
    arguments.flags = kept.is_clipped ? DRAFTPROOF_KV_CLIP : 0;
    if (wrong_plan) wrong_plan(arguments);
    const gpu::LaunchReport report = device_.run(arguments);
    moved_bytes_ +=
        static_cast<std::int64_t>(report.global_bytes_read + report.global_bytes_written);
    demand_done(statuses, "commit");
    settle(feeds, kept, lengths.read());
    if (poisons) poison(batch, feeds, lengths);
    release(batch, feeds, lengths, spare_);
    for (const KvFeed& feed : feeds)
      if (feed.row >= 0) sequence(feed.row).fed.clear();
  }

  /// Ends a sequence: all its pages leave its table.
  void close(int row) {
    const std::vector<KvFeed> feeds = {{row, {}, {}}};
    const Batch batch(*this, feeds);
    const DeviceArray<std::int32_t> lengths = device_.array<std::int32_t>({0}, "new lengths");
    sequence(row).tokens.clear();
    release(batch, feeds, lengths, 0);
    sequence(row).root = -1;
  }

  void compare(const std::string& when) {
    pool_.compare(when);
    std::vector<std::int32_t> tables(static_cast<std::size_t>(row_count() * stride()));
    tables_.read(std::span<std::int32_t>(tables));
    for (int row = 0; row < row_count(); ++row)
      for (int i = 0; i < page_max_; ++i) {
        const auto& pages = sequence(row).pages;
        const int page =
            i < static_cast<int>(pages.size()) ? pages[static_cast<std::size_t>(i)] : -1;
        demand(tables[static_cast<std::size_t>(row * stride() + i)] == page,
               when + ": entry " + std::to_string(i) + " of table " + std::to_string(row));
      }
  }

 private:
  /// The sequences of a launch on the device.
  struct Batch {
    Batch(KvCache& cache, const std::vector<KvFeed>& feeds)
        : rows(cache.device_.array(of(feeds, [](const KvFeed& feed) { return feed.row; }), "rows")),
          lengths(cache.device_.array(of(feeds,
                                         [&](const KvFeed& feed) {
                                           return feed.row < 0 ? -9
                                                               : cache.sequence(feed.row).length();
                                         }),
                                      "lengths")),
          fed(cache.device_.array(of(feeds,
                                     [](const KvFeed& feed) {
                                       return feed.row < 0 ? -9
                                                           : static_cast<int>(feed.tokens.size());
                                     }),
                                  "fed counts")) {
      arguments.tables = cache.tables_.pointer();
      arguments.rows = rows.pointer();
      arguments.lengths = lengths.pointer();
      arguments.fed_counts = fed.pointer();
      arguments.table_stride = static_cast<std::uint64_t>(cache.stride());
      arguments.row_count = static_cast<std::uint32_t>(cache.row_count());
      arguments.page_max = static_cast<std::uint32_t>(cache.page_max_);
      arguments.sequence_count = static_cast<std::uint32_t>(feeds.size());
    }
    template <class Of>
    static std::vector<std::int32_t> of(const std::vector<KvFeed>& feeds, const Of& value) {
      std::vector<std::int32_t> values;
      for (const KvFeed& feed : feeds) values.push_back(value(feed));
      return values;
    }
    DeviceArray<std::int32_t> rows, lengths, fed;
    draftproof_kv_sequences arguments{};
  };

  int stride() const { return page_max_ + 1; }
  int pages_of(int slots) const {
    return (slots + pool_.layout().page_size - 1) / pool_.layout().page_size;
  }
  /// The page that the next cell goes to is partly filled and somebody else holds it too.
  bool is_shared(int row) {
    const Sequence& own = sequence(row);
    const int size = pool_.layout().page_size;
    return own.length() % size != 0 && holders_.at(static_cast<std::size_t>(own.pages.at(
                                           static_cast<std::size_t>(own.length() / size)))) > 1;
  }
  DeviceArray<std::uint32_t> words(std::size_t count) {
    return device_.array(std::vector<std::uint32_t>(count, 99), "statuses");
  }
  void write_entry(int row, int index, int page) {
    const std::int32_t entry = page;
    device_.device().write(
        tables_.pointer() + static_cast<std::uint64_t>(row * stride() + index) * 4,
        std::as_bytes(std::span(&entry, 1)));
  }
  CellKey& key(int row, int slot) {
    const int size = pool_.layout().page_size;
    return pool_.key(sequence(row).pages.at(static_cast<std::size_t>(slot / size)), slot % size);
  }
  int take_page() {
    demand(!free_.empty(), "the test has no page left");
    const int page = free_.back();
    free_.pop_back();
    holders_[static_cast<std::size_t>(page)] = 1;
    return page;
  }
  void drop(int page) {
    if (page >= 0 && --holders_[static_cast<std::size_t>(page)] == 0) free_.push_back(page);
  }

  void make_room(const std::vector<KvFeed>& feeds);
  std::vector<std::int64_t> map_slots(const Batch& batch, const std::vector<KvFeed>& feeds,
                                      bool is_packed);
  void append(const std::vector<KvFeed>& feeds, const std::vector<std::int64_t>& slots, Dice& dice);
  void settle(const std::vector<KvFeed>& feeds, const KvKept& kept,
              const std::vector<std::int32_t>& lengths);
  void poison(const Batch& batch, const std::vector<KvFeed>& feeds,
              const DeviceArray<std::int32_t>& lengths);
  void release(const Batch& batch, const std::vector<KvFeed>& feeds,
               const DeviceArray<std::int32_t>& lengths, int spare);

  KvDevice& device_;
  KvPool pool_;
  std::vector<Sequence> rows_;
  std::vector<int> holders_;
  std::vector<int> free_;
  int page_max_ = 0;
  int window_ = 0;
  int spare_ = 0;  ///< slots behind the length whose pages stay
  int opened_ = 0;
  gpu::Buffer tables_;
  std::int64_t moved_cells_ = 0;
  std::int64_t moved_floor_ = 0;  ///< bytes read and written by moves that only move cells
  std::int64_t moved_bytes_ = 0;
};

}  // namespace draftproof::tests
