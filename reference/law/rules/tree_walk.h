// Tree walks: what the rules have in common that go down a draft tree from the base context and
// look at no node off the path they take, so that their coins may be keyed by position.
#pragma once

#include <functional>
#include <vector>

#include "reference/law/rule.h"

namespace draftproof::reference::law::rules {

/// A node that a walk has come to.
struct Place {
  int node;                          ///< -1: the base context
  int depth;                         ///< number of accepted nodes; the offset of coins asked for
  const LawRow& target;              ///< the target's row behind the node
  const std::vector<int>& children;  ///< in the order in which they were drawn
};

/// What a rule decides at a place: the child it goes to, a node, or else the last token.
struct TreeStep {
  int child = -1;
  std::optional<Token> last;
};

/// Asks `decide` at the base context and behind every accepted node, until a last token is due.
Decision walk_tree(const Verification& step, const std::function<TreeStep(const Place&)>& decide);

/// The first child with this token; -1 when there is none.
int child_with(const DraftTree& draft, const std::vector<int>& children, Token token);

/// The walk that tests siblings in order, each against what the ones before it left of the target:
/// recursive rejection sampling. Right whenever every sibling's reported row is the law it was
/// drawn from, given the siblings before it.
Decision test_siblings(const Verification& step, Chooser& chooser);

/// Expected number of emitted tokens of that walk, over the ways in which the siblings of one node
/// come out, whatever the law of siblings.
Exact expected_when_tested(const ModelCase& tiny);

}  // namespace draftproof::reference::law::rules
