// K-SEQ: independent siblings, each accepted by the same test at a scale rho. Sun et al., "SpecTr:
// fast speculative decoding via optimal transport" (NeurIPS 2023, arXiv:2310.15141).
//
// With beta = sum min(draft, target / rho), a test accepts with probability beta, and the accepted
// token has the law min(draft, target / rho) / beta; n tests accept with A = 1 - (1 - beta)^n. What
// must still be emitted is target - min(draft, target / rho) A / beta. It is nowhere negative
// if A <= rho beta, for then the subtracted part is at most target. The paper takes the solution
// rho* of A = rho beta, an irrational number. But rho beta = sum min(rho draft, target) grows with
// rho and A falls with it, so every rho >= rho* keeps the law exactly, and rho = n is one of them
// (A <= n beta). The rule takes the least such rho on a grid; it costs acceptance, never the law.
#include <algorithm>

#include "reference/error.h"
#include "reference/law/rules/drawn_children.h"
#include "reference/law/rules/rules.h"
#include "reference/law/rules/tree_walk.h"

namespace draftproof::reference::law::rules {
namespace {

constexpr int kGrid = 1024;  // rho is a multiple of 1 / kGrid

/// The test at one scale.
struct Scale {
  Exact rho;
  Exact beta;      ///< one test accepts
  Exact accepted;  ///< one of all tests accepts
  bool is_valid() const { return accepted <= rho * beta; }
};

Exact shared(const LawRow& target, const LawRow& draft, const Exact& rho, std::size_t token) {
  return std::min(draft[token], Exact(target[token] / rho));
}

Scale scale_at(const LawRow& target, const LawRow& draft, std::size_t count, const Exact& rho) {
  Scale scale{rho, 0, 0};
  for (std::size_t v = 0; v < target.size(); ++v) scale.beta += shared(target, draft, rho, v);
  Exact none = 1;
  for (std::size_t i = 0; i < count; ++i) none *= 1 - scale.beta;
  scale.accepted = 1 - none;
  return scale;
}

Scale least_scale(const LawRow& target, const LawRow& draft, std::size_t count) {
  int low = kGrid;                             // rho = 1
  int high = static_cast<int>(count) * kGrid;  // rho = n, valid
  while (low < high) {
    const int middle = low + (high - low) / 2;
    if (scale_at(target, draft, count, Exact(middle, kGrid)).is_valid())
      high = middle;
    else
      low = middle + 1;
  }
  return scale_at(target, draft, count, Exact(high, kGrid));
}

/// `rho` 0: the least one of the grid.
Scale scale_for(const LawRow& target, const LawRow& draft, std::size_t count, const Exact& rho) {
  if (rho == 0) return least_scale(target, draft, count);
  const Scale scale = scale_at(target, draft, count, rho);
  if (!scale.is_valid())
    throw Error(ErrorKind::kInput, "rho = " + to_string(rho) +
                                       " would leave a negative residual; give at least " +
                                       to_string(least_scale(target, draft, count).rho));
  return scale;
}

LawRow left_by_tests(const LawRow& target, const LawRow& draft, const Scale& scale) {
  LawRow rest = target;
  if (scale.beta == 0) return rest;
  for (std::size_t v = 0; v < rest.size(); ++v)
    rest[v] = (target[v] - shared(target, draft, scale.rho, v) * scale.accepted / scale.beta) /
              (1 - scale.accepted);
  return rest;
}

TreeStep k_seq(const Verification& step, const Place& place, const Exact& rho, Chooser& chooser) {
  const LawRow draft = step.draft.reported_row(place.children.front(), step.vocab_size());
  for (int child : place.children)
    if (step.draft.reported_row(child, step.vocab_size()) != draft)
      throw Error(ErrorKind::kInput,
                  "k-seq tests siblings that were drawn from one row; these report several");
  const Scale scale = scale_for(place.target, draft, place.children.size(), rho);
  int slot = 0;
  for (int child : place.children) {
    const auto token = static_cast<std::size_t>(step.draft.nodes[child].token);
    DRAFTPROOF_CHECK(draft[token] > 0, "drafted, but of probability 0 in what was reported");
    const Exact kept = shared(place.target, draft, scale.rho, token) / draft[token];
    if (chooser.accept(kept, {place.depth, Purpose::kAccept, slot++})) return {child, {}};
  }
  return {-1, chooser.draw(left_by_tests(place.target, draft, scale),
                           {place.depth, Purpose::kRecovered})};
}

/// Child j is accepted as x with probability (1 - beta)^j min(draft, target / rho)(x).
Exact expected_behind(const ModelCase& tiny, const Context& context, int node, const Exact& rho) {
  const std::vector<int> children = shape_children(tiny, node);
  if (children.empty()) return 1;
  const LawRow& target = tiny.target->row(context);
  const LawRow& draft = tiny.draft->row(context);
  const Scale scale = scale_for(target, draft, children.size(), rho);
  Exact sum = 1;
  Exact reached = 1;
  for (int child : children) {
    for (Token x = 0; x < tiny.vocab_size(); ++x) {
      const Exact kept = shared(target, draft, scale.rho, static_cast<std::size_t>(x));
      if (kept > 0) sum += reached * kept * expected_behind(tiny, longer(context, x), child, rho);
    }
    reached *= 1 - scale.beta;
  }
  return sum;
}

}  // namespace

LawRule k_seq_rule() {
  LawRule rule;
  rule.name = "k-seq";
  rule.citation = "Sun et al., SpecTr, NeurIPS 2023 (arXiv:2310.15141), with rational rho >= rho*";
  rule.acceptance = "every sibling: min(1, target(x) / (rho draft(x)))";
  rule.recovered =
      "target - min(draft, target / rho) (1 - (1 - beta)^n) / beta, normalised; "
      "beta = sum min(draft, target / rho)";
  rule.bonus = "target";
  rule.conditions = "siblings drawn independently from one row; 1 - (1 - beta)^n <= rho beta";
  rule.shape = TakenShape::kTree;
  rule.siblings = {SiblingDraw::kIndependent};
  rule.options = {{"rho", 0, 0, 64, "scale of the test; 0: the least valid multiple of 1/1024"}};
  rule.provenance = {"as other trees: K/V of branches that were not accepted is discarded",
                     "not known",
                     "a second model of the same vocabulary",
                     "at rho* an acceptance of at least 1 - 1/e of the optimum (paper)",
                     "not known",
                     "not known"};
  rule.make = [](const OptionValues& values) -> RuleFunction {
    return [rho = values.at("rho")](const Verification& step, Chooser& chooser) {
      return walk_tree(step, [&](const Place& place) -> TreeStep {
        if (place.children.empty())
          return {-1, chooser.draw(place.target, {place.depth, Purpose::kBonus})};
        return k_seq(step, place, rho, chooser);
      });
    };
  };
  // One-hot reports of several siblings are several rows, which the rule refuses: only chains.
  rule.expected_emitted = [](const ModelCase& tiny, const OptionValues& values) {
    if (tiny.report == DraftReport::kOneHot) return expected_when_followed(tiny, *tiny.target);
    return expected_behind(tiny, {}, -1, values.at("rho"));
  };
  return rule;
}

}  // namespace draftproof::reference::law::rules
