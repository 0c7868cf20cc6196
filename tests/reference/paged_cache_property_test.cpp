// Random histories of every operation of the paged cache against a naive model, over page sizes,
// windows, quantisation and pools so small that reservations fail; and faulty caches, which must
// not survive them. Histories are drawn and shrunk by RapidCheck from seeds, never from a clock.
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <sstream>

#include "tests/reference/cache_world.h"

namespace draftproof::reference::kv {
namespace {

rc::Gen<CacheHistory> histories() {
  using Operation = CacheOperation;
  const auto operations = rc::gen::weightedElement<Operation>({{4, Operation::kOpen},
                                                               {14, Operation::kFeed},
                                                               {2, Operation::kReserve},
                                                               {3, Operation::kCommit},
                                                               {6, Operation::kPublish},
                                                               {2, Operation::kFork},
                                                               {2, Operation::kTrim},
                                                               {2, Operation::kRelease},
                                                               {1, Operation::kOffload},
                                                               {2, Operation::kRestore},
                                                               {1, Operation::kEvict}});
  const auto step = rc::gen::build<CacheStep>(
      rc::gen::set(&CacheStep::operation, operations),
      rc::gen::set(&CacheStep::who, rc::gen::inRange(0, 10)),
      rc::gen::set(&CacheStep::count, rc::gen::inRange(0, 7)),
      rc::gen::set(&CacheStep::bits, rc::gen::inRange<std::uint32_t>(0, 1u << 16)));
  return rc::gen::container<CacheHistory>(step);
}

using MakeCache = std::function<std::unique_ptr<PagedCache>(const CacheConfig&)>;

std::unique_ptr<PagedCache> correct(const CacheConfig& config) {
  return std::make_unique<PagedCache>(config);
}

struct Failure {
  CacheHistory history;  ///< the least one that RapidCheck's shrinking reaches
  std::string difference;
};

std::string text_of(const Failure& failure) {
  std::ostringstream text;
  for (const CacheStep& step : failure.history) text << step << " ";
  text << failure.difference;
  return text.str();
}

/// Draws `tries` histories of up to `size` steps.
std::optional<Failure> search(const MakeCache& make, const CacheConfig& config, int tries, int size,
                              CacheWorld::Seen* seen = nullptr) {
  for (int seed = 0; seed < tries; ++seed) {
    const int kind = config.page_size * 10 + config.window * 2 + config.is_quantised;
    const rc::Random random(static_cast<std::uint64_t>(kind * 1000 + seed));
    rc::Shrinkable<CacheHistory> current = histories()(random, size);
    auto difference = difference_in(make(config), current.value(), seen);
    if (!difference) continue;
    for (bool is_least = false; !is_least;) {
      is_least = true;
      auto simpler = current.shrinks();
      while (auto candidate = simpler.next()) {
        const auto still = difference_in(make(config), candidate->value());
        if (!still) continue;
        difference = still;
        current = *candidate;
        is_least = false;
        break;
      }
    }
    return Failure{current.value(), *difference};
  }
  return std::nullopt;
}

std::vector<CacheConfig> configs() {
  std::vector<CacheConfig> all;
  for (const int page_size : {1, 2, 3, 4, 16})
    for (const int window : {0, 3, 4})
      for (const bool is_quantised : {false, true}) {
        CacheConfig config;
        config.page_size = page_size;
        config.page_count = 2 + 16 / page_size;  // two sequences of a dozen tokens fill it
        config.window = window;
        config.is_quantised = is_quantised;
        config.is_trimmable = page_size != 3;
        all.push_back(config);
      }
  return all;
}

TEST(PagedCacheProperty, EqualsTheNaiveModelAfterEveryOperation) {
  CacheWorld::Seen seen;
  for (const CacheConfig& config : configs()) {
    const auto failure = search(correct, config, 40, 120, &seen);
    ASSERT_FALSE(failure.has_value())
        << "page size " << config.page_size << ", window " << config.window << ", quantised "
        << config.is_quantised << ": " << text_of(*failure);
  }
  // Everything that is claimed has happened, and often.
  const auto happened = [&](const char* what, std::int64_t count, std::int64_t least) {
    RecordProperty(what, std::to_string(count));
    EXPECT_GE(count, least) << what;
  };
  happened("steps", seen.steps, 50000);
  happened("prefix_hits", seen.hits, 500);
  happened("refused_reserves", seen.refused_reserves, 500);
  happened("refused_trims", seen.refused_trims, 200);
  happened("refused_calls", seen.refused_calls, 2000);
  happened("moved_cells", seen.moved_cells, 2000);
  happened("cached_pages_max", seen.cached_pages, 8);
  happened("offloads", seen.offloads, 500);
  happened("copies", seen.copies, 200);
  happened("evictions", seen.evictions, 200);
}

// Caches with one fault each.

template <class Faulty>
std::unique_ptr<PagedCache> faulty(const CacheConfig& config) {
  return std::make_unique<Faulty>(config);
}

template <class Faulty>
class Copied : public PagedCache {
 public:
  using PagedCache::PagedCache;
  std::unique_ptr<PagedCache> clone() const override {
    return std::make_unique<Faulty>(static_cast<const Faulty&>(*this));
  }
};

/// The tail of a reservation stays in the table (sglang#31616).
struct StrandsATailPage : Copied<StrandsATailPage> {
  using Copied::Copied;
  int pages_for(int length) const override { return PagedCache::pages_for(length) + 1; }
};
struct DropsThePartialPage : Copied<DropsThePartialPage> {
  using Copied::Copied;
  int pages_for(int length) const override { return length / config_.page_size; }
};
/// A page too many leaves in front of a window, or one too few.
struct SlidesTooFar : Copied<SlidesTooFar> {
  using Copied::Copied;
  int first_page_for(int length) const override { return PagedCache::first_page_for(length) + 1; }
};
/// The window grows without bound while more than one token arrives (mlx-lm#1914).
struct NeverSlides : Copied<NeverSlides> {
  using Copied::Copied;
  int first_page_for(int) const override { return 0; }
};
/// Bytes of a quantised page moved as they are.
struct MovesRawCells : Copied<MovesRawCells> {
  using Copied::Copied;
  void move_cell(const SlotAddress& from, const SlotAddress& to) override {
    stored(to) = stored(from);
  }
};
struct FreesWithoutPoison : Copied<FreesWithoutPoison> {
  using Copied::Copied;
  void let_go(PageId page) override {
    if (pages_[static_cast<std::size_t>(page)].key != 0)
      add_to_cached(page);
    else
      free_.push_back(page);
  }
};
struct FreesTwice : Copied<FreesTwice> {
  using Copied::Copied;
  void let_go(PageId page) override {
    PagedCache::let_go(page);
    PagedCache::let_go(page);
  }
};
/// Pages of a finished request are lost (sglang#13826).
struct LosesPages : Copied<LosesPages> {
  using Copied::Copied;
  void let_go(PageId) override {}
};
/// A page is handed out again while the index still leads to it.
struct FreesPublishedPages : Copied<FreesPublishedPages> {
  using Copied::Copied;
  void let_go(PageId page) override {
    poison(page, 0, config_.page_size);
    free_.push_back(page);
  }
};
/// The first rows are kept instead of the accepted ones.
struct KeepsTheFirstRows : Copied<KeepsTheFirstRows> {
  using Copied::Copied;
  void commit(SequenceId id, std::span<const int> kept) override {
    PagedCache::commit(id, first_offsets(static_cast<int>(kept.size())));
  }
};
/// A cache that cannot be trimmed says that it was (mlx-lm#1109).
struct TrimsNothing : Copied<TrimsNothing> {
  using Copied::Copied;
  bool trim(SequenceId id, int length) override {
    const Sequence& table = sequence(id);
    if (table.reserved > 0 || table.is_offloaded) return PagedCache::trim(id, length);
    return true;
  }
};

struct FaultyCache {
  const char* name;
  MakeCache make;
  std::size_t steps_max;  ///< of the least history
  std::string_view difference;
};

TEST(PagedCacheProperty, NoFaultyCacheSurvivesAndItsLeastHistoryIsShort) {
  const std::vector<FaultyCache> caches = {
      {"strands a tail page", faulty<StrandsATailPage>, 3, "pages for"},
      {"drops the partial page", faulty<DropsThePartialPage>, 3, "pages for"},
      {"slides too far", faulty<SlidesTooFar>, 3, "have visible slots"},
      {"never slides", faulty<NeverSlides>, 4, "have visible slots"},
      {"moves raw cells", faulty<MovesRawCells>, 3, "other cells"},
      {"frees without poison", faulty<FreesWithoutPoison>, 3, "nobody has it"},
      {"frees twice", faulty<FreesTwice>, 3, "is free twice"},
      {"loses pages", faulty<LosesPages>, 3, "is not the total"},
      {"frees published pages", faulty<FreesPublishedPages>, 5, "kept for its contents"},
      {"keeps the first rows", faulty<KeepsTheFirstRows>, 3, "other cells"},
      {"trims nothing", faulty<TrimsNothing>, 3, "another length"},
  };
  CacheConfig config;
  config.page_size = 2;
  config.page_count = 12;
  config.is_quantised = true;
  for (const FaultyCache& cache : caches) {
    config.window = std::string_view(cache.name).find("slides") != std::string_view::npos ? 3 : 0;
    const auto failure = search(cache.make, config, 200, 60);
    ASSERT_TRUE(failure.has_value()) << cache.name;
    EXPECT_LE(failure->history.size(), cache.steps_max) << cache.name << ": " << text_of(*failure);
    EXPECT_NE(failure->difference.find(cache.difference), std::string::npos)
        << cache.name << ": " << text_of(*failure);
    RecordProperty(cache.name, text_of(*failure));
  }
}

TEST(PagedCacheProperty, RawMovesAreSeenOnlyWherePagesHaveScales) {
  CacheConfig config;
  config.page_size = 2;
  config.page_count = 12;
  EXPECT_FALSE(search(faulty<MovesRawCells>, config, 100, 60).has_value());
}

}  // namespace
}  // namespace draftproof::reference::kv
