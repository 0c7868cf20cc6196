// Siblings that were drawn independently, tested one after the other against what is left of the
// target. Miao et al., "SpecInfer" (ASPLOS 2024, arXiv:2305.09781), algorithm 2, multi-step
// speculative sampling; Chen et al. and Leviathan et al. 2023 for one sibling.
#include <algorithm>

#include "reference/law/rules/drawn_children.h"
#include "reference/law/rules/residual.h"
#include "reference/law/rules/rules.h"
#include "reference/law/rules/tree_walk.h"

namespace draftproof::reference::law::rules {
namespace {

/// With independent siblings from one row, what j rejections leave of the target is the same
/// whatever the rejected tokens were: no siblings are enumerated, only rejections are counted.
Exact expected_behind(const ModelCase& tiny, const Context& context, int node) {
  LawRow rest = tiny.target->row(context);
  const LawRow& draft = tiny.draft->row(context);
  Exact reached = 1;
  Exact sum = 1;
  for (int child : shape_children(tiny, node)) {
    Exact accepted = 0;
    for (Token x = 0; x < tiny.vocab_size(); ++x) {
      const Exact kept = std::min(rest[x], draft[x]);
      if (kept == 0) continue;
      accepted += kept;
      sum += reached * kept * expected_behind(tiny, longer(context, x), child);
    }
    if (accepted == 1) break;
    reached *= 1 - accepted;
    rest = residual(rest, draft);
  }
  return sum;
}

}  // namespace

LawRule with_replacement_rule() {
  LawRule rule;
  rule.name = "with-replacement";
  rule.citation = "Miao et al., SpecInfer, ASPLOS 2024, algorithm 2 (multi-step sampling)";
  rule.acceptance = "sibling j: min(1, r(x) / draft(x)), r = target at first";
  rule.recovered = "r behind the last rejection; each leaves r = max(0, r - draft), normalised";
  rule.bonus = "target";
  rule.conditions = "siblings drawn independently of each other, tested in the order of drawing";
  rule.shape = TakenShape::kTree;
  rule.siblings = {SiblingDraw::kIndependent};
  rule.provenance = {
      "target and draft K/V of the accepted path; those of other branches are discarded and the "
      "accepted ones compacted",
      "SpecInfer / FlexFlow Serve (2024 paper); vLLM main has no tree acceptance (2026-08)",
      "a second model of the same vocabulary",
      "one target pass over all nodes of the tree",
      "not known",
      "not known"};
  rule.make = [](const OptionValues&) -> RuleFunction { return test_siblings; };
  rule.expected_emitted = [](const ModelCase& tiny, const OptionValues&) {
    if (tiny.report == DraftReport::kOneHot) return expected_when_followed(tiny, *tiny.target);
    return expected_behind(tiny, {}, -1);
  };
  return rule;
}

}  // namespace draftproof::reference::law::rules
