// A world of one paged cache and its naive model, and histories of operations on both: what the
// property tests draw, and what faulty caches must not survive. In the model a sequence is a plain
// vector of cells; pages do not exist.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <ostream>
#include <string>
#include <vector>

#include "reference/error.h"
#include "tests/reference/cache_cells.h"

namespace draftproof::reference::kv {

enum class CacheOperation {
  kOpen,
  kFeed,  ///< reserve and commit
  kReserve,
  kCommit,
  kPublish,
  kFork,
  kTrim,
  kRelease,
  kOffload,
  kRestore,
  kEvict,
};

/// One operation. Every sequence of steps is a history: numbers are taken modulo what there is, so
/// that a history stays one when steps are left out or numbers made smaller.
struct CacheStep {
  CacheOperation operation = CacheOperation::kOpen;
  int who = 0;             ///< which of the open sequences
  int count = 0;           ///< tokens, slots or pages
  std::uint32_t bits = 0;  ///< tokens of {0, 1}, and what is kept
};

inline std::ostream& operator<<(std::ostream& out, const CacheStep& step) {
  static constexpr const char* kNames[] = {"open",    "feed",    "reserve", "commit",
                                           "publish", "fork",    "trim",    "release",
                                           "offload", "restore", "evict"};
  return out << kNames[static_cast<int>(step.operation)] << "(" << step.who << ", " << step.count
             << ", " << step.bits << ")";
}

using CacheHistory = std::vector<CacheStep>;

class CacheWorld {
 public:
  /// How often each thing happened: a property that never sees a hit shows nothing about hits.
  struct Seen {
    std::int64_t steps = 0, hits = 0, refused_reserves = 0, refused_trims = 0, refused_calls = 0;
    std::int64_t moved_cells = 0, cached_pages = 0, offloads = 0, copies = 0, evictions = 0;
  };

  explicit CacheWorld(std::unique_ptr<PagedCache> cache) : cache_(std::move(cache)) {}
  CacheWorld(const CacheWorld& other)
      : cache_(other.cache_->clone()), model_(other.model_), texts_(other.texts_) {}

  const PagedCache& cache() const { return *cache_; }
  const Seen& seen() const { return seen_; }

  /// The first difference between cache and model, if any.
  std::optional<std::string> run(const CacheStep& step) {
    ++seen_.steps;
    try {
      if (auto difference = apply(step)) return difference;
      return difference_now();
    } catch (const BrokenInvariant& broken) {
      return std::string("throws ") + broken.what();
    }
  }

  /// Releases everything: all pages are free again.
  std::optional<std::string> finish() {
    try {
      for (const Modelled& sequence : model_) cache_->release(sequence.id);
      model_.clear();
      cache_->evict(cache_->config().page_count);
      if (auto difference = difference_now()) return difference;
    } catch (const BrokenInvariant& broken) {
      return std::string("throws ") + broken.what();
    }
    const PageCounts counts = cache_->counts();
    if (counts.free != counts.total)
      return std::to_string(counts.total - counts.free) + " pages are lost at the end";
    return std::nullopt;
  }

 private:
  struct Modelled {
    SequenceId id = 0;
    std::vector<Cell> committed;
    std::vector<Cell> reserved;
    bool is_offloaded = false;
  };
  using Difference = std::optional<std::string>;

  Difference apply(const CacheStep& step) {
    if (step.operation == CacheOperation::kOpen) return open(step);
    if (step.operation == CacheOperation::kEvict) return evict(step.count);
    if (model_.empty()) return std::nullopt;
    Modelled& sequence = model_[static_cast<std::size_t>(step.who) % model_.size()];
    const bool is_settled = !sequence.is_offloaded && sequence.reserved.empty();
    const SequenceId id = sequence.id;
    switch (step.operation) {
      case CacheOperation::kFeed:
        if (!is_settled) return std::nullopt;
        if (auto difference = reserve(sequence, step)) return difference;
        return commit(sequence, step.bits);
      case CacheOperation::kReserve:
        if (!is_settled) return refused([&] { cache_->reserve(id, 1); });
        return reserve(sequence, step);
      case CacheOperation::kCommit:
        if (sequence.is_offloaded) return refused([&] { cache_->commit(id, {}); });
        return commit(sequence, step.bits);
      case CacheOperation::kPublish:
        if (sequence.is_offloaded) return refused([&] { cache_->publish_prefix(id, {}); });
        return publish(sequence, step.count);
      case CacheOperation::kFork:
        if (!is_settled) return refused([&] { cache_->fork(id); });
        return fork(sequence);
      case CacheOperation::kTrim:
        if (!is_settled) return refused([&] { cache_->trim(id, 0); });
        return trim(sequence, step.count);
      case CacheOperation::kRelease:
        cache_->release(id);
        model_.erase(model_.begin() + (&sequence - model_.data()));
        return std::nullopt;
      case CacheOperation::kOffload:
        if (!is_settled) return refused([&] { cache_->offload(id); });
        cache_->offload(id);
        sequence.is_offloaded = true;
        ++seen_.offloads;
        return std::nullopt;
      default:
        if (!sequence.is_offloaded) return refused([&] { cache_->restore(id); });
        return restore(sequence);
    }
  }

  Difference refused(const std::function<void()>& operation) {
    ++seen_.refused_calls;
    const std::uint64_t before = cache_->state_hash();
    try {
      operation();
    } catch (const BrokenInvariant&) {
      if (cache_->state_hash() != before) return "a refused operation changed something";
      return std::nullopt;
    }
    return "an operation without its precondition is not refused";
  }

  /// Opens a sequence for tokens that begin like those of one that is open or was published, and
  /// are drawn from there on.
  Difference open(const CacheStep& step) {
    std::vector<Token> tokens;
    const std::size_t choice = static_cast<std::size_t>(step.who) % (model_.size() + 4);
    if (choice < model_.size())
      tokens = tokens_of(model_[choice].committed);
    else if (choice - model_.size() < texts_.size())
      tokens = texts_[texts_.size() - 1 - (choice - model_.size())];
    for (int i = 0; i < step.count; ++i) tokens.push_back(static_cast<Token>(step.bits >> i & 1));
    if (model_.size() >= 6) return std::nullopt;
    const SequenceId id = cache_->open();
    const int found = cache_->attach_prefix(id, tokens);
    if (found % cache_->config().page_size != 0 ||
        found > std::max(0, static_cast<int>(tokens.size()) - 1))
      return "found " + std::to_string(found) + " of " + std::to_string(tokens.size());
    seen_.hits += found > 0;
    tokens.resize(static_cast<std::size_t>(found));
    model_.push_back({id, serial_cells(tokens, cache_->config().window), {}, false});
    return std::nullopt;
  }

  Difference reserve(Modelled& sequence, const CacheStep& step) {
    const PageCounts before = cache_->counts();
    const std::uint64_t hash = cache_->state_hash();
    const int page_size = cache_->config().page_size;
    const int length = static_cast<int>(sequence.committed.size());
    int needed = 0;  // pages that begin inside the slots asked for, and the copy of a shared one
    for (int slot = length; slot < length + step.count; ++slot) needed += slot % page_size == 0;
    const bool is_shared = step.count > 0 && length % page_size != 0 &&
                           cache_->holder_count(cache_->address(sequence.id, length - 1).page) > 1;
    needed += is_shared;
    if (cache_->pages_to_reserve(sequence.id, step.count) != needed)
      return "counts other pages than " + std::to_string(needed) + " for a reservation";
    const bool is_given = cache_->reserve(sequence.id, step.count);
    if (is_given != (needed <= before.free + before.cached))
      return std::string(is_given ? "gives" : "refuses") + " pages wrongly";
    if (!is_given) {
      ++seen_.refused_reserves;
      if (cache_->state_hash() != hash) return "a refused reservation changed something";
      return std::nullopt;
    }
    seen_.copies += is_shared;
    seen_.evictions += before.cached - cache_->counts().cached;
    for (int i = 0; i < step.count; ++i) {
      if (cache_->read(sequence.id, length + i).is_written())
        return "slot " + std::to_string(length + i) + " is handed out with a cell in it";
    }
    sequence.reserved.resize(static_cast<std::size_t>(step.count));
    return std::nullopt;
  }

  /// Writes the reservation as a verification does, kept rows behind each other and rejected ones
  /// with whatever they saw or not at all, and ends it.
  Difference commit(Modelled& sequence, std::uint32_t bits) {
    const int length = static_cast<int>(sequence.committed.size());
    const int count = static_cast<int>(sequence.reserved.size());
    std::vector<int> kept;
    for (int i = 0; i < count; ++i, bits = bits >> 2 | bits << 30) {
      const auto token = static_cast<Token>(bits & 1);
      Cell cell = cell_behind(sequence.committed, token, cache_->config().window);
      if ((bits & 6) != 0) {
        kept.push_back(i);
        sequence.committed.push_back(cell);
      } else if ((bits & 8) != 0) {
        continue;
      } else {
        cell.history = ~cell.history * 3;
      }
      cache_->write(sequence.id, length + i, cell);
      if (cache_->read(sequence.id, length + i) != cache_->as_read(cell))
        return "slot " + std::to_string(length + i) + " is not what was written to it";
    }
    sequence.reserved.clear();
    const std::int64_t moved = cache_->moved_cell_count();
    cache_->commit(sequence.id, kept);
    seen_.moved_cells += cache_->moved_cell_count() - moved;
    return std::nullopt;
  }

  Difference publish(const Modelled& sequence, int missing) {
    std::vector<Token> tokens = tokens_of(sequence.committed);
    tokens.resize(tokens.size() - std::min(tokens.size(), static_cast<std::size_t>(missing / 2)));
    cache_->publish_prefix(sequence.id, tokens);
    texts_.push_back(std::move(tokens));
    return std::nullopt;
  }

  Difference fork(const Modelled& sequence) {
    if (model_.size() >= 6) return std::nullopt;
    Modelled copy = sequence;
    copy.id = cache_->fork(sequence.id);
    model_.push_back(std::move(copy));
    return std::nullopt;
  }

  Difference trim(Modelled& sequence, int count) {
    const int length = static_cast<int>(sequence.committed.size());
    const int kept = std::max(0, length - count);
    const CacheConfig& config = cache_->config();
    // What a window has given back: whole pages among the slots in front of it.
    const int gone = config.window == 0 ? 0
                                        : std::max(0, length - config.window) / config.page_size *
                                              config.page_size;
    const int first_seen = config.window == 0 ? 0 : std::max(0, kept - config.window);
    const bool can = kept == length || (config.is_trimmable && (kept == 0 || gone <= first_seen));
    if (cache_->trim(sequence.id, kept) != can) return "trims what it cannot, or not what it can";
    if (can)
      sequence.committed.resize(static_cast<std::size_t>(kept));
    else
      ++seen_.refused_trims;
    return std::nullopt;
  }

  Difference restore(Modelled& sequence) {
    const std::uint64_t hash = cache_->state_hash();
    const PageCounts before = cache_->counts();
    const int needed = cache_->pages_to_reserve(sequence.id, 0);
    if (cache_->restore(sequence.id) != (needed <= before.free + before.cached))
      return "restores what it cannot, or not what it can";
    if (needed > before.free + before.cached) {
      if (cache_->state_hash() != hash) return "a refused restoration changed something";
      return std::nullopt;
    }
    sequence.is_offloaded = false;
    return std::nullopt;
  }

  Difference evict(int count) {
    const PageCounts before = cache_->counts();
    const int evicted = cache_->evict(count);
    if (evicted != std::min(count, before.cached)) return "evicts another number of pages";
    if (cache_->counts().free != before.free + evicted) return "evicted pages are not free";
    return std::nullopt;
  }

  Difference difference_now() {
    if (auto fault = cache_->first_fault()) return fault;
    seen_.cached_pages = std::max<std::int64_t>(seen_.cached_pages, cache_->counts().cached);
    std::vector<SequenceId> ids;
    for (const Modelled& modelled : model_) {
      ids.push_back(modelled.id);
      const std::string name = "sequence " + std::to_string(modelled.id);
      const Sequence& table = cache_->sequence(modelled.id);
      if (table.length != static_cast<int>(modelled.committed.size()) ||
          table.reserved != static_cast<int>(modelled.reserved.size()) ||
          table.is_offloaded != modelled.is_offloaded)
        return name + " has another length or place";
      if (modelled.is_offloaded) continue;
      if (visible_cells(*cache_, modelled.id) != visible_cells(*cache_, modelled.committed))
        return name + " has other cells";
    }
    std::sort(ids.begin(), ids.end());
    if (ids != cache_->open_sequences()) return "other sequences are open";
    return std::nullopt;
  }

  std::unique_ptr<PagedCache> cache_;
  std::vector<Modelled> model_;
  std::vector<std::vector<Token>> texts_;  ///< that were published
  Seen seen_;
};

/// Runs a history; from the middle on a copy of the world runs along, and must end in the same
/// state. The first difference, with the step that shows it.
inline std::optional<std::string> difference_in(std::unique_ptr<PagedCache> cache,
                                                const CacheHistory& history,
                                                CacheWorld::Seen* seen = nullptr) {
  CacheWorld world(std::move(cache));
  std::optional<CacheWorld> copy;
  std::optional<std::string> difference;
  for (std::size_t i = 0; i < history.size() && !difference; ++i) {
    if (i == history.size() / 2) copy.emplace(world);
    difference = world.run(history[i]);
    if (difference) difference = "step " + std::to_string(i) + ": " + *difference;
    if (copy) copy->run(history[i]);
  }
  if (!difference && copy && copy->cache().state_hash() != world.cache().state_hash())
    difference = "a copy of the cache went another way";
  if (!difference) difference = world.finish();
  if (seen != nullptr) {
    const CacheWorld::Seen& now = world.seen();
    seen->steps += now.steps;
    seen->hits += now.hits;
    seen->refused_reserves += now.refused_reserves;
    seen->refused_trims += now.refused_trims;
    seen->refused_calls += now.refused_calls;
    seen->moved_cells += now.moved_cells;
    seen->cached_pages = std::max(seen->cached_pages, now.cached_pages);
    seen->offloads += now.offloads;
    seen->copies += now.copies;
    seen->evictions += now.evictions;
  }
  return difference;
}

}  // namespace draftproof::reference::kv
