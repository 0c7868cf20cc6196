// Suffix decoding.
#include "reference/draft/lookup/suffix_speculation.h"

#include <algorithm>

#include "reference/error.h"

namespace draftproof::reference::draft {
namespace {

std::vector<Token> last_tokens_of(const Context& tokens, std::size_t count) {
  return {tokens.end() - static_cast<std::ptrdiff_t>(std::min(count, tokens.size())), tokens.end()};
}

int whole_part(const Exact& value) {
  return static_cast<int>(numerator(value) / denominator(value));
}

/// Follows the most frequent continuation of `path` for at most `most` tokens.
SuffixDraft follow(const SuffixTree& tree, std::vector<Token> path, int most,
                   const Exact& share_min) {
  SuffixDraft draft;
  draft.matched = path.size();
  Exact share = 1;
  while (static_cast<int>(draft.tokens.size()) < most) {
    const auto token = tree.most_frequent(path);
    if (!token) break;
    const std::int64_t before = tree.count(path);
    path.push_back(*token);
    share *= Exact(tree.count(path), before);
    if (share < share_min) break;
    draft.tokens.push_back(*token);
    draft.score += share;
  }
  return draft;
}

}  // namespace

SuffixTree::SuffixTree(std::size_t depth_max) : depth_max_(depth_max), nodes_(1) {
  DRAFTPROOF_CHECK(depth_max >= 1, "a tree has a level");
}

/// Counts the child at `place` once more, moves it to where it belongs, and answers with it.
int SuffixTree::seen_again(int node, std::size_t place) {
  std::vector<int>& siblings = nodes_[node].children;
  const int child = siblings[place];
  const std::int64_t before = nodes_[child].count++;
  // The list is sorted by count: `to` is the first place that is not above the old or the new one.
  const bool was_first = place == 0 || nodes_[siblings[place - 1]].count > before;
  const std::int64_t passed = was_first ? before + 1 : before;
  std::size_t to = place;
  while (to > 0 && nodes_[siblings[to - 1]].count <= passed) --to;
  siblings.erase(siblings.begin() + static_cast<std::ptrdiff_t>(place));
  siblings.insert(siblings.begin() + static_cast<std::ptrdiff_t>(to), child);
  return child;
}

void SuffixTree::append(int text, Token token) {
  std::deque<int>& active = active_[text];
  active.push_back(0);
  ++nodes_[0].count;
  if (active.size() > depth_max_) active.pop_front();
  for (int& node : active) {
    const std::vector<int>& children = nodes_[node].children;
    std::size_t place = 0;
    while (place < children.size() && nodes_[children[place]].token != token) ++place;
    if (place < children.size()) {
      node = seen_again(node, place);
      continue;
    }
    const int added = static_cast<int>(nodes_.size());
    nodes_.push_back({1, token, {}});
    nodes_[node].children.push_back(added);
    node = added;
  }
}

void SuffixTree::append(int text, const std::vector<Token>& tokens) {
  for (const Token token : tokens) append(text, token);
}

int SuffixTree::find(const std::vector<Token>& pattern) const {
  int node = 0;
  for (const Token token : pattern) {
    const std::vector<int>& children = nodes_[node].children;
    const auto next = std::find_if(children.begin(), children.end(),
                                   [&](int child) { return nodes_[child].token == token; });
    if (next == children.end()) return -1;
    node = *next;
  }
  return node;
}

std::int64_t SuffixTree::count(const std::vector<Token>& pattern) const {
  const int node = find(pattern);
  return node < 0 ? 0 : nodes_[node].count;
}

std::optional<Token> SuffixTree::most_frequent(const std::vector<Token>& pattern) const {
  const int node = find(pattern);
  if (node < 0 || nodes_[node].children.empty()) return std::nullopt;
  return nodes_[nodes_[node].children.front()].token;
}

SuffixDraft speculate(const SuffixTree& tree, const Context& history,
                      const SuffixOptions& options) {
  const std::vector<Token> context = last_tokens_of(history, options.depth_max);
  SuffixDraft best;
  for (std::size_t matched = 1; matched < context.size(); ++matched) {
    const std::vector<Token> pattern = last_tokens_of(context, matched);
    if (tree.count(pattern) == 0) break;
    const int most =
        std::clamp(whole_part(Exact(static_cast<int>(matched)) * options.factor + options.offset),
                   0, options.draft_max);
    SuffixDraft draft = follow(tree, pattern, most, options.share_min);
    if (draft.score >= best.score) best = std::move(draft);
  }
  return best;
}

std::vector<Token> suffix_speculation(const Question& question, const SuffixOptions& options,
                                      const std::vector<std::vector<Token>>& known) {
  SuffixTree own(options.depth_max);
  own.append(0, question.history());
  SuffixTree global(options.depth_max);
  int text = 0;
  for (const std::vector<Token>& past : known) global.append(--text, past);
  std::map<int, std::size_t> learned;  // of each request, so many tokens of its history
  for (const LookupEvent& event : question.events) {
    const auto [entry, is_first] = learned.try_emplace(event.request, event.history.size());
    if (is_first) continue;
    global.append(
        event.request,
        {event.history.begin() + static_cast<std::ptrdiff_t>(entry->second), event.history.end()});
    entry->second = event.history.size();
  }

  const SuffixDraft from_own = speculate(own, question.history(), options);
  const SuffixDraft from_global = speculate(global, question.history(), options);
  return from_own.score >= from_global.score ? from_own.tokens : from_global.tokens;
}

}  // namespace draftproof::reference::draft
