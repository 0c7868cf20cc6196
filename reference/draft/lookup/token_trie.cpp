// Token trie.
#include "reference/draft/lookup/token_trie.h"

#include <algorithm>
#include <deque>

#include "reference/error.h"

namespace draftproof::reference::draft {
namespace {

/// The child of `parent` with this token, added where there is none yet.
int merged_child(law::DraftTree& tree, int parent, Token token) {
  for (const int child : tree.children(parent))
    if (tree.nodes[child].token == token) return child;
  return add_child(tree, parent, token, {});
}

std::vector<Token> last_tokens(const Context& tokens, std::size_t count) {
  return {tokens.end() - static_cast<std::ptrdiff_t>(std::min(count, tokens.size())), tokens.end()};
}

}  // namespace

TokenTrie::TokenTrie(const TokenTrieOptions& options) : options_(options), nodes_(1) {
  DRAFTPROOF_CHECK(options.depth_max >= 1 && 1 <= options.breadth_min &&
                       options.breadth_min <= options.breadth_max && options.node_count >= 0,
                   "sizes");
}

std::size_t TokenTrie::size() const { return nodes_.size() - gone_; }

int TokenTrie::child(int node, Token token) const {
  for (const int child : nodes_[node].children)
    if (nodes_[child].token == token) return child;
  return -1;
}

int TokenTrie::find(const std::vector<Token>& path) const {
  int node = 0;
  for (const Token token : path)
    if ((node = child(node, token)) < 0) return -1;
  return node;
}

std::int64_t TokenTrie::frequency(const std::vector<Token>& path) const {
  const int node = find(path);
  return node < 0 ? 0 : nodes_[node].frequency;
}

/// Used longest ago goes first, the deepest of a path before those above it.
void TokenTrie::evict(std::size_t count) {
  for (; count > 0; --count) {
    int oldest = -1;
    for (std::size_t i = 1; i < nodes_.size(); ++i) {
      const Node& node = nodes_[i];
      if (node.is_gone) continue;
      if (oldest < 0 || node.used < nodes_[oldest].used ||
          (node.used == nodes_[oldest].used && node.depth > nodes_[oldest].depth))
        oldest = static_cast<int>(i);
    }
    if (oldest < 0)
      throw Error(ErrorKind::kInput, "a trie of " + std::to_string(options_.capacity) +
                                         " nodes has no room for a path of " +
                                         std::to_string(options_.depth_max) +
                                         "; give it more capacity");
    nodes_[oldest].is_gone = true;
    std::erase(nodes_[nodes_[oldest].parent].children, oldest);
    ++gone_;
  }
}

void TokenTrie::insert(const std::vector<Token>& tokens) {
  for (std::size_t from = 0; from < tokens.size(); ++from) {
    const std::size_t count = std::min(tokens.size() - from, options_.depth_max);
    // The engine makes room as if all of the path were unknown.
    if (size() + count > options_.capacity) evict(size() + count - options_.capacity);
    ++clock_;
    int node = 0;
    for (std::size_t i = 0; i < count; ++i) {
      int next = child(node, tokens[from + i]);
      if (next < 0) {
        next = static_cast<int>(nodes_.size());
        Node added;
        added.parent = node;
        added.token = tokens[from + i];
        added.depth = static_cast<int>(i) + 1;
        nodes_.push_back(added);
        nodes_[node].children.push_back(next);
      }
      ++nodes_[next].frequency;
      nodes_[next].used = clock_;
      node = next;
    }
  }
}

/// Suffixes of the history that are paths with a continuation, the longest first.
std::vector<TokenTrie::Anchor> TokenTrie::anchors(const Context& history) const {
  std::vector<Anchor> list;
  for (std::size_t depth = std::min(history.size(), options_.depth_max); depth >= 1; --depth) {
    const int node = find(last_tokens(history, depth));
    if (node >= 0 && !nodes_[node].children.empty())
      list.push_back({node, static_cast<int>(depth)});
  }
  return list;
}

/// Children, the best first: used last, or most frequent with ties to the lowest id.
std::vector<int> TokenTrie::sorted(int node, bool by_frequency) const {
  std::vector<int> children = nodes_[node].children;
  std::sort(children.begin(), children.end(), [&](int a, int b) {
    const Node& first = nodes_[a];
    const Node& second = nodes_[b];
    if (!by_frequency) return first.used > second.used;
    if (first.frequency != second.frequency) return first.frequency > second.frequency;
    return first.token < second.token;
  });
  return children;
}

/// Breadth first; the breadth falls with every level, the less the longer the match is.
void TokenTrie::add_by_recency(law::DraftTree& tree, const Anchor& anchor) const {
  const int deepest = std::max(1, static_cast<int>(options_.depth_max) - 1);
  const double scale = static_cast<double>(options_.breadth_max - options_.breadth_min) / deepest;
  struct Open {
    int drafted;
    double breadth;
    int node;
  };
  std::deque<Open> open = {
      {-1, (deepest - anchor.depth) * scale + options_.breadth_min, anchor.node}};
  while (!open.empty() && tree.size() < options_.node_count) {
    const Open front = open.front();
    open.pop_front();
    const int breadth = std::max(1, static_cast<int>(front.breadth));
    const std::vector<int> children = sorted(front.node, false);
    for (int i = 0;
         i < breadth && i < static_cast<int>(children.size()) && tree.size() < options_.node_count;
         ++i) {
      const int drafted = merged_child(tree, front.drafted, nodes_[children[i]].token);
      open.push_back({drafted, front.breadth - scale, children[i]});
    }
  }
}

/// Best first by the product of relative frequencies among the breadth_max most frequent children;
/// among equals the one that was found first.
law::DraftTree TokenTrie::by_frequency(const Context& history) const {
  struct Open {
    int parent;
    int node;
    double share;
  };
  law::DraftTree tree;
  std::vector<Open> open;
  const auto expand = [&](int drafted, int node, double share) {
    std::vector<int> children = sorted(node, true);
    if (static_cast<int>(children.size()) > options_.breadth_max)
      children.resize(static_cast<std::size_t>(options_.breadth_max));
    double sum = 0;
    for (const int child : children) sum += static_cast<double>(nodes_[child].frequency);
    for (const int child : children)
      open.push_back({drafted, child, static_cast<double>(nodes_[child].frequency) / sum * share});
  };
  for (const Anchor& anchor : anchors(history)) {
    expand(-1, anchor.node, 1.0);
    while (!open.empty() && tree.size() < options_.node_count) {
      const auto best = std::max_element(
          open.begin(), open.end(), [](const Open& a, const Open& b) { return a.share < b.share; });
      const Open next = *best;
      open.erase(best);
      expand(merged_child(tree, next.parent, nodes_[next.node].token), next.node, next.share);
    }
  }
  return tree;
}

law::DraftTree TokenTrie::draft(const Context& history) const {
  law::DraftTree tree;
  if (options_.by_frequency) {
    tree = by_frequency(history);
  } else {
    for (const Anchor& anchor : anchors(history)) add_by_recency(tree, anchor);
  }
  while (options_.is_padded && tree.size() < options_.node_count) add_child(tree, -1, 0, {});
  return tree;
}

law::DraftTree token_trie(const Question& question, const TokenTrieOptions& options,
                          const std::vector<std::vector<Token>>& known) {
  TokenTrie trie(options);
  for (const std::vector<Token>& text : known) trie.insert(last_tokens(text, options.depth_max));
  for (const LookupEvent& event : question.events)
    if (event.kind == LookupEvent::Kind::kVerified)
      trie.insert(last_tokens(event.history, options.depth_max));
  const law::DraftTree found = trie.draft(question.history());
  law::DraftTree shallow;  // levels below draft_count are not verified
  std::vector<int> number(found.nodes.size(), -1);
  for (int node = 0; node < found.size(); ++node) {
    if (found.depth(node) > question.draft_count) continue;
    const int parent = found.nodes[node].parent;
    number[node] =
        add_child(shallow, parent < 0 ? -1 : number[parent], found.nodes[node].token, {});
  }
  return shallow;
}

}  // namespace draftproof::reference::draft
