// The prefix index of the paged cache: what is found, what is kept, what is evicted, and that the
// recount tells a page that is not what it was published for.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <unordered_map>
#include <utility>

#include "reference/error.h"
#include "reference/kv/paged_cache.h"
#include "tests/reference/cache_cells.h"

namespace draftproof::reference::kv {
namespace {

using Tokens = std::vector<Token>;
using testing::HasSubstr;
using testing::Optional;

const Tokens kTen = {3, 1, 4, 1, 5, 9, 2, 6, 5, 3};

CacheConfig pages_of(int page_size, int page_count) {
  CacheConfig config;
  config.page_size = page_size;
  config.page_count = page_count;
  return config;
}

SequenceId published(PagedCache& cache, std::span<const Token> tokens) {
  const SequenceId id = opened(cache, tokens);
  cache.publish_prefix(id, tokens);
  return id;
}

/// How many of `tokens` a sequence that is opened for it and released again finds.
int found(PagedCache& cache, std::span<const Token> tokens) {
  const SequenceId id = cache.open();
  const int count = cache.attach_prefix(id, tokens);
  cache.release(id);
  return count;
}

TEST(PagedCachePrefix, FindsFullPagesAndLeavesTheLastTokenOut) {
  PagedCache cache(pages_of(4, 8));
  const SequenceId id = published(cache, kTen);
  EXPECT_EQ(found(cache, {}), 0);
  EXPECT_EQ(found(cache, std::span(kTen).first(4)), 0);
  EXPECT_EQ(found(cache, std::span(kTen).first(5)), 4);
  EXPECT_EQ(found(cache, std::span(kTen).first(8)), 4);
  EXPECT_EQ(found(cache, kTen), 8);
  const SequenceId other = cache.open();
  Tokens longer = kTen;
  longer.insert(longer.end(), 10, 7);
  EXPECT_EQ(cache.attach_prefix(other, longer), 8);
  EXPECT_EQ(visible_cells(cache, other), serial_cells(std::span(kTen).first(8)));
  EXPECT_EQ(cache.holder_count(cache.address(id, 0).page), 2);
  EXPECT_THROW(cache.attach_prefix(other, kTen), BrokenInvariant);
  EXPECT_EQ(cache.first_fault(), std::nullopt);
}

TEST(PagedCachePrefix, TellsEqualPagesBehindDifferentPrefixesApart) {
  PagedCache cache(pages_of(2, 16));
  published(cache, Tokens{1, 1, 5, 6, 9, 9});
  published(cache, Tokens{2, 2, 5, 6, 8, 8});
  EXPECT_EQ(found(cache, Tokens{1, 1, 5, 6, 9, 9, 0}), 6);
  EXPECT_EQ(found(cache, Tokens{1, 1, 5, 6, 8, 8, 0}), 4);
  EXPECT_EQ(found(cache, Tokens{5, 6, 0}), 0);
  EXPECT_EQ(found(cache, Tokens{3, 3, 5, 6, 0}), 0);
}

/// Two pages of two tokens with one key. The first token's history agrees in the low half, which
/// a search among 2^18 tokens finds (birthday: 8 pairs expected); the second token makes up for
/// the high half.
std::pair<Tokens, Tokens> colliding_pages() {
  std::unordered_map<std::uint32_t, Token> seen;
  for (Token token = 0; token < 1 << 18; ++token) {
    const std::uint64_t history = history_behind(kEmptyHistory, token, 0);
    const auto [other, is_first] = seen.try_emplace(static_cast<std::uint32_t>(history), token);
    if (is_first) continue;
    const std::uint64_t difference = history ^ history_behind(kEmptyHistory, other->second, 0);
    const auto second = static_cast<Token>(difference >> 32);
    if (second >= 0) return {{other->second, 0}, {token, second}};
  }
  return {};
}

TEST(PagedCachePrefix, ComparesTokensAndNotKeysAlone) {
  const auto [one, other] = colliding_pages();
  ASSERT_EQ(one.size(), 2u);
  ASSERT_NE(one, other);
  ASSERT_EQ(history_of(one), history_of(other));
  PagedCache cache(pages_of(2, 8));
  published(cache, one);
  EXPECT_EQ(found(cache, Tokens{one[0], one[1], 0}), 2);
  EXPECT_EQ(found(cache, Tokens{other[0], other[1], 0}), 0);
  published(cache, other);  // its place in the index is taken, so it stays unpublished
  EXPECT_EQ(found(cache, Tokens{one[0], one[1], 0}), 2);
  EXPECT_EQ(found(cache, Tokens{other[0], other[1], 0}), 0);
  EXPECT_EQ(cache.first_fault(), std::nullopt);
}

TEST(PagedCachePrefix, LeavesAPageUnderTheTokensItWasFirstPublishedFor) {
  PagedCache cache(pages_of(2, 8));
  const SequenceId id = opened(cache, Tokens{1, 2});
  const SequenceId twin = cache.fork(id);
  cache.publish_prefix(id, Tokens{1, 2});
  cache.publish_prefix(twin, Tokens{1, 3});
  EXPECT_EQ(found(cache, Tokens{1, 2, 0}), 2);
  EXPECT_EQ(found(cache, Tokens{1, 3, 0}), 0);
  EXPECT_EQ(cache.first_fault(), std::nullopt);
}

TEST(PagedCachePrefix, PublishesCommittedTokensOnly) {
  PagedCache cache(pages_of(2, 8));
  const SequenceId id = opened(cache, std::span(kTen).first(3));
  ASSERT_TRUE(cache.reserve(id, 1));
  cache.write(id, 3, serial_cells(kTen)[3]);
  EXPECT_THROW(cache.publish_prefix(id, std::span(kTen).first(4)), BrokenInvariant);
  cache.publish_prefix(id, std::span(kTen).first(3));
  cache.roll_back(id);
  EXPECT_EQ(found(cache, kTen), 2);
}

TEST(PagedCachePrefix, KeepsReleasedPagesUntilTheyAreNeededLeastRecentlyUsedFirst) {
  PagedCache cache(pages_of(2, 6));
  const SequenceId first = published(cache, Tokens{1, 1, 1, 1});
  const SequenceId second = published(cache, Tokens{2, 2, 2, 2});
  cache.release(first);
  cache.release(second);
  EXPECT_EQ(cache.counts(), (PageCounts{2, 0, 4, 6}));
  EXPECT_EQ(found(cache, Tokens{1, 1, 1, 1, 0}), 4);  // used again: now the younger one
  // Three pages: two free ones, and the end of the chain of 2s.
  const SequenceId third = opened(cache, Tokens(6, 3));
  EXPECT_EQ(found(cache, Tokens{2, 2, 2, 2, 0}), 2);
  EXPECT_EQ(found(cache, Tokens{1, 1, 1, 1, 0}), 4);
  EXPECT_EQ(cache.counts(), (PageCounts{0, 3, 3, 6}));
  EXPECT_EQ(cache.evict(0), 0);
  EXPECT_EQ(cache.evict(1), 1);
  EXPECT_EQ(found(cache, Tokens{2, 2, 2, 2, 0}), 0);
  EXPECT_EQ(cache.evict(9), 2);
  EXPECT_EQ(found(cache, Tokens{1, 1, 1, 1, 0}), 0);
  EXPECT_EQ(cache.counts(), (PageCounts{3, 3, 0, 6}));
  EXPECT_THROW(cache.evict(-1), BrokenInvariant);
  cache.release(third);
  EXPECT_EQ(cache.first_fault(), std::nullopt);
}

TEST(PagedCachePrefix, LeavesTheSecondOfTwoEqualPagesUnpublished) {
  PagedCache cache(pages_of(2, 6));
  const SequenceId first = published(cache, Tokens{1, 2, 3, 4});
  const SequenceId second = published(cache, Tokens{1, 2, 3, 4});
  cache.release(second);
  EXPECT_EQ(cache.counts(), (PageCounts{4, 2, 0, 6}));
  cache.release(first);
  EXPECT_EQ(cache.counts(), (PageCounts{4, 0, 2, 6}));
}

TEST(PagedCachePrefix, TakesAPageOutOfTheIndexBeforeItsOnlyHolderWrites) {
  PagedCache cache(pages_of(4, 4));
  const SequenceId id = published(cache, std::span(kTen).first(8));
  EXPECT_TRUE(cache.trim(id, 6));
  EXPECT_EQ(found(cache, kTen), 8);  // trimmed, and still what it was published for
  EXPECT_EQ(cache.first_fault(), std::nullopt);
  ASSERT_TRUE(cache.reserve(id, 1));
  EXPECT_FALSE(cache.read(id, 6).is_written());
  EXPECT_EQ(cache.first_fault(), std::nullopt);
  cache.write(id, 6, cell_behind(serial_cells(std::span(kTen).first(6)), 77));
  cache.commit(id, std::vector<int>{0});
  EXPECT_EQ(found(cache, kTen), 4);
  EXPECT_EQ(cache.read(id, 5).token, kTen[5]);
}

TEST(PagedCachePrefix, CopiesASharedPublishedPageAndKeepsItFindable) {
  PagedCache cache(pages_of(4, 4));
  const SequenceId id = published(cache, std::span(kTen).first(8));
  const SequenceId other = cache.open();
  ASSERT_EQ(cache.attach_prefix(other, kTen), 8);
  EXPECT_TRUE(cache.trim(other, 5));
  EXPECT_EQ(cache.pages_to_reserve(other, 1), 1);
  ASSERT_TRUE(append(cache, other, std::vector<Cell>{Cell{77, 5, 1}}));
  EXPECT_EQ(cache.read(id, 5).token, kTen[5]);
  EXPECT_EQ(found(cache, kTen), 8);
  EXPECT_EQ(cache.first_fault(), std::nullopt);
}

TEST(PagedCachePrefix, SharesOnlyWhatTheWindowStillSees) {
  CacheConfig config = pages_of(2, 8);
  config.window = 3;
  PagedCache cache(config);
  const SequenceId id = cache.open();
  const std::vector<Cell> cells = serial_cells(kTen, 3);
  for (std::size_t end = 2; end <= 8; end += 2) {
    ASSERT_TRUE(append(cache, id, std::span(cells).subspan(end - 2, 2)));
    cache.publish_prefix(id, std::span(kTen).first(end));
  }
  EXPECT_EQ(cache.counts(), (PageCounts{4, 2, 2, 8}));  // behind the window, and kept
  const SequenceId other = cache.open();
  EXPECT_EQ(cache.attach_prefix(other, kTen), 8);
  EXPECT_EQ(cache.counts(), (PageCounts{4, 2, 2, 8}));
  EXPECT_EQ(visible_cells(cache, other), visible_cells(cache, std::span(cells).first(8)));
  EXPECT_EQ(cache.sequence(other).pages[1], kNoPage);
  EXPECT_EQ(cache.first_fault(), std::nullopt);
  // Pages behind the window that a hit went over count as used: younger ones are evicted first.
  cache.release(published(cache, Tokens{9, 9}));
  cache.release(other);
  EXPECT_EQ(found(cache, kTen), 8);
  EXPECT_EQ(cache.evict(1), 1);
  EXPECT_EQ(found(cache, Tokens{9, 9, 9}), 0);
  EXPECT_EQ(found(cache, kTen), 8);
}

TEST(PagedCachePrefix, PublishesRestoredPagesOnlyWhenAskedAgain) {
  PagedCache cache(pages_of(2, 8));
  const SequenceId id = published(cache, std::span(kTen).first(4));
  cache.offload(id);
  EXPECT_EQ(cache.counts().cached, 2);
  EXPECT_EQ(cache.evict(2), 2);
  ASSERT_TRUE(cache.restore(id));
  EXPECT_EQ(found(cache, kTen), 0);
  cache.publish_prefix(id, std::span(kTen).first(4));
  EXPECT_EQ(found(cache, kTen), 4);
  EXPECT_EQ(cache.first_fault(), std::nullopt);
}

TEST(PagedCachePrefix, KeepsNothingWhenToldNotTo) {
  CacheConfig config = pages_of(2, 8);
  config.keeps_prefixes = false;
  PagedCache cache(config);
  const SequenceId id = published(cache, std::span(kTen).first(4));
  EXPECT_EQ(found(cache, kTen), 0);
  cache.release(id);
  EXPECT_EQ(cache.counts(), (PageCounts{8, 0, 0, 8}));
}

TEST(PagedCachePrefix, LetsAnEnginePolluteTheIndexAndTheRecountTells) {
  for (const bool is_quantised : {false, true}) {
    CacheConfig config = pages_of(2, 8);
    config.is_quantised = is_quantised;
    PagedCache cache(config);
    const SequenceId id = opened(cache, Tokens{1, 2, 3, 4});
    cache.publish_prefix(id, Tokens{1, 2, 3, 5});  // the token that was rejected
    const SequenceId victim = cache.open();
    EXPECT_EQ(cache.attach_prefix(victim, Tokens{1, 2, 3, 5, 6}), 4);
    EXPECT_EQ(cache.read(victim, 3).token, 4);
    EXPECT_THAT(cache.first_fault(),
                Optional(HasSubstr("published with token 5 in slot 1 and holds token 4")));
  }
}

TEST(PagedCachePrefix, TellsAPublishedPageOfAnotherPositionOrHistory) {
  const auto fault_of = [](const Cell& second) {
    PagedCache cache(pages_of(2, 8));
    const SequenceId id = cache.open();
    append(cache, id, std::vector<Cell>{cell_behind({}, 1), second});
    cache.publish_prefix(id, Tokens{1, 2});
    return cache.first_fault();
  };
  Cell right = cell_behind(serial_cells(Tokens{1}), 2);
  EXPECT_EQ(fault_of(right), std::nullopt);
  Cell other = right;
  other.history ^= 1;
  EXPECT_THAT(fault_of(other), Optional(HasSubstr("has seen another history")));
  other = right;
  other.position = 2;
  EXPECT_TRUE(fault_of(other).has_value());
  EXPECT_THAT(fault_of(Cell{}), Optional(HasSubstr("holds token -2")));  // never written
}

}  // namespace
}  // namespace draftproof::reference::kv
