// What the paged cache of the reference costs: one step of a speculative decoder (reserve, write,
// commit), a read, a prefix hit, and what explorers do to it (copy, recount, hash). One thread;
// soaks of engines run ten million tokens through these, so tens of nanoseconds a cell matter.
#include <benchmark/benchmark.h>

#include <vector>

#include "reference/kv/paged_cache.h"

namespace {

using draftproof::reference::Token;
using draftproof::reference::kv::CacheConfig;
using draftproof::reference::kv::Cell;
using draftproof::reference::kv::PagedCache;
using draftproof::reference::kv::SequenceId;

constexpr int kRows = 5;  // a pending token and four drafted ones

CacheConfig config_of(int window, bool is_quantised) {
  CacheConfig config;
  config.page_size = 16;
  config.page_count = 4096;
  config.window = window;
  config.is_quantised = is_quantised;
  return config;
}

void fill(PagedCache& cache, SequenceId id, int count) {
  const int length = cache.sequence(id).length;
  if (!cache.reserve(id, count)) return;
  std::vector<int> kept;
  for (int i = 0; i < count; ++i) {
    cache.write(id, length + i, Cell{i, length + i, 1});
    kept.push_back(i);
  }
  cache.commit(id, kept);
}

/// Arguments: window, quantised or not, how many other sequences are open.
void step(benchmark::State& state) {
  PagedCache cache(config_of(static_cast<int>(state.range(0)), state.range(1) != 0));
  for (std::int64_t i = 0; i < state.range(2); ++i) fill(cache, cache.open(), 100);
  SequenceId id = cache.open();
  const std::vector<int> kept = {0, 1, 3};
  for (auto _ : state) {
    const int length = cache.sequence(id).length;
    if (length > 2000) {
      cache.release(id);
      id = cache.open();
      continue;
    }
    benchmark::DoNotOptimize(cache.reserve(id, kRows));
    for (int row = 0; row < kRows; ++row)
      cache.write(id, length + row, Cell{row, length + row, static_cast<std::uint64_t>(length)});
    cache.commit(id, kept);
  }
  state.SetItemsProcessed(state.iterations() * kRows);
}
BENCHMARK(step)
    ->ArgNames({"window", "quantised", "others"})
    ->Args({0, 0, 0})
    ->Args({0, 0, 100})
    ->Args({64, 0, 0})
    ->Args({0, 1, 0});

void read(benchmark::State& state) {
  PagedCache cache(config_of(0, state.range(0) != 0));
  const SequenceId id = cache.open();
  fill(cache, id, 1000);
  int slot = 0;
  for (auto _ : state) {
    benchmark::DoNotOptimize(cache.read(id, slot));
    slot = slot == 999 ? 0 : slot + 1;
  }
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK(read)->ArgName("quantised")->Arg(0)->Arg(1);

void prefix_hit(benchmark::State& state) {
  PagedCache cache(config_of(0, false));
  std::vector<Token> tokens;
  for (Token i = 0; i < 512; ++i) tokens.push_back(i);
  const SequenceId first = cache.open();
  fill(cache, first, 512);
  cache.publish_prefix(first, tokens);
  cache.release(first);
  for (auto _ : state) {
    const SequenceId id = cache.open();
    benchmark::DoNotOptimize(cache.attach_prefix(id, tokens));
    cache.release(id);
  }
  state.SetItemsProcessed(state.iterations() * 512);
}
BENCHMARK(prefix_hit);

/// A small world, as explorers have: what one state costs.
void explored_state(benchmark::State& state) {
  CacheConfig config;
  config.page_count = 16;
  PagedCache cache(config);
  for (int i = 0; i < 3; ++i) fill(cache, cache.open(), 9);
  for (auto _ : state) {
    const auto copy = cache.clone();
    benchmark::DoNotOptimize(copy->first_fault());
    benchmark::DoNotOptimize(copy->state_hash());
  }
}
BENCHMARK(explored_state);

}  // namespace

BENCHMARK_MAIN();
