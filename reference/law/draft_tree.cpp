// Draft trees.
#include "reference/law/draft_tree.h"

#include <algorithm>

#include "reference/error.h"

namespace draftproof::reference::law {

bool DraftTree::is_chain() const {
  for (int node = 0; node < size(); ++node)
    if (nodes[node].parent != node - 1) return false;
  return true;
}

std::vector<int> DraftTree::children(int node) const {
  std::vector<int> list;
  for (int child = node + 1; child < size(); ++child)
    if (nodes[child].parent == node) list.push_back(child);
  return list;
}

int DraftTree::depth(int node) const { return static_cast<int>(path(node).size()); }

std::vector<int> DraftTree::path(int node) const {
  std::vector<int> list;
  for (; node >= 0; node = nodes[node].parent) list.push_back(node);
  std::reverse(list.begin(), list.end());
  return list;
}

std::vector<Token> DraftTree::tokens_to(int node) const {
  std::vector<Token> tokens;
  for (int step : path(node)) tokens.push_back(nodes[step].token);
  return tokens;
}

LawRow DraftTree::reported_row(int node, int vocab_size) const {
  const DraftNode& entry = nodes.at(node);
  return entry.reported.empty() ? one_hot_row(vocab_size, entry.token) : entry.reported;
}

int append(DraftTree& tree, Token token, LawRow reported) {
  return add_child(tree, tree.size() - 1, token, std::move(reported));
}

int add_child(DraftTree& tree, int parent, Token token, LawRow reported) {
  DRAFTPROOF_CHECK(parent >= -1 && parent < tree.size(), std::to_string(parent));
  tree.nodes.push_back({parent, token, std::move(reported)});
  return tree.size() - 1;
}

}  // namespace draftproof::reference::law
