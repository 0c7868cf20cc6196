// The chain rule with the draft's law taken at another temperature than it was drawn at: drafts
// drawn at temperature T, verified as if drawn at T / k, that is from the k-th powers of the
// probabilities, normalised. Met wherever draft logits are cached before or after scaling and
// scaled once too often (methods that cache logits: vLLM V2's draft_logits, 2026-08, does it
// right).
#include <algorithm>

#include "reference/law/rules/residual.h"
#include "reference/law/rules/rules.h"
#include "reference/law/rules/token_wise.h"

namespace draftproof::reference::law::rules {
namespace {

constexpr auto kPower = "power";

/// row^k, normalised.
LawRow at_power(const LawRow& row, int power) {
  LawRow weights(row.size(), Exact(1));
  Exact sum = 0;
  for (std::size_t v = 0; v < row.size(); ++v) {
    for (int i = 0; i < power; ++i) weights[v] *= row[v];
    sum += weights[v];
  }
  for (Exact& weight : weights) weight /= sum;
  return weights;
}

}  // namespace

LawRule temperature_mismatch_rule() {
  LawRule rule;
  rule.name = "temperature-mismatch";
  rule.citation = "derived: the reported law is not the law drawn from";
  rule.acceptance = "min(1, target(x) / d(x)), d = draft^k, normalised";
  rule.recovered = "max(0, target - d), normalised";
  rule.bonus = "target";
  rule.conditions = "against the target's law; exact for k = 1 and for one-hot drafts; lossy";
  rule.kind = RuleKind::kLossy;
  rule.options = {{kPower, 2, 1, 16, "k: the draft's temperature over the one it is taken at"}};
  rule.provenance = {"as chain",  "none by intent", "", "1 + sum of draft min(1, target / d)",
                     "not known", "not known"};
  rule.make = [](const OptionValues& options) -> RuleFunction {
    return [power = whole_number(options, kPower)](const Verification& step, Chooser& chooser) {
      return walk(
          step, chooser,
          [&](const Judged& x) {
            return std::min(Exact(1), Exact(x.target[x.token] / at_power(x.draft, power)[x.token]));
          },
          [&](const Judged& x) { return residual(x.target, at_power(x.draft, power)); });
    };
  };
  // draft min(1, target sum(draft^k) / draft(x)^k).
  rule.expected_emitted = [](const ModelCase& tiny, const OptionValues& options) {
    const int power = whole_number(options, kPower);
    return expected_of_walk(tiny, [&](const Drafted& x) {
      if (x.is_one_hot) return Exact(x.draft_mass() * x.target_mass());
      Exact own = 1;
      Exact sum = 0;
      for (std::size_t v = 0; v < x.draft.size(); ++v) {
        Exact product = 1;
        for (int i = 0; i < power; ++i) product *= x.draft[v];
        sum += product;
        if (static_cast<Token>(v) == x.token) own = product;
      }
      return Exact(x.draft_mass() * std::min(own, Exact(x.target_mass() * sum)) / own);
    });
  };
  return rule;
}

}  // namespace draftproof::reference::law::rules
