// Draft trees: what a drafter hands over in one iteration, with the law each token was drawn from
// as it is reported to the rule. A chain is the tree whose every node has one child.
#pragma once

#include <vector>

#include "reference/law_row.h"

namespace draftproof::reference::law {

struct DraftNode {
  int parent = -1;  ///< number of a node before this one; -1: behind the base context
  Token token = 0;
  LawRow reported;  ///< the law this token was drawn from, as reported; empty: one-hot on the token

  friend bool operator==(const DraftNode&, const DraftNode&) = default;
};

/// Nodes in the order in which they were drawn: parents before children, siblings as they are to be
/// tested. Siblings may carry equal tokens (draws with replacement).
struct DraftTree {
  std::vector<DraftNode> nodes;

  int size() const { return static_cast<int>(nodes.size()); }
  /// Every node's parent is the node before it.
  bool is_chain() const;
  /// Children of `node` in order; -1: of the base context.
  std::vector<int> children(int node) const;
  /// Number of nodes from the base context down to `node`, itself included; 0 for -1.
  int depth(int node) const;
  /// Nodes from the first down to `node`, itself included; empty for -1.
  std::vector<int> path(int node) const;
  /// Their tokens.
  std::vector<Token> tokens_to(int node) const;
  /// The reported law of node's token over vocab_size tokens, one-hot reports written out.
  LawRow reported_row(int node, int vocab_size) const;
};

/// Adds a node behind the last one and answers its number.
int append(DraftTree& tree, Token token, LawRow reported);
/// Adds a child of `parent` and answers its number. Precondition: -1 <= parent < tree.size().
int add_child(DraftTree& tree, int parent, Token token, LawRow reported);

}  // namespace draftproof::reference::law
