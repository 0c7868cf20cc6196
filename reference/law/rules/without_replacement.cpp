// Siblings that were drawn without replacement, tested in that order, each with the row that is
// left without the siblings before it. Jeon et al., "Recursive speculative decoding" (2024,
// arXiv:2402.14160); Chen et al., "Sequoia" (2024, arXiv:2402.12374); Yang et al.,
// "Multi-candidate speculative decoding" (2024, arXiv:2401.06706); EAGLE-1's sampled mode. With
// the largest tokens as siblings, reported one-hot, it is EAGLE-2's loop: accept with the target's
// probability, strike out, renormalise.
#include "reference/law/rules/rules.h"
#include "reference/law/rules/tree_walk.h"

namespace draftproof::reference::law::rules {

LawRule without_replacement_rule() {
  LawRule rule;
  rule.name = "without-replacement";
  rule.citation = "Jeon et al. 2024 (RSD); Chen et al. 2024 (Sequoia); Yang et al. 2024; EAGLE";
  rule.acceptance = "sibling j: min(1, r(x) / draft_j(x)), draft_j = draft on tokens not yet used";
  rule.recovered = "r behind the last rejection; each leaves r = max(0, r - draft_j), normalised";
  rule.bonus = "target";
  rule.conditions = "each sibling reports the renormalised row; tested in the order of drawing";
  rule.shape = TakenShape::kTree;
  rule.siblings = {SiblingDraw::kWithoutReplacement, SiblingDraw::kLargest};
  rule.provenance = {
      "target and draft K/V of the accepted path; those of other branches are discarded and the "
      "accepted ones compacted",
      "EAGLE reference (2026-02: one-hot reports), Sequoia (2024 paper), TensorRT-LLM dynamic tree "
      "(pull 12588, 2026-05; rejected siblings struck out since pull 15098, 2026-06)",
      "a second model of the same vocabulary, or an EAGLE head",
      "one target pass over all nodes of the tree",
      "TensorRT-LLM dynamicTreeKernels.cu (pull 15098, 2026-06)",
      "not known"};
  rule.make = [](const OptionValues&) -> RuleFunction { return test_siblings; };
  rule.expected_emitted = [](const ModelCase& tiny, const OptionValues&) {
    return expected_when_tested(tiny);
  };
  return rule;
}

}  // namespace draftproof::reference::law::rules
