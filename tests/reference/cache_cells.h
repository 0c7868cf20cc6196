// Cells of a serial decoder, and caches filled with them: what tests of caches compare with.
#pragma once

#include <algorithm>
#include <numeric>
#include <span>
#include <vector>

#include "reference/kv/paged_cache.h"

namespace draftproof::reference::kv {

/// The cell of `token` behind `path` where the last `window` tokens, itself included, are seen.
inline Cell cell_behind(std::span<const Cell> path, Token token, int window = 0) {
  const auto position = static_cast<std::int32_t>(path.size());
  std::size_t first = 0;
  if (window > 0 && path.size() >= static_cast<std::size_t>(window))
    first = path.size() - static_cast<std::size_t>(window) + 1;
  std::uint64_t history = kEmptyHistory;
  for (const Cell& cell : path.subspan(first))
    history = history_behind(history, cell.token, cell.position);
  return {token, position, history_behind(history, token, position)};
}

inline std::vector<Cell> serial_cells(std::span<const Token> tokens, int window = 0) {
  std::vector<Cell> cells;
  for (const Token token : tokens) cells.push_back(cell_behind(cells, token, window));
  return cells;
}

inline std::vector<Token> tokens_of(std::span<const Cell> cells) {
  std::vector<Token> tokens;
  for (const Cell& cell : cells) tokens.push_back(cell.token);
  return tokens;
}

inline std::vector<int> first_offsets(int count) {
  std::vector<int> offsets(static_cast<std::size_t>(count));
  std::iota(offsets.begin(), offsets.end(), 0);
  return offsets;
}

/// Reserves, writes and commits `cells` behind what is there. False when pages do not suffice.
inline bool append(PagedCache& cache, SequenceId id, std::span<const Cell> cells) {
  const int count = static_cast<int>(cells.size());
  const int length = cache.sequence(id).length;
  if (!cache.reserve(id, count)) return false;
  for (int i = 0; i < count; ++i) cache.write(id, length + i, cells[static_cast<std::size_t>(i)]);
  cache.commit(id, first_offsets(count));
  return true;
}

/// A sequence of `tokens`, fed at once.
inline SequenceId opened(PagedCache& cache, std::span<const Token> tokens) {
  const SequenceId id = cache.open();
  append(cache, id, serial_cells(tokens, cache.config().window));
  return id;
}

/// The visible cells of a sequence, from the last `window` slots.
inline std::vector<Cell> visible_cells(const PagedCache& cache, SequenceId id) {
  const Sequence& table = cache.sequence(id);
  const int window = cache.config().window;
  std::vector<Cell> cells;
  for (int slot = window == 0 ? 0 : std::max(0, table.length - window); slot < table.length; ++slot)
    cells.push_back(cache.read(id, slot));
  return cells;
}

/// The same of a serial decoder's cells.
inline std::vector<Cell> visible_cells(const PagedCache& cache, std::span<const Cell> cells) {
  const auto window = static_cast<std::size_t>(cache.config().window);
  if (window > 0 && cells.size() > window) cells = cells.last(window);
  std::vector<Cell> seen;
  for (const Cell& cell : cells) seen.push_back(cache.as_read(cell));
  return seen;
}

}  // namespace draftproof::reference::kv
