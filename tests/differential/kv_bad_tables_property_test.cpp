// Goal: whatever stands in tables, lengths and lists on the device, a sequence that cannot be
// served gets a word that says why and stays as it was, its neighbours are served, and nobody
// writes elsewhere. Method: three sequences, the one in the middle wrong in one way at a time,
// every byte of the pool compared, bounds watched by the device.
#include <gtest/gtest.h>

#include <functional>
#include <limits>

#include "tests/differential/kv_cache.h"

namespace draftproof::tests {
namespace {

constexpr int kPageSize = 4;
constexpr int kPages = 16;
constexpr int kTable = 5;
constexpr std::int32_t kLargest = std::numeric_limits<std::int32_t>::max();

/// What lies on the device, before it is put there. Sequence s has pages 5s .. 5s + 4, 6 committed
/// cells and 8 fed ones, of which it keeps the first and nodes 2, 3 and 5.
struct Told {
  std::vector<std::int32_t> tables, rows = {0, 1, 2}, lengths = {6, 6, 6}, fed = {8, 8, 8},
                                    after = {10, 10, 10}, starts = {0, 8, 16};
  std::vector<std::vector<std::int32_t>> nodes = {{2, 3, 5}, {2, 3, 5}, {2, 3, 5}};
  std::vector<std::uint32_t> counts = {3, 3, 3};
  std::vector<std::vector<std::int32_t>> offsets;
  bool has_other_scales = false;

  Told() {
    for (int i = 0; i < 3 * kTable; ++i) tables.push_back(i);
  }
};

class KvBadTables : public testing::Test {
 protected:
  void SetUp() override {
    if (!gpu::kernels_are_embedded()) GTEST_SKIP() << "this build has no own kernels";
    device_.emplace(gpu::embedded_texts(), 3);
  }

  static KvLayout layout() {
    KvLayout layout;
    layout.page_size = kPageSize;
    layout.page_count = kPages;
    layout.layer_count = 2;
    layout.has_page_scales = true;
    return layout;
  }

  /// A pool in which every slot holds a cell of its own.
  std::unique_ptr<KvPool> filled(bool has_other_scales) {
    auto pool = std::make_unique<KvPool>(*device_, layout());
    std::vector<std::int64_t> slots;
    std::vector<CellKey> keys;
    for (int slot = 0; slot < kPages * kPageSize; ++slot) {
      slots.push_back(slot);
      keys.push_back(100 + static_cast<CellKey>(slot));
      pool->key(slot / kPageSize, slot % kPageSize) = keys.back();
    }
    for (int page = 0; page < kPages; ++page)
      pool->write_page_scale(page, has_other_scales && page == 6 ? 8 : 7);
    draftproof_kv_append_arguments arguments{};
    arguments.pool = pool->arguments();
    const auto rows = pool->rows(keys, arguments);
    const auto list = device_->array(slots, "slots");
    arguments.slots = list.pointer();
    arguments.token_count = static_cast<std::uint32_t>(slots.size());
    device_->run(arguments);
    return pool;
  }

  struct Arrays {
    Arrays(KvDevice& device, const Told& told)
        : tables(device.array(told.tables, "tables")),
          rows(device.array(told.rows, "rows")),
          lengths(device.array(told.lengths, "lengths")),
          fed(device.array(told.fed, "fed counts")),
          after(device.array(told.after, "new lengths")),
          statuses(device.array<std::uint32_t>({99, 99, 99}, "statuses")) {
      sequences = {tables.pointer(),
                   rows.pointer(),
                   lengths.pointer(),
                   fed.pointer(),
                   kTable,
                   3,
                   kTable,
                   3,
                   0};
    }
    DeviceArray<std::int32_t> tables, rows, lengths, fed, after;
    DeviceArray<std::uint32_t> statuses;
    draftproof_kv_sequences sequences{};
  };

  static KvKept kept_of(const Told& told) {
    KvKept kept;
    kept.leading = 1;
    kept.nodes = told.nodes;
    kept.node_offsets = told.offsets;
    for (const std::uint32_t count : told.counts) kept.outcomes.push_back({count, 0, 0, 0});
    return kept;
  }

  /// Commits; the middle sequence gets `status` and the others move.
  void expect_commit(const char* what, const std::function<void(Told&)>& spoil,
                     std::uint32_t status) {
    Told told;
    spoil(told);
    const auto pool = filled(told.has_other_scales);
    Arrays arrays(*device_, told);
    KvKeptArrays lists = on_device(*device_, kept_of(told));
    lists.arguments.kept_max = 3;
    draftproof_kv_commit_arguments arguments{};
    arguments.pool = pool->arguments();
    arguments.sequences = arrays.sequences;
    arguments.kept = lists.arguments;
    arguments.new_lengths = arrays.after.pointer();
    arguments.statuses = arrays.statuses.pointer();
    ASSERT_NO_THROW(device_->run(arguments)) << what;
    EXPECT_EQ(arrays.statuses.read(), (std::vector<std::uint32_t>{0, status, 0})) << what;
    EXPECT_EQ(arrays.after.read(), (std::vector<std::int32_t>{10, told.lengths[1], 10})) << what;
    for (const int s : {0, 2}) {
      int to = 6;
      for (const int offset : {0, 3, 4, 6}) {
        const int from = 6 + offset;
        pool->key(kTable * s + to / kPageSize, to % kPageSize) =
            100 +
            static_cast<CellKey>((kTable * s + from / kPageSize) * kPageSize + from % kPageSize);
        ++to;
      }
    }
    EXPECT_NO_THROW(pool->compare(what));
  }

  /// Runs a launch of sequences on a fresh pool that must stay as it is but for the neighbours.
  template <class Arguments>
  std::vector<std::uint32_t> statuses_of(const char* what, const Told& told, Arguments arguments) {
    Arrays arrays(*device_, told);
    arguments.sequences = arrays.sequences;
    arguments.statuses = arrays.statuses.pointer();
    if constexpr (requires { arguments.new_lengths; })
      arguments.new_lengths = arrays.after.pointer();
    EXPECT_NO_THROW(device_->run(arguments)) << what;
    tables_ = arrays.tables.read();
    return arrays.statuses.read();
  }

  std::optional<KvDevice> device_;
  std::vector<std::int32_t> tables_;  ///< behind the last launch
};

TEST_F(KvBadTables, EndACommitInAWordAndLeaveTheSequenceAsItWas) {
  using T = Told;
  expect_commit(
      "a row behind the tables", [](T& t) { t.rows[1] = 3; }, DRAFTPROOF_KV_BAD_ROW);
  expect_commit(
      "a negative row", [](T& t) { t.rows[1] = -2; }, DRAFTPROOF_KV_BAD_ROW);
  expect_commit(
      "a negative length", [](T& t) { t.lengths[1] = -1; }, DRAFTPROOF_KV_BAD_LENGTH);
  expect_commit(
      "a length beyond the table", [](T& t) { t.lengths[1] = 13; }, DRAFTPROOF_KV_BAD_LENGTH);
  expect_commit(
      "the largest length", [](T& t) { t.lengths[1] = kLargest; }, DRAFTPROOF_KV_BAD_LENGTH);
  expect_commit(
      "negative fed count", [](T& t) { t.fed[1] = -8; }, DRAFTPROOF_KV_BAD_LENGTH);
  expect_commit(
      "the largest fed count", [](T& t) { t.fed[1] = kLargest; }, DRAFTPROOF_KV_BAD_LENGTH);
  expect_commit(
      "a count beyond the list", [](T& t) { t.counts[1] = 4; }, DRAFTPROOF_KV_BAD_LENGTH);
  expect_commit(
      "the largest count", [](T& t) { t.counts[1] = ~0u; }, DRAFTPROOF_KV_BAD_LENGTH);
  expect_commit(
      "nodes that fall",
      [](T& t) {
        t.nodes[1] = {3, 2, 5};
      },
      DRAFTPROOF_KV_BAD_KEPT);
  expect_commit(
      "a node twice",
      [](T& t) {
        t.nodes[1] = {2, 2, 5};
      },
      DRAFTPROOF_KV_BAD_KEPT);
  expect_commit(
      "a node that was not fed",
      [](T& t) {
        t.nodes[1] = {2, 3, 7};
      },
      DRAFTPROOF_KV_BAD_KEPT);
  expect_commit(
      "a negative node",
      [](T& t) {
        t.nodes[1] = {-1, 3, 5};
      },
      DRAFTPROOF_KV_BAD_KEPT);
  expect_commit(
      "the largest node",
      [](T& t) {
        t.nodes[1] = {2, 3, kLargest};
      },
      DRAFTPROOF_KV_BAD_KEPT);
  expect_commit(
      "no page", [](T& t) { t.tables[kTable + 2] = -1; }, DRAFTPROOF_KV_BAD_PAGE);
  expect_commit(
      "a page behind the pool", [](T& t) { t.tables[kTable + 1] = kPages; },
      DRAFTPROOF_KV_BAD_PAGE);
  expect_commit(
      "the least page", [](T& t) { t.tables[kTable + 3] = -kLargest - 1; }, DRAFTPROOF_KV_BAD_PAGE);
  expect_commit(
      "a page with other scales", [](T& t) { t.has_other_scales = true; },
      DRAFTPROOF_KV_PAGE_SCALES_DIFFER);
}

TEST_F(KvBadTables, EndAMapOfNodesThatIsNoneInAWord) {
  const auto spoil = [](std::int32_t node, std::int32_t offset) {
    return [=](Told& told) {
      told.offsets.assign(3, {0, 1, 2, 3, 4, 5, 6});
      told.nodes[1][2] = node;
      told.offsets[1][5] = offset;
    };
  };
  expect_commit("a node behind the map", spoil(7, 5), DRAFTPROOF_KV_BAD_KEPT);
  expect_commit("a node that was not fed", spoil(5, -1), DRAFTPROOF_KV_BAD_KEPT);
  expect_commit("offsets that fall", spoil(5, 1), DRAFTPROOF_KV_BAD_KEPT);
}

TEST_F(KvBadTables, AreNeitherMappedNorPoisonedNorReleased) {
  const std::vector<std::pair<std::function<void(Told&)>, std::uint32_t>> spoils = {
      {[](Told& t) { t.rows[1] = 9; }, DRAFTPROOF_KV_BAD_ROW},
      {[](Told& t) { t.lengths[1] = kLargest; }, DRAFTPROOF_KV_BAD_LENGTH},
      {[](Told& t) { t.fed[1] = 15; }, DRAFTPROOF_KV_BAD_LENGTH},
      {[](Told& t) { t.tables[kTable + 3] = kPages; }, DRAFTPROOF_KV_BAD_PAGE},
      {[](Told& t) { t.tables[kTable + 3] = -1; }, DRAFTPROOF_KV_BAD_PAGE}};
  for (const auto& [spoil, status] : spoils) {
    Told told;
    spoil(told);
    told.after = {9, 9, 9};
    const std::vector<std::uint32_t> expected = {0, status, 0};
    const auto places = device_->array(std::vector<std::int64_t>(24, -3), "slots");
    draftproof_kv_map_slots_arguments mapped{};
    mapped.slots = places.pointer();
    mapped.slot_stride = 8;
    mapped.slot_count = 24;
    mapped.page_size = kPageSize;
    mapped.page_count = kPages;
    EXPECT_EQ(statuses_of("map_slots", told, mapped), expected);
    for (std::size_t i = 8; i < 16; ++i) EXPECT_EQ(places.read()[i], -1);
    EXPECT_EQ(places.read()[16], 2 * kTable * kPageSize + 6);

    const auto pool = filled(false);
    draftproof_kv_poison_arguments poisoned{};
    poisoned.pool = pool->arguments();
    poisoned.byte = static_cast<std::uint32_t>(KvPool::kPoison);
    EXPECT_EQ(statuses_of("poison", told, poisoned), expected);
    for (const int s : {0, 2})
      for (int slot = 9; slot < 14; ++slot)
        pool->key(kTable * s + slot / kPageSize, slot % kPageSize) = 0;
    EXPECT_NO_THROW(pool->compare("poison"));

    const auto freed = device_->array(std::vector<std::int32_t>(15, -4), "freed");
    const auto counts = device_->array<std::uint32_t>({9, 9, 9}, "freed counts");
    draftproof_kv_release_pages_arguments released{};
    released.freed = freed.pointer();
    released.freed_counts = counts.pointer();
    released.freed_stride = kTable;
    released.page_size = kPageSize;
    released.page_count = kPages;
    EXPECT_EQ(statuses_of("release_pages", told, released), expected);
    EXPECT_EQ(counts.read(), (std::vector<std::uint32_t>{1, 0, 1}));
    for (std::size_t i = 0; i < kTable; ++i)
      EXPECT_EQ(tables_[kTable + i], told.tables[kTable + i]) << "entry " << i;
    EXPECT_EQ(tables_[3], -1);
  }
}

TEST_F(KvBadTables, NewLengthsBehindTheFedCellsReleaseNothing) {
  Told told;
  told.after = {9, 15, 9};
  const auto pool = filled(false);
  draftproof_kv_poison_arguments poisoned{};
  poisoned.pool = pool->arguments();
  EXPECT_EQ(statuses_of("poison", told, poisoned)[1], DRAFTPROOF_KV_BAD_LENGTH);
  told.after[1] = -1;
  EXPECT_EQ(statuses_of("poison", told, poisoned)[1], DRAFTPROOF_KV_BAD_LENGTH);
}

TEST_F(KvBadTables, SlotsBehindThePoolAreNotWritten) {
  const auto pool = filled(false);
  draftproof_kv_append_arguments arguments{};
  arguments.pool = pool->arguments();
  const auto rows = pool->rows({1, 2, 3, 4, 5}, arguments);
  const std::int64_t most = std::numeric_limits<std::int64_t>::max();
  const auto slots =
      device_->array<std::int64_t>({-1, kPages * kPageSize, 3, most, -most}, "slots");
  const auto statuses = device_->array(std::vector<std::uint32_t>(5, 99), "statuses");
  arguments.slots = slots.pointer();
  arguments.statuses = statuses.pointer();
  arguments.token_count = 5;
  ASSERT_NO_THROW(device_->run(arguments));
  EXPECT_EQ(statuses.read(), (std::vector<std::uint32_t>{0, 5, 0, 5, 0}));
  pool->key(0, 3) = 3;
  EXPECT_NO_THROW(pool->compare("append"));
}

TEST_F(KvBadTables, CopiesThatCannotBeAreNotMade) {
  const std::vector<draftproof_kv_page_copy> copies = {
      {-1, 99, 99, 99, 99},  {0, 15, 2, -1, 0}, {-2, 14, 2, -1, 0},
      {1, kPages, 2, -1, 0}, {1, 1, 2, -1, 0},  {1, 14, kPageSize + 1, -1, 0},
      {1, 14, -1, -1, 0},    {1, 14, 2, 3, 0},  {1, 14, 2, 0, kTable},
      {1, 14, 2, -2, 0}};
  const auto pool = filled(false);
  Told told;
  Arrays arrays(*device_, told);
  const auto list = device_->array(copies, "copies");
  const auto statuses =
      device_->array(std::vector<std::uint32_t>(copies.size(), 99), "copy statuses");
  draftproof_kv_copy_pages_arguments arguments{};
  arguments.pool = pool->arguments();
  arguments.copies = list.pointer();
  arguments.tables = arrays.tables.pointer();
  arguments.statuses = statuses.pointer();
  arguments.table_stride = kTable;
  arguments.row_count = 3;
  arguments.page_max = kTable;
  arguments.copy_count = static_cast<std::uint32_t>(copies.size());
  ASSERT_NO_THROW(device_->run(arguments));
  EXPECT_EQ(statuses.read(), (std::vector<std::uint32_t>{0, 0, 4, 4, 4, 2, 2, 1, 1, 1}));
  for (int slot = 0; slot < 2; ++slot) pool->key(15, slot) = pool->key(0, slot);
  EXPECT_NO_THROW(pool->compare("copy_pages"));
  EXPECT_EQ(arrays.tables.read(), told.tables);
}

TEST_F(KvBadTables, RowsAndStatesThatAreNotThereAreNotTaken) {
  const auto fed = device_->array<std::int32_t>({4, 4, 4, -1}, "fed counts");
  KvKept told;
  told.leading = 1;
  told.nodes = {{0, 2}, {0, 2}, {0, 2}, {0, 2}};
  told.outcomes = {{2, 0, 0, 0}, {2, 0, 0, 0}, {2, 0, 0, 0}, {2, 0, 0, 0}};
  const KvKeptArrays lists = on_device(*device_, told);
  const auto statuses = device_->array(std::vector<std::uint32_t>(4, 99), "statuses");
  const auto source = device_->array(std::vector<std::int64_t>{0, 1, 2, 3, 4, 5, 6, 7}, "source");
  const auto to = device_->array(std::vector<std::int64_t>(6, -1), "destination");
  const auto from = device_->array<std::int32_t>({0, 5, 4, 0}, "source starts");
  const auto at = device_->array<std::int32_t>({3, 0, 4, 0}, "destination starts");
  draftproof_kv_gather_rows_arguments gathered{};
  gathered.buffers[0] = {source.pointer(), to.pointer(), 8, 8, 8};
  gathered.kept = lists.arguments;
  gathered.fed_counts = fed.pointer();
  gathered.source_starts = from.pointer();
  gathered.destination_starts = at.pointer();
  gathered.statuses = statuses.pointer();
  gathered.source_row_count = 8;
  gathered.destination_row_count = 6;
  gathered.buffer_count = 1;
  gathered.sequence_count = 4;
  ASSERT_NO_THROW(device_->run(gathered));
  EXPECT_EQ(statuses.read(), (std::vector<std::uint32_t>{0, 2, 2, 2}));
  EXPECT_EQ(to.read(), (std::vector<std::int64_t>{-1, -1, -1, 0, 1, 3}));

  KvLayout layout;
  layout.page_size = 1;
  KvPool pool(*device_, layout);
  const auto candidates =
      device_->array<std::int32_t>({0, 1, 2, -1, 0, 1, 2, 8, 0, 1, 2, 3, 0, 1, 2, 3}, "candidates");
  const auto committed = device_->array<std::int32_t>({5, 6, 8, -1}, "committed");
  draftproof_kv_select_states_arguments selected{};
  selected.pool = pool.arguments();
  selected.kept = lists.arguments;
  selected.candidates = candidates.pointer();
  selected.committed = committed.pointer();
  selected.fed_counts = fed.pointer();
  selected.statuses = statuses.pointer();
  selected.candidate_stride = selected.candidate_max = 4;
  selected.sequence_count = 4;
  ASSERT_NO_THROW(device_->run(selected));
  EXPECT_EQ(statuses.read(), (std::vector<std::uint32_t>{5, 5, 5, 0}));
  EXPECT_NO_THROW(pool.compare("states"));
}

}  // namespace
}  // namespace draftproof::tests
