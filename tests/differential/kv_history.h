// Random histories of a batch of sequences: prompts, chains and trees of drafts with any path
// accepted, forks that share pages, ends; a target's cache, a draft's with other pages, recurrent
// states and hidden rows, all on the device and moved by kernels alone.
#pragma once

#include <algorithm>
#include <memory>

#include "tests/differential/kv_cache_steps.h"
#include "tests/differential/kv_states.h"

namespace draftproof::tests {

/// What a history is made of.
struct KvWorldLimits {
  int page_size = 4;
  int row_count = 5;
  int nodes_max = 6;
  int length_max = 60;
};

class KvWorld {
 public:
  KvWorld(KvDevice& device, std::uint64_t seed, const KvWorldLimits& limits)
      : device_(device), dice_(seed), limits_(limits) {
    target_ = cache(limits.page_size);
    draft_ = cache(dice_.of({1, 2, 4, 16}));
    states_ = std::make_unique<KvStates>(device, dice_, limits.row_count, limits.nodes_max + 1);
    is_tree_ = dice_.is_one_in(4) ? false : true;
  }

  KvDevice& device() { return device_; }
  KvCache& target() { return *target_; }
  KvCache& draft() { return *draft_; }

  /// One step of everything; throws Disparity.
  void step() {
    change_sequences();
    const std::vector<int> rows = batch();
    const std::vector<Draft> drafts = drafts_of(rows);
    feed_backlogs(rows);
    const std::vector<KvFeed> of_draft = draft_feeds(rows, drafts);
    draft_->feed(of_draft, dice_);
    const std::vector<KvFeed> of_target = target_feeds(rows, drafts);
    target_->feed(of_target, dice_);
    const KvKept kept = outcome_of(rows, drafts);
    const std::vector<std::vector<Token>> committed = committed_of(rows);
    gather_rows(device_, dice_, of_target, kept);
    states_->step(of_target, committed, kept);
    target_->commit(of_target, kept, dice_.is_one_in(2));
    draft_->commit(of_draft, draft_kept(rows, drafts, kept), dice_.is_one_in(2));
    for (std::size_t i = 0; i < rows.size(); ++i)
      if (rows[i] >= 0) pending_[static_cast<std::size_t>(rows[i])] = token();
    compare();
  }

  void compare() {
    target_->compare("target's cells");
    draft_->compare("draft's cells");
    states_->compare("recurrent states");
  }

 private:
  struct Draft {
    std::vector<Token> tokens;
    std::vector<int> parents;
    std::vector<int> fed_nodes;  ///< by the draft, in its order
  };

  std::unique_ptr<KvCache> cache(int page_size) {
    const int page_max = (limits_.length_max + 2 * limits_.nodes_max + 8) / page_size + 3;
    const KvLayout layout =
        random_layout(dice_, page_size, pages_of_a_step(page_size) + 2 * page_max);
    const int window = dice_.is_one_in(3) ? dice_.between(1, 12) : 0;
    const int spare = dice_.is_one_in(2) ? dice_.between(1, 9) : 0;
    return std::make_unique<KvCache>(device_, layout, limits_.row_count, page_max, window, spare);
  }

  Token token() { return dice_.below(1000); }

  bool is_open(int row) { return target_->sequence(row).root >= 0; }

  /// Pages that a step of all rows may take at most: a backlog and a draft, and a copy each.
  int pages_of_a_step(int page_size) const {
    return limits_.row_count * ((2 * limits_.nodes_max + 12) / page_size + 3);
  }

  bool has_room() {
    const auto has = [&](KvCache& cache) {
      return cache.free_pages() >= pages_of_a_step(cache.pool().layout().page_size);
    };
    return has(*target_) && has(*draft_);
  }

  void close(int row) {
    target_->close(row);
    draft_->close(row);
    states_->close(row);
  }

  void change_sequences() {
    for (int row = 0; row < limits_.row_count; ++row) {
      const bool is_long = is_open(row) && target_->sequence(row).length() >= limits_.length_max;
      if (is_open(row) && (is_long || dice_.is_one_in(25) || (!has_room() && dice_.is_one_in(2))))
        close(row);
    }
    while (!has_room()) {
      const int row = dice_.below(limits_.row_count);
      if (is_open(row)) close(row);
    }
    for (int row = 0; row < limits_.row_count; ++row) {
      if (is_open(row) || !dice_.is_one_in(2)) continue;
      const int from = dice_.below(limits_.row_count);
      pending_.resize(static_cast<std::size_t>(limits_.row_count));
      if (is_open(from) && dice_.is_one_in(2)) {
        target_->fork(from, row);
        draft_->fork(from, row);
        states_->fork(from, row);
      } else {
        target_->open(row);
        draft_->open(row);
        states_->open(row);
      }
      pending_[static_cast<std::size_t>(row)] = token();
    }
  }

  /// Some open rows in any order, and padding.
  std::vector<int> batch() {
    std::vector<int> rows;
    for (int row = 0; row < limits_.row_count; ++row)
      if (is_open(row) && !dice_.is_one_in(4)) rows.push_back(row);
    for (int padding = dice_.below(3); padding > 0; --padding) rows.push_back(-1);
    for (std::size_t i = rows.size(); i > 1; --i)
      std::swap(rows[i - 1], rows[static_cast<std::size_t>(dice_.below(static_cast<int>(i)))]);
    if (rows.empty()) rows.push_back(-1);
    return rows;
  }

  std::vector<Draft> drafts_of(const std::vector<int>& rows) {
    std::vector<Draft> drafts(rows.size());
    for (std::size_t r = 0; r < rows.size(); ++r) {
      if (rows[r] < 0) continue;
      Draft& draft = drafts[r];
      const int count = dice_.below(limits_.nodes_max + 1);
      for (int node = 0; node < count; ++node) {
        draft.tokens.push_back(token());
        const bool goes_on = !is_tree_ || dice_.is_one_in(2);
        draft.parents.push_back(goes_on ? node - 1 : dice_.between(-1, node - 1));
      }
      for (int node = 0; node < count; ++node)
        if (std::count(draft.parents.begin(), draft.parents.end(), node) > 0)
          draft.fed_nodes.push_back(node);
    }
    return drafts;
  }

  std::vector<KvFeed> target_feeds(const std::vector<int>& rows, const std::vector<Draft>& drafts) {
    std::vector<KvFeed> feeds;
    for (std::size_t r = 0; r < rows.size(); ++r) {
      KvFeed feed{rows[r], {}, {}};
      if (rows[r] >= 0) {
        feed.tokens = {pending_[static_cast<std::size_t>(rows[r])]};
        feed.parents = {-1};
        for (std::size_t node = 0; node < drafts[r].tokens.size(); ++node) {
          feed.tokens.push_back(drafts[r].tokens[node]);
          feed.parents.push_back(drafts[r].parents[node] + 1);
        }
      }
      feeds.push_back(std::move(feed));
    }
    return feeds;
  }

  /// What the draft has not been fed of the committed tokens and the pending one: a chain, all
  /// kept.
  void feed_backlogs(const std::vector<int>& rows) {
    std::vector<KvFeed> feeds;
    KvKept kept;
    for (const int row : rows) {
      KvFeed feed{row, {}, {}};
      draftproof_outcome outcome{};
      kept.expected.emplace_back();
      if (row >= 0) {
        const auto& tokens = target_->sequence(row).tokens;
        feed.tokens.assign(tokens.begin() + draft_->sequence(row).length(), tokens.end());
        feed.tokens.push_back(pending_[static_cast<std::size_t>(row)]);
        outcome.accepted_count = static_cast<std::uint32_t>(feed.tokens.size());
        for (int i = 0; i < static_cast<int>(feed.tokens.size()); ++i) {
          feed.parents.push_back(i - 1);
          kept.expected.back().push_back(i);
        }
      }
      kept.outcomes.push_back(outcome);
      feeds.push_back(std::move(feed));
    }
    draft_->feed(feeds, dice_);
    draft_->commit(feeds, kept, dice_.is_one_in(2));
  }

  /// The draft feeds nodes that something continues.
  std::vector<KvFeed> draft_feeds(const std::vector<int>& rows, const std::vector<Draft>& drafts) {
    std::vector<KvFeed> feeds;
    for (std::size_t r = 0; r < rows.size(); ++r) {
      KvFeed feed{rows[r], {}, {}};
      const std::vector<int>& fed = drafts[r].fed_nodes;
      for (const int node : fed) {
        feed.tokens.push_back(drafts[r].tokens[static_cast<std::size_t>(node)]);
        const int parent = drafts[r].parents[static_cast<std::size_t>(node)];
        const auto found = std::find(fed.begin(), fed.end(), parent);
        feed.parents.push_back(found == fed.end() ? -1 : static_cast<int>(found - fed.begin()));
      }
      feeds.push_back(std::move(feed));
    }
    return feeds;
  }

  /// Any path is accepted, down to any node.
  KvKept outcome_of(const std::vector<int>& rows, const std::vector<Draft>& drafts) {
    KvKept kept;
    kept.leading = 1;
    for (std::size_t r = 0; r < rows.size(); ++r) {
      std::vector<std::int32_t> path;
      const int count = static_cast<int>(drafts[r].tokens.size());
      for (int node = dice_.below(count + 1) - 1; node >= 0;
           node = drafts[r].parents[static_cast<std::size_t>(node)])
        path.insert(path.begin(), node);
      std::vector<int> expected;
      if (rows[r] >= 0) expected.push_back(0);
      for (const int node : path) expected.push_back(node + 1);
      kept.expected.push_back(std::move(expected));
      kept.outcomes.push_back({static_cast<std::uint32_t>(path.size()), 0, 0, 0});
      kept.nodes.push_back(std::move(path));
    }
    if (!is_tree_ && dice_.is_one_in(2)) kept.nodes.clear();
    return kept;
  }

  /// The same outcome as the draft's cache has it: accepted nodes as far as they were fed.
  KvKept draft_kept(const std::vector<int>& rows, const std::vector<Draft>& drafts,
                    const KvKept& target) {
    KvKept kept;
    kept.is_clipped = true;
    kept.nodes = target.nodes;
    kept.outcomes = target.outcomes;
    for (std::size_t r = 0; r < rows.size(); ++r) {
      const std::vector<int>& fed = drafts[r].fed_nodes;
      std::vector<std::int32_t> offsets(drafts[r].tokens.size(), -1);
      for (std::size_t i = 0; i < fed.size(); ++i)
        offsets[static_cast<std::size_t>(fed[i])] = static_cast<std::int32_t>(i);
      kept.expected.emplace_back();
      for (std::size_t i = 1; i < target.expected[r].size(); ++i) {
        const std::int32_t offset = offsets[static_cast<std::size_t>(target.expected[r][i] - 1)];
        if (offset < 0) break;
        kept.expected.back().push_back(offset);
      }
      kept.node_offsets.push_back(std::move(offsets));
    }
    if (!is_tree_ && dice_.is_one_in(2)) kept.node_offsets.clear();
    return kept;
  }

  std::vector<std::vector<Token>> committed_of(const std::vector<int>& rows) {
    std::vector<std::vector<Token>> tokens;
    for (const int row : rows)
      tokens.push_back(row < 0 ? std::vector<Token>{} : target_->sequence(row).tokens);
    return tokens;
  }

  KvDevice& device_;
  Dice dice_;
  KvWorldLimits limits_;
  std::unique_ptr<KvCache> target_, draft_;
  std::unique_ptr<KvStates> states_;
  bool is_tree_ = true;
  std::vector<Token> pending_;
};

}  // namespace draftproof::tests
