// SGLang's target-only tree sampling with its two thresholds (speculative_sampling.cuh,
// tree_speculative_sampling_target_only, snapshot 2026-07-20): one coin a level is compared with
// the running sum of the siblings' target probabilities over threshold_acc, a child of probability
// at least threshold_single is kept whatever the coin says, and when no child is kept the token is
// drawn from the target without the children. What the draft was drawn from is never read. With
// both thresholds 1, the engine's defaults, this is sampling from the target and matching.
#include <algorithm>

#include "reference/law/rules/drawn_children.h"
#include "reference/law/rules/rules.h"

namespace draftproof::reference::law::rules {
namespace {

constexpr auto kSingle = "single";
constexpr auto kAccumulated = "acc";

Decision thresholds(const Verification& step, Chooser& chooser, const Exact& single,
                    const Exact& accumulated) {
  Decision decision;
  for (int node = -1;;) {
    const LawRow& target = step.behind(node);
    const int depth = step.draft.depth(node);
    LawRow rest = target;
    Exact sum = 0;
    int next = -1;
    for (int child : step.draft.children(node)) {
      const Token token = step.draft.nodes[child].token;
      sum += target[token];
      rest[token] = 0;
      if (chooser.accept(std::min(Exact(1), Exact(sum / accumulated)),
                         {depth, Purpose::kTreeLevel}) ||
          target[token] >= single) {
        next = child;
        break;
      }
    }
    if (next < 0) {
      const bool is_leaf = step.draft.children(node).empty();
      decision.last = chooser.draw(normalised(rest).probabilities(),
                                   {depth, is_leaf ? Purpose::kBonus : Purpose::kRecovered});
      return decision;
    }
    decision.accepted.push_back(next);
    node = next;
  }
}

/// Expected emissions behind a node whose first children came out as `tokens`. The cell of child c
/// in the level's coin is [S_before / acc, S / acc), cut at 1; the first child of at least `single`
/// takes what is left.
Exact expected_behind(const ModelCase& tiny, const Context& context, int node,
                      std::vector<Token>& tokens, const Exact& single, const Exact& accumulated) {
  const std::vector<int> children = shape_children(tiny, node);
  if (tokens.size() < children.size()) {
    const auto ways = next_child(tiny, context, tokens, children.size());
    Exact sum = 0;
    for (const DrawnChild& way : ways) {
      tokens.push_back(way.token);
      sum += way.probability * expected_behind(tiny, context, node, tokens, single, accumulated);
      tokens.pop_back();
    }
    if (!ways.empty()) return sum;
  }
  const LawRow& target = tiny.target->row(context);
  Exact sum = 1;
  Exact before = 0;
  Exact below = 0;
  for (std::size_t i = 0; i < tokens.size() && below < 1; ++i) {
    before += target[tokens[i]];
    const Exact reach =
        target[tokens[i]] >= single ? Exact(1) : std::min(Exact(1), Exact(before / accumulated));
    std::vector<Token> none;
    if (reach > below)
      sum += (reach - below) * expected_behind(tiny, longer(context, tokens[i]), children[i], none,
                                               single, accumulated);
    below = std::max(below, reach);
  }
  return sum;
}

}  // namespace

LawRule thresholds_rule() {
  LawRule rule;
  rule.name = "thresholds";
  rule.citation = "SGLang tree_speculative_sampling_target_only (snapshot 2026-07-20)";
  rule.acceptance =
      "first child with coin < (sum of siblings' target so far) / acc, or target(x) >= single";
  rule.recovered = "target without the children, normalised";
  rule.bonus = "target";
  rule.conditions =
      "distinct siblings; exact iff both thresholds are 1, the engine's default; lossy";
  rule.kind = RuleKind::kLossy;
  rule.shape = TakenShape::kTree;
  rule.siblings = {SiblingDraw::kLargest, SiblingDraw::kWithoutReplacement};
  rule.options = {{kSingle, 1, Exact(1, 1000), 1, "kept from this probability on; engine: 1"},
                  {kAccumulated, Exact(9, 10), Exact(1, 1000), 1, "divides the sum; engine: 1"}};
  rule.provenance = {"K/V of branches not taken",
                     "SGLang --speculative-accept-threshold-single, -acc (2026-07)",
                     "",
                     "1 + sum over nodes of the cells of their paths",
                     "SGLang (2026-07)",
                     "SGLang captures target verify and draft (issue 22930, 2026-04)"};
  rule.make = [](const OptionValues& options) -> RuleFunction {
    return [single = options.at(kSingle), accumulated = options.at(kAccumulated)](
               const Verification& step, Chooser& chooser) {
      return thresholds(step, chooser, single, accumulated);
    };
  };
  rule.expected_emitted = [](const ModelCase& tiny, const OptionValues& options) {
    const Exact& single = options.at(kSingle);
    const Exact& accumulated = options.at(kAccumulated);
    std::vector<Token> none;
    return expected_behind(tiny, {}, -1, none, single, accumulated);
  };
  return rule;
}

}  // namespace draftproof::reference::law::rules
