// Relaxed acceptance of TensorRT-LLM (use_relaxed_acceptance_for_thinking, docs 1.4.0rc, 2026): a
// drafted token is kept iff it is among the target's N largest and its probability is within delta
// of the largest; else the argmax replaces it. It relaxes greedy decoding, so greedy decoding is
// what it is held against. The engine's own defaults, N = 1 and delta = 0, are greedy; its
// documented example is N = 10, delta = .6.
#include "reference/law/rules/rules.h"
#include "reference/law/rules/token_wise.h"

namespace draftproof::reference::law::rules {
namespace {

constexpr auto kTopCount = "top-count";
constexpr auto kDelta = "delta";

/// Among the `count` largest, lower ids first among equals, and within `delta` of the largest.
bool is_near_top(const LawRow& target, Token token, int count, const Exact& delta) {
  int before = 0;
  for (Token v = 0; v < static_cast<Token>(target.size()); ++v)
    if (target[v] > target[token] || (target[v] == target[token] && v < token)) ++before;
  return before < count && target[token] >= target[first_maximum(target)] - delta;
}

Decision relaxed(const Verification& step, int count, const Exact& delta) {
  Decision decision;
  for (int node = 0; node < step.draft.size(); ++node) {
    if (!is_near_top(step.behind(node - 1), step.draft.nodes[node].token, count, delta)) {
      decision.last = first_maximum(step.behind(node - 1));
      return decision;
    }
    decision.accepted.push_back(node);
  }
  decision.last = first_maximum(step.behind(step.draft.size() - 1));
  return decision;
}

/// The part of `draft` on tokens that are near the top, counted from the sorted row's side: a token
/// is out iff `count` tokens come before it or it is more than delta below the largest.
Exact near_top_mass(const Drafted& x, int count, const Exact& delta) {
  const Exact floor = x.target[first_maximum(x.target)] - delta;
  if (x.target_mass() < floor) return 0;
  int not_below = 0;
  for (Token v = 0; v < static_cast<Token>(x.target.size()); ++v)
    not_below += x.target[v] > x.target_mass() || (x.target[v] == x.target_mass() && v <= x.token);
  return not_below <= count ? x.draft_mass() : Exact(0);
}

}  // namespace

LawRule relaxed_rule() {
  LawRule rule;
  rule.name = "relaxed";
  rule.citation = "TensorRT-LLM relaxed acceptance, docs 1.4.0rc (2026)";
  rule.acceptance = "1 if x is among the N largest and target(x) >= max target - delta, else 0";
  rule.recovered = "the first maximum of target";
  rule.bonus = "the first maximum of target";
  rule.conditions = "against greedy decoding; exact for N = 1, the engine's default; lossy";
  rule.kind = RuleKind::kLossy;
  rule.decoded = DecodedLaw::kGreedy;
  rule.options = {{kTopCount, 10, 1, 1'000'000, "N; the engine's default is 1"},
                  {kDelta, Exact(3, 5), 0, 1, "the engine's default is 0"}};
  rule.provenance = {"as greedy",
                     "TensorRT-LLM use_relaxed_acceptance_for_thinking, relaxed_topk, "
                     "relaxed_delta (docs 1.4.0rc, 2026)",
                     "",
                     "1 + sum of draft mass near the top",
                     "TensorRT-LLM (1.4.0rc, 2026)",
                     "not known"};
  rule.make = [](const OptionValues& options) -> RuleFunction {
    const int count = whole_number(options, kTopCount);
    return [count, delta = options.at(kDelta)](const Verification& step, Chooser&) {
      return relaxed(step, count, delta);
    };
  };
  rule.expected_emitted = [](const ModelCase& tiny, const OptionValues& options) {
    return expected_of_walk(tiny, [&](const Drafted& x) {
      return near_top_mass(x, whole_number(options, kTopCount), options.at(kDelta));
    });
  };
  return rule;
}

}  // namespace draftproof::reference::law::rules
