// Drawn children: the law of a drafted tree's next child, for closed forms. It says what
// draft/model.cpp does without drafting anything, so that a formula and an enumeration of drafts
// check each other.
#pragma once

#include <vector>

#include "reference/law/model_case.h"

namespace draftproof::reference::law::rules {

/// One way in which a child can come out.
struct DrawnChild {
  Token token = 0;
  Exact probability;
  LawRow reported;  ///< written out, one-hot reports too
};

/// The nodes of the shape behind `node` in order; -1: behind the base context.
std::vector<int> shape_children(const ModelCase& tiny, int node);

/// Every way in which the next child of a node comes out when those before it had the tokens
/// `before` and there are to be `count` in all. Empty when there is no such child.
std::vector<DrawnChild> next_child(const ModelCase& tiny, const Context& context,
                                   const std::vector<Token>& before, std::size_t count);

Context longer(const Context& context, Token token);
bool contains(const std::vector<Token>& tokens, Token token);

/// The expected number of tokens that an iteration emits when a child is followed iff the target's
/// own draw is its token, and equal siblings behind the first one are dead:
/// 1 + sum over nodes of the probability that the node is drafted and the target draws its path.
Exact expected_when_followed(const ModelCase& tiny, const model::ToyModel& target);

}  // namespace draftproof::reference::law::rules
