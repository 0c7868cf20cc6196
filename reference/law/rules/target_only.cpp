// Target-only sampling on trees: one coin a level, held against the running sum of the children's
// target probabilities; where it lies behind them all, a token is drawn from what they leave of the
// target. That is "draw from the target, follow the child that is the draw", whatever drew the
// children, as long as it did not see the coins (theorem E of reference/README.md). SGLang's
// tree_speculative_sampling_target_only with both thresholds 1 (2026-07); EAGLE's draft law := 1;
// Medusa's tree with sampling done right.
#include "reference/error.h"
#include "reference/law/rules/drawn_children.h"
#include "reference/law/rules/rules.h"
#include "reference/law/rules/tree_walk.h"

namespace draftproof::reference::law::rules {
namespace {

Decision target_only(const Verification& step, Chooser& chooser) {
  return walk_tree(step, [&](const Place& place) -> TreeStep {
    LawRow rest = place.target;
    LawRow level;  // the children's share of the coin, then what is left of it
    Exact left = 1;
    for (int child : place.children) {
      Exact& share = rest[step.draft.nodes[child].token];
      level.push_back(share);
      left -= share;
      share = 0;  // an equal sibling behind it has no share of its own
    }
    level.push_back(left);
    if (place.children.empty()) return {-1, chooser.draw(rest, {place.depth, Purpose::kBonus})};
    const Token answer = chooser.draw(level, {place.depth, Purpose::kTreeLevel});
    if (answer < static_cast<Token>(place.children.size()))
      return {place.children[static_cast<std::size_t>(answer)], {}};
    for (Exact& probability : rest) probability /= left;
    return {-1, chooser.draw(rest, {place.depth, Purpose::kRecovered})};
  });
}

}  // namespace

LawRule target_only_rule() {
  LawRule rule;
  rule.name = "target-only";
  rule.citation = "SGLang tree_speculative_sampling_target_only, thresholds 1 (2026-07); EAGLE-2";
  rule.acceptance = "target(x); of equal siblings only the first";
  rule.recovered = "target without the children's tokens, normalised";
  rule.bonus = "target";
  rule.conditions = "any drafter that does not see the coins; what it reports is never read";
  rule.shape = TakenShape::kTree;
  rule.provenance = {"target K/V of the accepted path, compacted by the accepted nodes' indices",
                     "SGLang EAGLE/EAGLE3/STANDALONE default verifier (2026-07), EAGLE (2026-02)",
                     "",
                     "E[N] = 1 + sum over nodes of the target's probability of their path",
                     "SGLang tree_speculative_sampling_target_only (2026-07)",
                     "SGLang captures target verify and draft (issue 22930, 2026-04)"};
  rule.make = [](const OptionValues&) -> RuleFunction { return target_only; };
  rule.expected_emitted = [](const ModelCase& tiny, const OptionValues&) {
    return expected_when_followed(tiny, *tiny.target);
  };
  return rule;
}

}  // namespace draftproof::reference::law::rules
