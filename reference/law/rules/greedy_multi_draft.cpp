// Greedy multi-draft verification: all siblings but the last are the draft's largest tokens S, the
// last is drawn from the draft's row outside S. Hu et al., "Towards optimal multi-draft speculative
// decoding" (ICLR 2025, arXiv:2502.18779). The drawn sibling is tested by its ratio; on a rejection
// one token is drawn from the residual, and where it is in S that sibling is followed, so that
// target(S) + sum over the others of min(target, draft') are accepted: the optimum for this law of
// siblings. A rule of S alone would be target-only.
#include <algorithm>

#include "reference/error.h"
#include "reference/law/rules/drawn_children.h"
#include "reference/law/rules/residual.h"
#include "reference/law/rules/rules.h"
#include "reference/law/rules/tree_walk.h"

namespace draftproof::reference::law::rules {
namespace {

TreeStep greedy_multi_draft(const Verification& step, const Place& place, Chooser& chooser) {
  LawRow rest = place.target;
  std::vector<int> fixed = place.children;
  const int drawn = fixed.back();
  for (std::size_t j = 0; j + 1 < fixed.size(); ++j)
    if (!step.draft.nodes[fixed[j]].reported.empty())
      throw Error(ErrorKind::kInput,
                  "greedy multi-draft takes siblings of which only the last was drawn");
  if (!step.draft.nodes[drawn].reported.empty()) {
    const Token token = step.draft.nodes[drawn].token;
    const LawRow& draft = step.draft.nodes[drawn].reported;
    DRAFTPROOF_CHECK(draft[token] > 0, "drafted, but of probability 0 in what was reported");
    const Exact ratio = place.target[token] / draft[token];
    if (chooser.accept(std::min(ratio, Exact(1)), {place.depth, Purpose::kAccept}))
      return {drawn, {}};
    rest = residual(place.target, draft);
    fixed.pop_back();
  }
  const Token token = chooser.draw(rest, {place.depth, Purpose::kRecovered});
  const int child = child_with(step.draft, fixed, token);
  if (child >= 0) return {child, {}};
  return {-1, token};
}

/// 1 + target(S) and sum min(target, draft') over the rest, each with what follows it.
Exact expected_below(const ModelCase& tiny, const Context& context, int node) {
  const std::vector<int> children = shape_children(tiny, node);
  std::vector<Token> before;
  Exact sum = 1;
  for (int child : children) {
    const std::vector<DrawnChild> ways = next_child(tiny, context, before, children.size());
    const bool is_fixed = before.size() + 1 < children.size() && !ways.empty();
    for (const DrawnChild& way : ways) {
      const Exact target = tiny.target->row(context)[way.token];
      const Exact kept = is_fixed                              ? target
                         : tiny.report == DraftReport::kOneHot ? Exact(target * way.probability)
                                                               : std::min(target, way.probability);
      if (kept > 0) sum += kept * expected_below(tiny, longer(context, way.token), child);
    }
    if (is_fixed) before.push_back(ways.front().token);
  }
  return sum;
}

}  // namespace

LawRule greedy_multi_draft_rule() {
  LawRule rule;
  rule.name = "greedy-multi-draft";
  rule.citation = "Hu et al., ICLR 2025 (arXiv:2502.18779)";
  rule.acceptance =
      "the drawn sibling: min(1, target(x) / draft'(x)), draft' = draft outside S, normalised; "
      "then "
      "a sibling in S: 1 if the recovered token is x";
  rule.recovered = "max(0, target - draft'), normalised";
  rule.bonus = "target";
  rule.conditions = "S, all siblings but the last, is chosen from the context alone";
  rule.shape = TakenShape::kTree;
  rule.siblings = {SiblingDraw::kLargestThenDrawn};
  rule.provenance = {"as other trees: K/V of branches that were not accepted is discarded",
                     "not known",
                     "a second model of the same vocabulary",
                     "one draw more than target-only where the drawn sibling is rejected",
                     "not known",
                     "not known"};
  rule.make = [](const OptionValues&) -> RuleFunction {
    return [](const Verification& step, Chooser& chooser) {
      return walk_tree(step, [&](const Place& place) -> TreeStep {
        if (place.children.empty())
          return {-1, chooser.draw(place.target, {place.depth, Purpose::kBonus})};
        return greedy_multi_draft(step, place, chooser);
      });
    };
  };
  rule.expected_emitted = [](const ModelCase& tiny, const OptionValues&) {
    return expected_below(tiny, {}, -1);
  };
  return rule;
}

}  // namespace draftproof::reference::law::rules
