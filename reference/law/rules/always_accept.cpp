// Always accept, and accept what the target likes at least as much: two rules without a paper that
// keep turning up. The first emits the draft's law (vLLM-Ascend 13730, 2026-08: the coin was the
// constant 0; SGLang's SIMULATE_ACC_LEN benchmark mode); the second replaces the coin by a
// comparison of target and draft.
#include "reference/law/rules/residual.h"
#include "reference/law/rules/rules.h"
#include "reference/law/rules/token_wise.h"

namespace draftproof::reference::law::rules {

LawRule always_accept_rule() {
  LawRule rule;
  rule.name = "always-accept";
  rule.citation = "vLLM-Ascend issue 13730 (2026-08); benchmark modes";
  rule.acceptance = "1";
  rule.recovered = "none";
  rule.bonus = "target";
  rule.conditions = "against the target's law: the draft's law comes out; lossy";
  rule.kind = RuleKind::kLossy;
  rule.provenance = {"none",      "SGLANG_SIMULATE_ACC_LEN (benchmark, 2026-07)",
                     "",          "D + 1 tokens an iteration",
                     "not known", "not known"};
  rule.make = [](const OptionValues&) -> RuleFunction {
    return [](const Verification& step, Chooser& chooser) {
      return walk(
          step, chooser, [](const Judged&) { return Exact(1); },
          [](const Judged& x) { return x.target; });
    };
  };
  rule.expected_emitted = [](const ModelCase& tiny, const OptionValues&) {
    return Exact(tiny.draft_count() + 1);
  };
  return rule;
}

LawRule at_least_draft_rule() {
  LawRule rule;
  rule.name = "at-least-draft";
  rule.citation = "derived; a textbook slip: the coin is left out";
  rule.acceptance = "1 if target(x) >= draft(x), else 0";
  rule.recovered = "max(0, target - draft), normalised";
  rule.bonus = "target";
  rule.conditions = "against the target's law; lossy";
  rule.kind = RuleKind::kLossy;
  rule.provenance = {"as chain",  "not known", "", "1 + sum of draft mass where target >= draft",
                     "not known", "not known"};
  rule.make = [](const OptionValues&) -> RuleFunction {
    return [](const Verification& step, Chooser& chooser) {
      return walk(
          step, chooser,
          [](const Judged& x) { return Exact(x.target[x.token] >= x.draft[x.token] ? 1 : 0); },
          [](const Judged& x) { return residual(x.target, x.draft); });
    };
  };
  rule.expected_emitted = [](const ModelCase& tiny, const OptionValues&) {
    return expected_of_walk(tiny, [](const Drafted& x) {
      return x.target_mass() >= x.reported() ? x.draft_mass() : Exact(0);
    });
  };
  return rule;
}

}  // namespace draftproof::reference::law::rules
