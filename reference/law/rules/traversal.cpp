// Traversal verification: leaf first. Weng et al., "Traversal verification for speculative tree
// decoding" (NeurIPS 2025, arXiv:2505.12398). Reconstructed from its abstract's description and
// checked by enumeration: exactly the target's law, and on chains exactly block verification.
//
// Every node has a rate, the probability that its subtree is accepted once it is reached: 1 at the
// base, min(1, rate r(x) / draft(x)) for a child x, where r is what is left of the target's row
// behind the parent. The first leaf is accepted with its rate. A rejected leaf is taken away: with
// S = sum of max(0, rate r - draft), its parent keeps r = max(0, rate r - draft) / S and the rate
// S / (S + 1 - rate), and the next leaf is tried, which may be the parent. A node of rate 1 never
// runs out: it is rejected with probability 0, so the base always answers.
#include <algorithm>

#include "reference/error.h"
#include "reference/law/rules/drawn_children.h"
#include "reference/law/rules/rules.h"

namespace draftproof::reference::law::rules {
namespace {

/// What is left of a node behind which children were rejected.
struct Rest {
  LawRow row;
  Exact rate;

  /// Takes away a child that was drawn from `draft`.
  void reject(const LawRow& draft) {
    Exact sum = 0;
    for (std::size_t v = 0; v < row.size(); ++v) {
      row[v] = std::max(Exact(rate * row[v] - draft[v]), Exact(0));
      sum += row[v];
    }
    if (sum > 0)
      for (Exact& probability : row) probability /= sum;
    const Exact either = sum + 1 - rate;
    DRAFTPROOF_CHECK(either > 0, "a child that is accepted for sure was rejected");
    rate = sum / either;
  }

  Exact rate_of(Token token, const LawRow& draft) const {
    DRAFTPROOF_CHECK(draft[token] > 0, "drafted, but of probability 0 in what was reported");
    return std::min(Exact(rate * row[token] / draft[token]), Exact(1));
  }
};

Decision traversal(const Verification& step, Chooser& chooser) {
  std::vector<Rest> rests = {{step.behind(-1), 1}};  // along the path down to the node at hand
  std::vector<int> path;
  std::vector<std::size_t> tried = {0};  // children taken away, along the same path
  while (true) {
    const int node = path.empty() ? -1 : path.back();
    const std::vector<int> children = step.draft.children(node);
    if (tried.back() < children.size()) {
      const int child = children[tried.back()];
      const LawRow draft = step.draft.reported_row(child, step.vocab_size());
      const Exact rate = rests.back().rate_of(step.draft.nodes[child].token, draft);
      rests.push_back({step.behind(child), rate});
      path.push_back(child);
      tried.push_back(0);
      continue;
    }
    const int depth = static_cast<int>(path.size());
    if (path.empty() || chooser.accept(rests.back().rate, {depth - 1, Purpose::kAccept, node})) {
      const Purpose purpose = children.empty() ? Purpose::kBonus : Purpose::kRecovered;
      return {path, chooser.draw(rests.back().row, {depth, purpose})};
    }
    rests.pop_back();
    path.pop_back();
    tried.pop_back();
    ++tried.back();
    rests.back().reject(step.draft.reported_row(node, step.vocab_size()));
  }
}

/// Expected number of accepted nodes below `node`, from its before.size()-th child on, if `rest` is
/// left. A child's subtree is accepted with probability its rate, in expectation over what is
/// drafted below it, so neither subtrees nor coins are enumerated: only siblings are.
Exact accepted_below(const ModelCase& tiny, const Context& context, int node, const Rest& rest,
                     std::vector<Token>& before) {
  const std::vector<int> children = shape_children(tiny, node);
  if (before.size() == children.size()) return 0;
  const int child = children[before.size()];
  Exact sum = 0;
  for (const DrawnChild& drawn : next_child(tiny, context, before, children.size())) {
    const Exact rate = rest.rate_of(drawn.token, drawn.reported);
    const Context behind = longer(context, drawn.token);
    std::vector<Token> none;
    Exact own = rate;
    if (rate > 0)
      own += accepted_below(tiny, behind, child, {tiny.target->row(behind), rate}, none);
    if (rate < 1) {
      Rest left = rest;
      left.reject(drawn.reported);
      before.push_back(drawn.token);
      own += (1 - rate) * accepted_below(tiny, context, node, left, before);
      before.pop_back();
    }
    sum += drawn.probability * own;
  }
  return sum;
}

}  // namespace

LawRule traversal_rule() {
  LawRule rule;
  rule.name = "traversal";
  rule.citation = "Weng et al., NeurIPS 2025 (arXiv:2505.12398)";
  rule.acceptance =
      "leaf first, a whole path: its rate; rate 1 at the base, min(1, rate r(x) / draft(x)) below";
  rule.recovered = "r of the node; a rejected child leaves r = max(0, rate r - draft), normalised";
  rule.bonus = "target";
  rule.conditions = "siblings tested in the order of drawing; coins used in one iteration only";
  rule.shape = TakenShape::kTree;
  rule.siblings = {SiblingDraw::kIndependent, SiblingDraw::kWithoutReplacement,
                   SiblingDraw::kLargest};
  rule.is_prefix_adapted = false;
  rule.provenance = {"as other trees: K/V of branches that were not accepted is discarded",
                     "not known",
                     "a second model of the same vocabulary",
                     "at least the tree walk's E[N] for the same draft, wherever enumerated",
                     "not known",
                     "not known"};
  rule.make = [](const OptionValues&) -> RuleFunction { return traversal; };
  rule.expected_emitted = [](const ModelCase& tiny, const OptionValues&) {
    std::vector<Token> none;
    return Exact(1 + accepted_below(tiny, {}, -1, {tiny.target->row({}), 1}, none));
  };
  return rule;
}

}  // namespace draftproof::reference::law::rules
