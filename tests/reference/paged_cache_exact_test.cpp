// Page edges, all of them: page sizes 1 to 4, committed lengths from two slots before to two behind
// each of three edges, drafts of 0 to 5 rows and every subset of rows that may be kept (chains are
// the prefixes among them; vllm#53505 and sglang#31616 lived at one such edge each). Every count is
// recomputed slot by slot.
#include <gtest/gtest.h>

#include <set>

#include "tests/reference/cache_cells.h"

namespace draftproof::reference::kv {
namespace {

struct Edge {
  CacheConfig config;
  int length = 0;
  int count = 0;
  unsigned kept = 0;  ///< bit i: row i is kept
};

std::string text_of(const Edge& edge) {
  return "page size " + std::to_string(edge.config.page_size) + ", window " +
         std::to_string(edge.config.window) + ", quantised " +
         std::to_string(edge.config.is_quantised) + ", length " + std::to_string(edge.length) +
         ", " + std::to_string(edge.count) + " rows, kept " + std::to_string(edge.kept);
}

std::vector<Cell> stem_of(int length, int window) {
  std::vector<Token> tokens;
  for (int i = 0; i < length; ++i) tokens.push_back(i * i % 7);
  return serial_cells(tokens, window);
}

/// Pages that hold one of the slots [first visible one, end), counted one slot at a time.
int pages_counted(const CacheConfig& config, int length, int end) {
  std::set<int> pages;
  const int first = config.window == 0 ? 0 : std::max(0, length - config.window);
  for (int slot = first; slot < end; ++slot) pages.insert(slot / config.page_size);
  return static_cast<int>(pages.size());
}

/// The path that a commit must leave, written row by row; answers how many cells have to move.
int write_rows(PagedCache& cache, SequenceId id, const Edge& edge, std::vector<Cell>& path,
               std::vector<int>& kept) {
  int moves = 0;
  for (int row = 0; row < edge.count; ++row) {
    Cell cell = cell_behind(path, 20 + row, edge.config.window);
    if ((edge.kept >> row & 1) != 0) {
      moves += row != static_cast<int>(kept.size());
      kept.push_back(row);
      path.push_back(cell);
    } else {
      cell.token = 50 + row;
      cell.history ^= 0x5555;
    }
    cache.write(id, edge.length + row, cell);
  }
  return moves;
}

void check(const Edge& edge) {
  SCOPED_TRACE(text_of(edge));
  const CacheConfig& config = edge.config;
  PagedCache cache(config);
  const SequenceId id = cache.open();
  std::vector<Cell> path = stem_of(edge.length, config.window);
  ASSERT_TRUE(append(cache, id, path));
  ASSERT_EQ(cache.counts().live, pages_counted(config, edge.length, edge.length));

  ASSERT_TRUE(cache.reserve(id, edge.count));
  const int live = pages_counted(config, edge.length, edge.length + edge.count);
  ASSERT_EQ(cache.counts().live, live);
  std::vector<int> kept;
  const int moves = write_rows(cache, id, edge, path, kept);
  cache.commit(id, kept);

  const int length = static_cast<int>(path.size());
  ASSERT_EQ(cache.sequence(id).length, length);
  ASSERT_EQ(visible_cells(cache, id), visible_cells(cache, path));
  ASSERT_EQ(cache.moved_cell_count(), moves);
  const int left = pages_counted(config, length, length);
  ASSERT_EQ(cache.counts(), (PageCounts{config.page_count - left, left, 0, config.page_count}));
  ASSERT_EQ(cache.first_fault(), std::nullopt);

  // The sequence goes on as if nothing had been drafted: it equals a serial one, and one more step.
  PagedCache serial(config);
  const SequenceId twin = serial.open();
  for (const Cell& cell : path) ASSERT_TRUE(append(serial, twin, std::span(&cell, 1)));
  ASSERT_EQ(cache.state_hash(), serial.state_hash());
  const std::vector<Cell> next = {cell_behind(path, 9, config.window)};
  ASSERT_TRUE(append(cache, id, next));
  ASSERT_TRUE(append(serial, twin, next));
  ASSERT_EQ(cache.state_hash(), serial.state_hash());
  cache.release(id);
  ASSERT_EQ(cache.counts().free, config.page_count);
}

std::set<int> lengths_at_edges(int page_size) {
  std::set<int> lengths;
  for (int edge = 1; edge <= 3; ++edge)
    for (int away = -2; away <= 2; ++away) lengths.insert(std::max(0, edge * page_size + away));
  return lengths;
}

TEST(PagedCacheEdges, EverySubsetOfEveryDraftLeavesWhatASerialDecoderLeaves) {
  int cases = 0;
  for (int page_size = 1; page_size <= 4; ++page_size)
    for (const int window : {0, 1, 3, 5})
      for (const bool is_quantised : {false, true})
        for (const int length : lengths_at_edges(page_size))
          for (int count = 0; count <= 5; ++count)
            for (unsigned kept = 0; kept < 1u << count; ++kept) {
              CacheConfig config;
              config.page_size = page_size;
              config.page_count = 24;
              config.window = window;
              config.is_quantised = is_quantised;
              ASSERT_NO_FATAL_FAILURE(check({config, length, count, kept}));
              if (HasFailure()) return;
              ++cases;
            }
  // 6, 9, 11 and 13 lengths at page sizes 1 to 4; 63 subsets; 4 windows; 2 kinds of page.
  EXPECT_EQ(cases, (6 + 9 + 11 + 13) * 63 * 8);
}

/// Keeping is off by one page at exact edges only: what the sweep is there for.
class ForgetsAtAnEdge final : public PagedCache {
 public:
  using PagedCache::PagedCache;

 protected:
  int pages_for(int length) const override { return length / config_.page_size + 1; }
};

TEST(PagedCacheEdges, AFaultAtExactEdgesIsSeenThereAndNowhereElse) {
  CacheConfig config;
  config.page_size = 4;
  for (int length = 1; length <= 13; ++length)
    for (int count = 1; count <= 5; ++count)
      for (int accepted = 0; accepted <= count; ++accepted) {
        ForgetsAtAnEdge cache(config);
        const SequenceId id = cache.open();
        append(cache, id, stem_of(length, 0));
        ASSERT_TRUE(cache.reserve(id, count));
        cache.commit(id, first_offsets(accepted));
        const int end = length + accepted;
        // A page behind the edge was there to be forgotten only if a rejected row was in it.
        EXPECT_EQ(cache.first_fault().has_value(), end % 4 == 0 && accepted < count)
            << length << " " << count << " " << accepted;
      }
}

}  // namespace
}  // namespace draftproof::reference::kv
