// A draft cache as an engine leaves it before it asks for a draft, and what its answer is held
// against: the histories and rows of a serial model that remembers everything itself.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "reference/decode/draft_source.h"
#include "reference/verify/chain.h"

namespace draftproof::reference::decode {

/// A number that is a function of (seed, index).
inline std::uint64_t mixed(std::uint64_t seed, std::uint64_t index) {
  return kv::history_behind(seed, static_cast<Token>(index), 7);
}

inline std::vector<Token> random_tokens(std::uint64_t seed, std::size_t count, int vocab_size) {
  std::vector<Token> tokens;
  for (std::size_t i = 0; i < count; ++i)
    tokens.push_back(static_cast<Token>(mixed(seed, i) % static_cast<std::uint64_t>(vocab_size)));
  return tokens;
}

/// The same row behind everything.
class OneRow final : public LanguageModel {
 public:
  explicit OneRow(Row row) : row_(std::move(row)) {}
  int vocab_size() const override { return static_cast<int>(row_.size()); }
  void logits(const Seen&, Row& row) const override { row = row_; }

 private:
  Row row_;
};

/// One request's tokens, all fed, with `draft_count_max` slots reserved behind them.
class DraftCase {
 public:
  DraftCase(std::vector<Token> tokens, int vocab_size, int draft_count_max,
            const kv::CacheConfig& config = {}, std::uint64_t seed = 1)
      : tokens_(std::move(tokens)), coins_(seed), cache_(config), sight_(cache_, vocab_size) {
    const int length = static_cast<int>(tokens_.size());
    id_ = cache_.open();
    EXPECT_TRUE(cache_.reserve(id_, length));
    std::vector<int> kept;
    std::uint64_t history = kv::kEmptyHistory;
    for (int slot = 0; slot < length; ++slot) {
      const Token token = tokens_[static_cast<std::size_t>(slot)];
      history = cache_.as_read({token, slot, kv::history_behind(history, token, slot)}).history;
      cache_.write(id_, slot, {token, slot, history});
      kept.push_back(slot);
    }
    cache_.commit(id_, kept);
    const int first = config.window > 0 ? std::max(0, length - config.window) : 0;
    for (int slot = first; slot < length; ++slot) sight_.add(cache_.read(id_, slot), slot);
    EXPECT_TRUE(cache_.reserve(id_, draft_count_max));
    task.coin_request = 5;
    task.position = 40;
    task.iteration = 9;
    task.tokens = tokens_;
    task.draft_count_max = draft_count_max;
    task.preset = preset("default");
    task.coins = &coins_;
    task.cache = &cache_;
    task.sequence = id_;
    task.visible = &sight_;
    task.cell_position = length;
  }
  DraftCase(const DraftCase&) = delete;

  Draft draft(const DraftSource& source) { return source.draft(task, own, shared); }

  kv::PagedCache& cache() { return cache_; }
  int length() const { return static_cast<int>(tokens_.size()); }

  /// The cell in temporary slot `offset`.
  kv::Cell cell(int offset) const { return cache_.read(id_, length() + offset); }

  /// The row of a serial model that has seen the tokens and `drafted`.
  Row serial_row(const LanguageModel& model, const std::vector<Token>& drafted) const {
    std::vector<Token> seen = tokens_;
    seen.insert(seen.end(), drafted.begin(), drafted.end());
    std::size_t first = 0;
    const auto window = static_cast<std::size_t>(cache_.config().window);
    if (window > 0 && seen.size() > window) first = seen.size() - window;
    return model.row({.tokens = std::span(seen).subspan(first),
                      .first_position = static_cast<std::int32_t>(first)});
  }

  std::uint64_t coin(int depth, std::uint32_t slot) const {
    return coins_.coin({task.coin_request, task.position + static_cast<std::uint32_t>(depth - 1),
                        Purpose::kDraft, slot, task.iteration});
  }

  DraftTask task;
  law::Memory own, shared;

 private:
  std::vector<Token> tokens_;
  PhiloxCoins coins_;
  kv::PagedCache cache_;
  Sight sight_;
  kv::SequenceId id_ = 0;
};

inline int parent_of(const Proposal& proposal, int node) {
  return proposal.parents.empty() ? node - 1 : proposal.parents[static_cast<std::size_t>(node)];
}

/// Tokens from the first one down to `node`; none for -1.
inline std::vector<Token> path_of(const Proposal& proposal, int node) {
  std::vector<Token> path;
  for (; node >= 0; node = parent_of(proposal, node))
    path.push_back(proposal.tokens[static_cast<std::size_t>(node)]);
  std::reverse(path.begin(), path.end());
  return path;
}

/// What is wrong with the cells that a draft left in temporary slots: each must hold its node's
/// token, position and history, and the slots behind them nothing.
inline std::optional<std::string> wrong_cell(const DraftCase& draft_case, const Draft& draft) {
  const int fed_count = static_cast<int>(draft.fed_nodes.size());
  for (int offset = 0; offset < draft_case.task.draft_count_max; ++offset) {
    const kv::Cell cell = draft_case.cell(offset);
    if (offset >= fed_count) {
      if (cell.is_written()) return "slot " + std::to_string(offset) + " was written";
      continue;
    }
    const int node = draft.fed_nodes[static_cast<std::size_t>(offset)];
    const std::vector<Token> path = path_of(draft.proposal, node);
    std::vector<Token> tokens(draft_case.task.tokens.begin(), draft_case.task.tokens.end());
    tokens.insert(tokens.end(), path.begin(), path.end());
    const kv::Cell due{tokens.back(), static_cast<std::int32_t>(tokens.size()) - 1,
                       kv::history_of(tokens)};
    if (cell != due) return "slot " + std::to_string(offset) + " holds another cell";
  }
  return std::nullopt;
}

/// The least coin whose draw from the masses is not among the first tokens of mass `prefix`.
inline std::uint64_t breakpoint(Mass prefix, Mass total) {
  const WideMass scaled = static_cast<WideMass>(prefix) << 64;  // prefix < 2^63
  return static_cast<std::uint64_t>((scaled + total - 1) / total);
}

}  // namespace draftproof::reference::decode
