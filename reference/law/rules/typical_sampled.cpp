// Typical acceptance of sampled drafts: Cai et al., "Medusa" (ICML 2024), section 2.3.1, in the
// form that vLLM V0 had for chains (typical acceptance sampler, 2024 to 2025): a drafted token is
// kept iff the target finds it likely enough for its entropy, and else the argmax replaces it. The
// entropy is the paper's; Medusa's code adds 1e-5 inside the logarithm. Published default pairs:
// cap .09 with scale .3 (entry point), and swapped, .3 with .09 (the functions' own defaults).
#include "reference/law/rules/rules.h"
#include "reference/law/rules/token_wise.h"
#include "reference/law/rules/typical.h"

namespace draftproof::reference::law::rules {
namespace {

constexpr auto kCap = "cap";
constexpr auto kScale = "scale";

}  // namespace

LawRule typical_sampled_rule() {
  LawRule rule;
  rule.name = "typical";
  rule.citation =
      "Cai et al. 2024, section 2.3.1; vLLM V0 typical acceptance sampler (0.9.0, 2025)";
  rule.acceptance = "1 if target(x) > min(cap, scale exp(-H(target))), else 0";
  rule.recovered = "the first maximum of target";
  rule.bonus = "target";
  rule.conditions = "against the target's law; lossy";
  rule.kind = RuleKind::kLossy;
  rule.options = {{kCap, Exact(9, 100), 0, 1, "posterior threshold; Medusa's functions have .3"},
                  {kScale, Exact(3, 10), 0, 1, "posterior alpha; Medusa's functions have .09"}};
  rule.provenance = {
      "as chain",  "vLLM V0 typical_acceptance_sampler (0.9.0, 2025; removed with V0)",
      "",          "1 + sum of draft mass above the threshold",
      "not known", "not known"};
  rule.make = [](const OptionValues& options) -> RuleFunction {
    return [cap = options.at(kCap), scale = options.at(kScale)](const Verification& step,
                                                                Chooser& chooser) {
      return walk(
          step, chooser,
          [&](const Judged& x) { return Exact(is_typical(x.target, x.token, cap, scale) ? 1 : 0); },
          [](const Judged& x) {
            return one_hot_row(static_cast<int>(x.target.size()), first_maximum(x.target));
          });
    };
  };
  rule.expected_emitted = [](const ModelCase& tiny, const OptionValues& options) {
    return expected_of_walk(tiny, [&](const Drafted& x) {
      const bool is_kept = is_typical(x.target, x.token, options.at(kCap), options.at(kScale));
      return is_kept ? x.draft_mass() : Exact(0);
    });
  };
  return rule;
}

}  // namespace draftproof::reference::law::rules
