// Typical acceptance on a tree: of all drafted paths whose every token is typical the longest is
// kept, whatever the target's law says of its competitors. Cai et al., "Medusa" (ICML 2024,
// arXiv:2401.10774), section 2.3.1; reference code of 2024-04 (entry point .09 and .3; its inner
// functions default to the two exchanged).
#include <algorithm>

#include "reference/distribution.h"
#include "reference/law/rules/drawn_children.h"
#include "reference/law/rules/rules.h"
#include "reference/law/rules/typical.h"

namespace draftproof::reference::law::rules {
namespace {

struct Threshold {
  Exact cap;
  Exact scale;
};

Threshold threshold_of(const OptionValues& values) {
  return {values.at("cap"), values.at("scale")};
}

/// The longest path of typical tokens; among equals the one of the largest target probability, then
/// the first.
std::vector<int> best_path(const Verification& step, const Threshold& threshold) {
  std::vector<bool> is_kept(step.draft.nodes.size());
  std::vector<int> best;
  Exact best_probability = 1;
  for (int node = 0; node < step.draft.size(); ++node) {
    const auto [parent, token, reported] = step.draft.nodes[node];
    is_kept[node] = (parent < 0 || is_kept[parent]) &&
                    is_typical(step.behind(parent), token, threshold.cap, threshold.scale);
    if (!is_kept[node]) continue;
    const std::vector<int> path = step.draft.path(node);
    Exact probability = 1;
    for (int above : path)
      probability *= step.behind(step.draft.nodes[above].parent)[step.draft.nodes[above].token];
    if (path.size() > best.size() ||
        (path.size() == best.size() && probability > best_probability)) {
      best = path;
      best_probability = probability;
    }
  }
  return best;
}

Decision medusa_typical(const Verification& step, const Threshold& threshold, bool is_sampled,
                        Chooser& chooser) {
  Decision decision{best_path(step, threshold), {}};
  const LawRow& row = step.behind(decision.node());
  LawRow last = one_hot_row(step.vocab_size(), first_maximum(row));
  if (is_sampled) {
    last = row;
    for (std::size_t v = 0; v < row.size(); ++v)
      if (!is_typical(row, static_cast<Token>(v), threshold.cap, threshold.scale)) last[v] = 0;
    // With scale 1 the row may be even, and no token above its own average.
    if (std::all_of(last.begin(), last.end(), [](const Exact& x) { return x == 0; })) last = row;
    last = normalised(std::move(last)).probabilities();
  }
  const int depth = static_cast<int>(decision.accepted.size());
  decision.last = chooser.draw(last, {depth, Purpose::kBonus});
  return decision;
}

/// Probability that no path of typical tokens below `node` is longer than `length`.
Exact not_longer(const ModelCase& tiny, const Context& context, int node, int length,
                 const Threshold& threshold, std::vector<Token>& before) {
  const std::vector<int> children = shape_children(tiny, node);
  if (before.size() == children.size()) return 1;
  const int child = children[before.size()];
  Exact sum = 0;
  Exact none_left = 1;
  for (const DrawnChild& way : next_child(tiny, context, before, children.size())) {
    none_left -= way.probability;
    std::vector<Token> none;
    Exact own = 1;
    if (is_typical(tiny.target->row(context), way.token, threshold.cap, threshold.scale))
      own = length == 0
                ? Exact(0)
                : not_longer(tiny, longer(context, way.token), child, length - 1, threshold, none);
    if (own == 0) continue;
    before.push_back(way.token);
    own *= not_longer(tiny, context, node, length, threshold, before);
    before.pop_back();
    sum += way.probability * own;
  }
  return sum + none_left;
}

}  // namespace

LawRule medusa_typical_rule() {
  LawRule rule;
  rule.name = "medusa-typical";
  rule.citation = "Cai et al., Medusa, ICML 2024, section 2.3.1; reference code (2024-04)";
  rule.acceptance =
      "1 on the longest path whose tokens all have target(x) > min(cap, scale exp(-H(target)))";
  rule.recovered = "the first maximum of target; sampled = 1: target on typical tokens, normalised";
  rule.bonus = "as recovered";
  rule.conditions = "lossy by design; measured against the target as served (fine-tuned: Medusa-2)";
  rule.kind = RuleKind::kLossy;
  rule.shape = TakenShape::kTree;
  rule.options = {{"cap", Exact(9, 100), 0, 1, "posterior threshold: an absolute bound"},
                  {"scale", Exact(3, 10), 0, 1, "posterior alpha: a bound relative to exp(-H)"},
                  {"sampled", 0, 0, 1, "1: draw the last token from the typical ones"}};
  rule.provenance = {"target K/V of the accepted path; the hidden state of its last node",
                     "Medusa, sampling typical (2024-04)",
                     "Medusa heads; Medusa-2 trains the target too",
                     "one target pass over all nodes of the tree",
                     "not known",
                     "not known"};
  rule.make = [](const OptionValues& values) -> RuleFunction {
    return [threshold = threshold_of(values), is_sampled = values.at("sampled") != 0](
               const Verification& step, Chooser& chooser) {
      return medusa_typical(step, threshold, is_sampled, chooser);
    };
  };
  // 1 + the expected length of the longest path, summed over its tail.
  rule.expected_emitted = [](const ModelCase& tiny, const OptionValues& values) {
    Exact sum = 1;
    for (int length = 0; length < tiny.draft_count(); ++length) {
      std::vector<Token> none;
      sum += 1 - not_longer(tiny, {}, -1, length, threshold_of(values), none);
    }
    return sum;
  };
  return rule;
}

}  // namespace draftproof::reference::law::rules
