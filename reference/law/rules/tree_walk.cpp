// Tree walks. The test of siblings: with r = the target's row at first, sibling x with reported row
// d is accepted with probability min(1, r(x) / d(x)), and a rejection leaves r = max(0, r - d),
// normalised. One sibling is the chain rule; induction over siblings gives r the law that is still
// to be emitted, which is why their order is part of the contract.
#include "reference/law/rules/tree_walk.h"

#include <algorithm>

#include "reference/error.h"
#include "reference/law/rules/drawn_children.h"
#include "reference/law/rules/residual.h"

namespace draftproof::reference::law::rules {
namespace {

/// What the siblings of `node` from the before.size()-th on add to the expected length when the
/// ones before were rejected and left `rest`.
Exact tested(const ModelCase& tiny, const Context& context, int node, const LawRow& rest,
             std::vector<Token>& before) {
  const std::vector<int> children = shape_children(tiny, node);
  if (before.size() == children.size()) return 0;
  const int child = children[before.size()];
  Exact sum = 0;
  for (const DrawnChild& drawn : next_child(tiny, context, before, children.size())) {
    const Exact kept = std::min(Exact(rest[drawn.token] / drawn.reported[drawn.token]), Exact(1));
    Exact own = 0;
    if (kept > 0) {
      std::vector<Token> none;
      const Context behind = longer(context, drawn.token);
      own += kept * (1 + tested(tiny, behind, child, tiny.target->row(behind), none));
    }
    if (kept < 1) {
      before.push_back(drawn.token);
      own += (1 - kept) * tested(tiny, context, node, residual(rest, drawn.reported), before);
      before.pop_back();
    }
    sum += drawn.probability * own;
  }
  return sum;
}

}  // namespace

Decision walk_tree(const Verification& step, const std::function<TreeStep(const Place&)>& decide) {
  Decision decision;
  while (!decision.last) {
    const int node = decision.node();
    const std::vector<int> children = step.draft.children(node);
    const TreeStep next =
        decide({node, static_cast<int>(decision.accepted.size()), step.behind(node), children});
    if (next.child >= 0) {
      decision.accepted.push_back(next.child);
    } else {
      DRAFTPROOF_CHECK(next.last.has_value(), "neither a child nor a last token");
      decision.last = next.last;
    }
  }
  return decision;
}

int child_with(const DraftTree& draft, const std::vector<int>& children, Token token) {
  for (int child : children)
    if (draft.nodes[child].token == token) return child;
  return -1;
}

Decision test_siblings(const Verification& step, Chooser& chooser) {
  return walk_tree(step, [&](const Place& place) -> TreeStep {
    if (place.children.empty())
      return {-1, chooser.draw(place.target, {place.depth, Purpose::kBonus})};
    LawRow rest = place.target;
    int slot = 0;
    for (int child : place.children) {
      const Token token = step.draft.nodes[child].token;
      const LawRow draft = step.draft.reported_row(child, step.vocab_size());
      DRAFTPROOF_CHECK(draft[token] > 0, "drafted, but of probability 0 in what was reported");
      const Exact ratio = rest[token] / draft[token];
      if (chooser.accept(std::min(ratio, Exact(1)), {place.depth, Purpose::kAccept, slot++}))
        return {child, {}};
      rest = residual(rest, draft);
    }
    return {-1, chooser.draw(rest, {place.depth, Purpose::kRecovered})};
  });
}

Exact expected_when_tested(const ModelCase& tiny) {
  std::vector<Token> none;
  return 1 + tested(tiny, {}, -1, tiny.target->row({}), none);
}

}  // namespace draftproof::reference::law::rules
