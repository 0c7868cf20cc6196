// Drawn children, one node at a time.
#include "reference/law/rules/drawn_children.h"

#include <algorithm>
#include <numeric>

namespace draftproof::reference::law::rules {
namespace {

/// Tokens by falling probability, lower ids first among equals.
std::vector<Token> by_mass(const LawRow& row) {
  std::vector<Token> order(row.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](Token a, Token b) { return row[b] < row[a]; });
  return order;
}

/// The sum behind `context` without the 1: over the nodes from the `ordinal`-th child on.
Exact followed(const ModelCase& tiny, const model::ToyModel& target, const Context& context,
               int node, std::vector<Token>& before) {
  const std::vector<int> children = shape_children(tiny, node);
  if (before.size() == children.size()) return 0;
  const int child = children[before.size()];
  Exact sum = 0;
  for (const DrawnChild& drawn : next_child(tiny, context, before, children.size())) {
    Exact own = 0;
    if (!contains(before, drawn.token)) {
      std::vector<Token> none;
      own = target.row(context)[drawn.token];
      if (own != 0) own *= 1 + followed(tiny, target, longer(context, drawn.token), child, none);
    }
    before.push_back(drawn.token);
    sum += drawn.probability * (own + followed(tiny, target, context, node, before));
    before.pop_back();
  }
  return sum;
}

}  // namespace

std::vector<int> shape_children(const ModelCase& tiny, int node) {
  std::vector<int> children;
  for (int child = 0; child < tiny.draft_count(); ++child)
    if (tiny.parents[child] == node) children.push_back(child);
  return children;
}

std::vector<DrawnChild> next_child(const ModelCase& tiny, const Context& context,
                                   const std::vector<Token>& before, std::size_t count) {
  const int vocab_size = tiny.vocab_size();
  LawRow row = tiny.draft->row(context);
  const std::size_t ordinal = before.size();
  const bool is_last = ordinal + 1 == count;
  if (tiny.siblings == SiblingDraw::kLargest ||
      (tiny.siblings == SiblingDraw::kLargestThenDrawn && !is_last)) {
    if (ordinal >= row.size()) return {};
    const Token token = by_mass(row)[ordinal];
    return {{token, 1, one_hot_row(vocab_size, token)}};
  }
  if (tiny.siblings != SiblingDraw::kIndependent) {
    for (Token token : before) row[token] = 0;
    const Exact rest = std::accumulate(row.begin(), row.end(), Exact(0));
    if (rest == 0) return {};
    for (Exact& probability : row) probability /= rest;
  }
  std::vector<DrawnChild> ways;
  for (Token token = 0; token < vocab_size; ++token)
    if (row[token] > 0)
      ways.push_back({token, row[token],
                      tiny.report == DraftReport::kOneHot ? one_hot_row(vocab_size, token) : row});
  return ways;
}

Context longer(const Context& context, Token token) {
  Context behind = context;
  behind.push_back(token);
  return behind;
}

bool contains(const std::vector<Token>& tokens, Token token) {
  return std::find(tokens.begin(), tokens.end(), token) != tokens.end();
}

Exact expected_when_followed(const ModelCase& tiny, const model::ToyModel& target) {
  std::vector<Token> none;
  return 1 + followed(tiny, target, {}, -1, none);
}

}  // namespace draftproof::reference::law::rules
