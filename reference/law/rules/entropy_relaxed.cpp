// Acceptance relaxed by uncertainty, EARS: Sun et al., "Efficient adaptive rejection sampling for
// accelerating speculative decoding in large language models" (arXiv:2512.13194, 2025): the ratio
// is raised by a tolerance in proportion to the target's uncertainty 1 - max target. The residual
// is the chain's.
#include <algorithm>

#include "reference/law/rules/residual.h"
#include "reference/law/rules/rules.h"
#include "reference/law/rules/token_wise.h"

namespace draftproof::reference::law::rules {
namespace {

constexpr auto kTolerance = "tolerance";

Exact uncertainty(const LawRow& target) { return 1 - target[first_maximum(target)]; }

}  // namespace

LawRule entropy_relaxed_rule() {
  LawRule rule;
  rule.name = "entropy-relaxed";
  rule.citation = "Sun et al. 2025 (EARS, arXiv:2512.13194)";
  rule.acceptance = "min(1, target(x) / draft(x) + tolerance (1 - max target))";
  rule.recovered = "max(0, target - draft), normalised";
  rule.bonus = "target";
  rule.conditions = "against the target's law; exact for tolerance 0; lossy";
  rule.kind = RuleKind::kLossy;
  rule.options = {{kTolerance, Exact(1, 10), 0, 1, "weight of the uncertainty"}};
  rule.provenance = {"as chain",  "not known", "", "as chain, more accepted",
                     "not known", "not known"};
  rule.make = [](const OptionValues& options) -> RuleFunction {
    return [tolerance = options.at(kTolerance)](const Verification& step, Chooser& chooser) {
      return walk(
          step, chooser,
          [&](const Judged& x) {
            return std::min(Exact(1), Exact(x.target[x.token] / x.draft[x.token] +
                                            tolerance * uncertainty(x.target)));
          },
          [](const Judged& x) { return residual(x.target, x.draft); });
    };
  };
  rule.expected_emitted = [](const ModelCase& tiny, const OptionValues& options) {
    return expected_of_walk(tiny, [&](const Drafted& x) {
      const Exact raised =
          x.target_mass() + options.at(kTolerance) * uncertainty(x.target) * x.reported();
      return Exact(x.draft_mass() / x.reported() * std::min(x.reported(), raised));
    });
  };
  return rule;
}

}  // namespace draftproof::reference::law::rules
