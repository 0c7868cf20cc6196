// Greedy verification of trees: from node to node as long as a child is what greedy decoding of
// the target emits. Miao et al., "SpecInfer" (ASPLOS 2024), algorithm 2, greedy verification;
// Medusa, EAGLE and Lookahead decoding at temperature 0.
#include "reference/law/rules/drawn_children.h"
#include "reference/law/rules/rules.h"
#include "reference/law/rules/tree_walk.h"

namespace draftproof::reference::law::rules {
namespace {

Decision tree_greedy(const Verification& step, Chooser&) {
  return walk_tree(step, [&](const Place& place) -> TreeStep {
    const Token best = first_maximum(place.target);
    const int child = child_with(step.draft, place.children, best);
    if (child >= 0) return {child, {}};
    return {-1, best};
  });
}

}  // namespace

LawRule tree_greedy_rule() {
  LawRule rule;
  rule.name = "tree-greedy";
  rule.citation = "Miao et al., SpecInfer, ASPLOS 2024; Medusa, EAGLE, Lookahead at temperature 0";
  rule.acceptance = "1 if x is the first maximum of target, else 0; among equal siblings the first";
  rule.recovered = "the first maximum of target";
  rule.bonus = "the first maximum of target";
  rule.conditions = "against greedy decoding of the target, ties to the lowest id; any tree";
  rule.decoded = DecodedLaw::kGreedy;
  rule.shape = TakenShape::kTree;
  rule.provenance = {"target K/V of the accepted path, compacted by the accepted nodes' indices",
                     "Medusa (2024-04), EAGLE (2026-02), Lookahead (2025-03), SGLang (2026-07)",
                     "",
                     "one target pass over all nodes of the tree",
                     "SGLang verify_tree_greedy (2026-07)",
                     "SGLang captures target verify and draft (issue 22930, 2026-04)"};
  rule.make = [](const OptionValues&) -> RuleFunction { return tree_greedy; };
  rule.expected_emitted = [](const ModelCase& tiny, const OptionValues&) {
    return expected_when_followed(tiny, *model::greedy_model(tiny.target));
  };
  return rule;
}

}  // namespace draftproof::reference::law::rules
