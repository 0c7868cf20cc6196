// Every operation of the paged cache: what it needs, what it leaves, and that a broken precondition
// leaves everything as it was.
#include "reference/kv/paged_cache.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "reference/error.h"
#include "tests/reference/cache_cells.h"

namespace draftproof::reference::kv {
namespace {

using Tokens = std::vector<Token>;

const Tokens kTen = {3, 1, 4, 1, 5, 9, 2, 6, 5, 3};

CacheConfig pages_of(int page_size, int page_count) {
  CacheConfig config;
  config.page_size = page_size;
  config.page_count = page_count;
  return config;
}

/// `operation` throws BrokenInvariant and changes nothing.
void expect_refused(PagedCache& cache, const std::function<void(PagedCache&)>& operation) {
  const std::uint64_t before = cache.state_hash();
  const PageCounts counts = cache.counts();
  EXPECT_THROW(operation(cache), BrokenInvariant);
  EXPECT_EQ(cache.state_hash(), before);
  EXPECT_EQ(cache.counts(), counts);
  EXPECT_EQ(cache.first_fault(), std::nullopt);
}

TEST(PagedCache, NamesTheFieldOfABadConfig) {
  const auto message = [](const std::function<void(CacheConfig&)>& change) {
    CacheConfig config;
    change(config);
    try {
      PagedCache cache(config);
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::kInput);
      return std::string(error.what());
    }
    return std::string("accepted");
  };
  using testing::HasSubstr;
  EXPECT_THAT(message([](CacheConfig& c) { c.page_size = 0; }), HasSubstr("page_size: is 0"));
  EXPECT_THAT(message([](CacheConfig& c) { c.page_count = -1; }), HasSubstr("page_count: is -1"));
  EXPECT_THAT(message([](CacheConfig& c) { c.window = -1; }), HasSubstr("window: is -1"));
  EXPECT_THAT(message([](CacheConfig& c) { c.page_size = c.page_count = 1 << 17; }),
              HasSubstr("below 2^31"));
  EXPECT_EQ(message([](CacheConfig&) {}), "accepted");
}

TEST(PagedCache, OpensEmptySequencesAndNeverUsesAnIdTwice) {
  PagedCache cache(pages_of(4, 4));
  const SequenceId first = cache.open();
  EXPECT_EQ(cache.sequence(first), Sequence{});
  cache.release(first);
  EXPECT_FALSE(cache.is_open(first));
  const SequenceId second = cache.open();
  EXPECT_NE(second, first);
  EXPECT_EQ(cache.open_sequences(), std::vector<SequenceId>{second});
  for (const auto& operation : std::vector<std::function<void(PagedCache&)>>{
           [&](PagedCache& c) { c.sequence(first); },
           [&](PagedCache& c) { c.attach_prefix(first, kTen); },
           [&](PagedCache& c) { c.publish_prefix(first, {}); },
           [&](PagedCache& c) { c.reserve(first, 1); },
           [&](PagedCache& c) { c.pages_to_reserve(first, 1); },
           [&](PagedCache& c) { c.address(first, 0); },
           [&](PagedCache& c) {
             c.write(first, 0, Cell{1, 0, 1});
           },
           [&](PagedCache& c) { c.read(first, 0); }, [&](PagedCache& c) { c.commit(first, {}); },
           [&](PagedCache& c) { c.roll_back(first); }, [&](PagedCache& c) { c.trim(first, 0); },
           [&](PagedCache& c) { c.fork(first); }, [&](PagedCache& c) { c.release(first); },
           [&](PagedCache& c) { c.offload(first); }, [&](PagedCache& c) { c.restore(first); }})
    expect_refused(cache, operation);
}

TEST(PagedCache, ReservesPoisonedSlotsAndCountsItsPages) {
  PagedCache cache(pages_of(4, 3));
  const SequenceId id = opened(cache, Tokens{1, 2, 3});
  EXPECT_EQ(cache.pages_to_reserve(id, 0), 0);
  EXPECT_EQ(cache.pages_to_reserve(id, 1), 0);
  EXPECT_EQ(cache.pages_to_reserve(id, 2), 1);
  EXPECT_EQ(cache.pages_to_reserve(id, 9), 2);
  EXPECT_EQ(cache.pages_to_reserve(id, 10), 3);
  ASSERT_TRUE(cache.reserve(id, 6));
  EXPECT_EQ(cache.sequence(id).reserved, 6);
  EXPECT_EQ(cache.counts(), (PageCounts{0, 3, 0, 3}));
  for (int slot = 3; slot < 9; ++slot) EXPECT_FALSE(cache.read(id, slot).is_written());
  expect_refused(cache, [&](PagedCache& c) { c.reserve(id, 1); });
  expect_refused(cache, [&](PagedCache& c) { c.trim(id, 1); });
  expect_refused(cache, [&](PagedCache& c) { c.fork(id); });
  expect_refused(cache, [&](PagedCache& c) { c.offload(id); });
  cache.roll_back(id);
  expect_refused(cache, [&](PagedCache& c) { c.reserve(id, -1); });
  expect_refused(cache, [&](PagedCache& c) { c.pages_to_reserve(id, -1); });
  expect_refused(cache, [&](PagedCache& c) { c.reserve(id, 2147483647); });
  EXPECT_TRUE(cache.reserve(id, 0));
  EXPECT_EQ(cache.sequence(id).reserved, 0);
}

TEST(PagedCache, SaysNoAndChangesNothingWhenPagesDoNotSuffice) {
  PagedCache cache(pages_of(2, 3));
  const SequenceId id = opened(cache, Tokens{1, 2, 3});
  const std::uint64_t before = cache.state_hash();
  EXPECT_FALSE(cache.reserve(id, 4));
  EXPECT_EQ(cache.state_hash(), before);
  EXPECT_TRUE(cache.reserve(id, 3));
}

TEST(PagedCache, WritesOnlyWhatIsReservedAndReadsOnlyWhatIsThere) {
  PagedCache cache(pages_of(4, 3));
  const SequenceId id = opened(cache, Tokens{1, 2, 3});
  ASSERT_TRUE(cache.reserve(id, 2));
  const Cell cell{7, 3, 70};
  for (const int slot : {-1, 0, 2, 5, 100})
    expect_refused(cache, [&](PagedCache& c) { c.write(id, slot, cell); });
  for (const int slot : {-1, 5, 7, 12})
    expect_refused(cache, [&](PagedCache& c) { c.read(id, slot); });
  cache.write(id, 4, cell);
  EXPECT_EQ(cache.read(id, 4), cell);
  EXPECT_EQ(cache.address(id, 4).offset, 0);
  EXPECT_NE(cache.address(id, 4).page, cache.address(id, 3).page);
}

TEST(PagedCache, WritesByPhysicalAddressAsAKernelDoesAndOnlyInsideThePool) {
  PagedCache cache(pages_of(4, 2));
  const SequenceId id = opened(cache, Tokens{1, 2, 3});
  for (const SlotAddress at : {SlotAddress{-1, 0}, {2, 0}, {0, -1}, {0, 4}})
    expect_refused(cache, [&](PagedCache& c) { c.write_at(at, Cell{1, 0, 1}); });
  cache.write_at(cache.address(id, 1), Cell{8, 1, 80});  // whoever owns it
  EXPECT_EQ(cache.read(id, 1), (Cell{8, 1, 80}));
  cache.write_at({1, 3}, Cell{8, 1, 80});
  EXPECT_THAT(cache.first_fault(), testing::Optional(testing::HasSubstr("nobody has it")));
}

TEST(PagedCache, CommitKeepsAPathInOrderAndPoisonsTheRest) {
  PagedCache cache(pages_of(4, 4));
  const SequenceId id = opened(cache, Tokens{1, 2, 3});
  const std::vector<Cell> before = serial_cells(Tokens{1, 2, 3});
  ASSERT_TRUE(cache.reserve(id, 7));
  // Two branches: rows 0, 2, 5 and everything else.
  std::vector<Cell> path = before;
  for (int row = 0; row < 7; ++row) {
    const bool is_on_path = row == 0 || row == 2 || row == 5;
    const Cell cell = is_on_path ? cell_behind(path, 10 + row) : Cell{90 + row, 3, 1u};
    cache.write(id, 3 + row, cell);
    if (is_on_path) path.push_back(cell);
  }
  for (const auto& kept : std::vector<std::vector<int>>{{-1}, {7}, {0, 0}, {2, 1}, {0, 7}})
    expect_refused(cache, [&](PagedCache& c) { c.commit(id, kept); });
  cache.commit(id, std::vector<int>{0, 2, 5});
  EXPECT_EQ(visible_cells(cache, id), path);
  EXPECT_EQ(cache.moved_cell_count(), 2);
  EXPECT_EQ(cache.sequence(id).pages.size(), 2u);
  EXPECT_EQ(cache.counts(), (PageCounts{2, 2, 0, 4}));
  EXPECT_EQ(cache.live_page_count_max(), 3);
  EXPECT_EQ(cache.first_fault(), std::nullopt);  // the slots given back hold poison
  expect_refused(cache, [&](PagedCache& c) { c.commit(id, std::vector<int>{0}); });
  cache.commit(id, {});  // nothing reserved, nothing kept
  EXPECT_EQ(visible_cells(cache, id), path);
}

TEST(PagedCache, GivesBackEachPageWhollyBehindTheWindow) {
  CacheConfig config = pages_of(2, 8);
  config.window = 3;
  PagedCache cache(config);
  const std::vector<Cell> cells = serial_cells(kTen, 3);
  const SequenceId id = cache.open();
  ASSERT_TRUE(append(cache, id, std::span(cells).first(6)));
  // Slots 3, 4, 5 are visible: page 0 is gone, page 1 (slots 2 and 3) is not.
  EXPECT_EQ(cache.sequence(id).pages[0], kNoPage);
  EXPECT_NE(cache.sequence(id).pages[1], kNoPage);
  EXPECT_EQ(cache.counts(), (PageCounts{6, 2, 0, 8}));
  EXPECT_EQ(cache.read(id, 2), cells[2]);
  expect_refused(cache, [&](PagedCache& c) { c.read(id, 1); });
  // While a draft is out, what its first row sees stays; three tokens at once push three out.
  ASSERT_TRUE(append(cache, id, std::span(cells).subspan(6, 3)));
  EXPECT_EQ(cache.sequence(id).pages,
            (std::vector<PageId>{kNoPage, kNoPage, kNoPage, cache.sequence(id).pages[3],
                                 cache.sequence(id).pages[4]}));
  EXPECT_EQ(visible_cells(cache, id), visible_cells(cache, std::span(cells).first(9)));
  EXPECT_EQ(cache.first_fault(), std::nullopt);
}

TEST(PagedCache, TrimsWhatItCanAndSaysSo) {
  PagedCache cache(pages_of(4, 4));
  const SequenceId id = opened(cache, kTen);
  expect_refused(cache, [&](PagedCache& c) { c.trim(id, -1); });
  expect_refused(cache, [&](PagedCache& c) { c.trim(id, 11); });
  EXPECT_TRUE(cache.trim(id, 10));
  EXPECT_TRUE(cache.trim(id, 5));
  EXPECT_EQ(cache.counts(), (PageCounts{2, 2, 0, 4}));
  EXPECT_EQ(visible_cells(cache, id), serial_cells(std::span(kTen).first(5)));
  EXPECT_EQ(cache.first_fault(), std::nullopt);
  EXPECT_TRUE(cache.trim(id, 0));
  EXPECT_EQ(cache.counts().free, 4);
}

TEST(PagedCache, RefusesToTrimWhereItCannot) {
  CacheConfig rotating = pages_of(4, 4);
  rotating.is_trimmable = false;
  PagedCache untrimmable(rotating);
  const SequenceId kept = opened(untrimmable, kTen);
  EXPECT_FALSE(untrimmable.trim(kept, 9));
  EXPECT_EQ(untrimmable.sequence(kept).length, 10);
  EXPECT_TRUE(untrimmable.trim(kept, 10));

  CacheConfig sliding = pages_of(2, 8);
  sliding.window = 3;
  PagedCache cache(sliding);
  const SequenceId id = opened(cache, kTen);  // slots from 6 on are there
  EXPECT_FALSE(cache.trim(id, 8));            // would show slot 5
  EXPECT_EQ(cache.sequence(id).length, 10);
  EXPECT_TRUE(cache.trim(id, 9));
  EXPECT_TRUE(cache.trim(id, 0));  // shows nothing
  EXPECT_EQ(cache.counts().free, 8);
  EXPECT_EQ(cache.first_fault(), std::nullopt);
}

TEST(PagedCache, ForksShareEveryPageAndCopyBeforeTheyWrite) {
  PagedCache cache(pages_of(4, 4));
  const SequenceId id = opened(cache, std::span(kTen).first(6));
  const SequenceId twin = cache.fork(id);
  EXPECT_EQ(cache.counts().live, 2);
  EXPECT_EQ(cache.holder_count(cache.address(id, 5).page), 2);
  EXPECT_EQ(cache.pages_to_reserve(twin, 1), 1);  // the copy
  EXPECT_EQ(cache.pages_to_reserve(twin, 0), 0);
  const std::vector<Cell> stem = serial_cells(std::span(kTen).first(6));
  ASSERT_TRUE(append(cache, twin, std::vector<Cell>{cell_behind(stem, 77)}));
  EXPECT_EQ(cache.holder_count(cache.address(id, 5).page), 1);
  EXPECT_EQ(cache.address(id, 0).page, cache.address(twin, 0).page);
  EXPECT_EQ(cache.pages_to_reserve(id, 1), 0);
  ASSERT_TRUE(append(cache, id, std::vector<Cell>{cell_behind(stem, 88)}));
  EXPECT_EQ(cache.read(twin, 6).token, 77);
  EXPECT_EQ(cache.read(id, 6).token, 88);
  EXPECT_EQ(cache.first_fault(), std::nullopt);
  cache.release(id);
  EXPECT_EQ(cache.counts(), (PageCounts{2, 2, 0, 4}));
  EXPECT_THROW(cache.holder_count(4), BrokenInvariant);
  EXPECT_THROW(cache.holder_count(-1), BrokenInvariant);
}

TEST(PagedCache, PoisonsInASharedPageWhatTheLongerHolderAloneHad) {
  PagedCache cache(pages_of(4, 4));
  const SequenceId longer = opened(cache, std::span(kTen).first(7));
  const SequenceId shorter = cache.fork(longer);
  EXPECT_TRUE(cache.trim(shorter, 5));
  EXPECT_EQ(cache.read(longer, 6).token, kTen[6]);
  cache.release(longer);
  EXPECT_EQ(cache.first_fault(), std::nullopt);
  ASSERT_TRUE(cache.reserve(shorter, 3));
  for (int slot = 5; slot < 8; ++slot) EXPECT_FALSE(cache.read(shorter, slot).is_written());
}

TEST(PagedCache, ReleasesAReservationInTheMiddleOfAStep) {
  PagedCache cache(pages_of(2, 4));
  const SequenceId id = opened(cache, Tokens{1, 2, 3});
  ASSERT_TRUE(cache.reserve(id, 4));
  cache.write(id, 3, Cell{9, 3, 9});
  cache.release(id);
  EXPECT_EQ(cache.counts(), (PageCounts{4, 0, 0, 4}));
  EXPECT_EQ(cache.first_fault(), std::nullopt);
}

TEST(PagedCache, OffloadGivesPagesBackAndRestoreBringsTheCells) {
  for (const int window : {0, 3}) {
    CacheConfig config = pages_of(2, 6);
    config.window = window;
    config.is_quantised = window == 3;
    PagedCache cache(config);
    const std::vector<Cell> cells = serial_cells(kTen, window);
    const SequenceId id = cache.open();
    ASSERT_TRUE(append(cache, id, cells));
    const int live = cache.counts().live;
    const std::vector<Cell> seen = visible_cells(cache, id);
    expect_refused(cache, [&](PagedCache& c) { c.restore(id); });
    cache.offload(id);
    EXPECT_EQ(cache.counts().free, 6);
    EXPECT_TRUE(cache.sequence(id).is_offloaded);
    EXPECT_EQ(cache.sequence(id).length, 10);
    EXPECT_EQ(cache.pages_to_reserve(id, 0), live);
    for (const auto& operation : std::vector<std::function<void(PagedCache&)>>{
             [&](PagedCache& c) { c.offload(id); }, [&](PagedCache& c) { c.reserve(id, 1); },
             [&](PagedCache& c) { c.commit(id, {}); }, [&](PagedCache& c) { c.trim(id, 1); },
             [&](PagedCache& c) { c.fork(id); }, [&](PagedCache& c) { c.read(id, 9); },
             [&](PagedCache& c) { c.publish_prefix(id, {}); },
             [&](PagedCache& c) { c.attach_prefix(id, {}); }})
      expect_refused(cache, operation);
    const SequenceId other = opened(cache, Tokens(4, 1));
    if (window == 0) {
      EXPECT_FALSE(cache.restore(id));
      EXPECT_TRUE(cache.sequence(id).is_offloaded);
    }
    cache.release(other);
    ASSERT_TRUE(cache.restore(id));
    EXPECT_EQ(visible_cells(cache, id), seen);
    EXPECT_EQ(cache.counts().live, live);
    EXPECT_EQ(cache.first_fault(), std::nullopt);
    cache.offload(id);
    cache.release(id);
    EXPECT_EQ(cache.counts().free, 6);
  }
}

TEST(PagedCache, KeepsSixteenBitsOfAHistoryRelativeToThePage) {
  CacheConfig config = pages_of(4, 4);
  config.is_quantised = true;
  PagedCache cache(config);
  const std::vector<Cell> cells = serial_cells(kTen);
  const SequenceId id = opened(cache, kTen);
  for (int slot = 0; slot < 10; ++slot) {
    const Cell& written = cells[static_cast<std::size_t>(slot)];
    EXPECT_EQ(cache.read(id, slot), cache.as_read(written));
    EXPECT_EQ(cache.read(id, slot).history, written.history % 65536);
  }
  // Cells that change their page take the scale of the page they come to.
  ASSERT_TRUE(cache.reserve(id, 6));
  for (int row = 0; row < 6; ++row) cache.write(id, 10 + row, Cell{row, 10, 1000003u * (row + 1u)});
  cache.commit(id, std::vector<int>{2, 5});
  EXPECT_EQ(cache.read(id, 10).history, 1000003u * 3 % 65536);
  EXPECT_EQ(cache.read(id, 11).history, 1000003u * 6 % 65536);
}

TEST(PagedCache, HashesWhatMayMatterAndNotHowPagesAndSequencesAreNumbered) {
  PagedCache one(pages_of(2, 6));
  PagedCache two(pages_of(2, 6));
  const SequenceId first = opened(one, std::span(kTen).first(3));
  const SequenceId gone = opened(two, Tokens(5, 1));
  const SequenceId second = opened(two, std::span(kTen).first(3));
  EXPECT_NE(one.state_hash(), two.state_hash());
  two.release(gone);
  EXPECT_NE(one.address(first, 0).page, two.address(second, 0).page);
  EXPECT_EQ(one.state_hash(), two.state_hash());
  ASSERT_TRUE(two.reserve(second, 1));
  EXPECT_NE(one.state_hash(), two.state_hash());
  two.write(second, 3, Cell{1, 3, 5});
  const std::uint64_t written = two.state_hash();
  two.write(second, 3, Cell{1, 3, 6});
  EXPECT_NE(two.state_hash(), written);
  two.roll_back(second);
  EXPECT_EQ(one.state_hash(), two.state_hash());
  one.offload(first);
  EXPECT_NE(one.state_hash(), two.state_hash());
  two.offload(second);
  EXPECT_EQ(one.state_hash(), two.state_hash());
  two.offload(opened(two, Tokens{1, 1}));
  one.offload(opened(one, Tokens{1, 2}));
  EXPECT_NE(one.state_hash(), two.state_hash());  // cells in host memory are cells

  PagedCache published(pages_of(2, 6));
  PagedCache plain(pages_of(2, 6));
  published.publish_prefix(opened(published, kTen), std::span(kTen).first(2));
  opened(plain, kTen);
  EXPECT_NE(published.state_hash(), plain.state_hash());
}

TEST(PagedCache, ClonesAreDeep) {
  PagedCache cache(pages_of(4, 4));
  const SequenceId id = opened(cache, kTen);
  const std::unique_ptr<PagedCache> copy = cache.clone();
  const std::uint64_t before = copy->state_hash();
  EXPECT_EQ(before, cache.state_hash());
  EXPECT_TRUE(cache.trim(id, 3));
  EXPECT_EQ(copy->state_hash(), before);
  EXPECT_EQ(copy->first_fault(), std::nullopt);
  EXPECT_EQ(copy->open(), cache.open());
}

}  // namespace
}  // namespace draftproof::reference::kv
