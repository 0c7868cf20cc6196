// Rules that are lossless for another law than the target's: the chain rule against a mixture of
// target and draft. Static ensembles, as in DIVERSED (Wang et al., AISTATS 2026, arXiv:2604.07622),
// take one weight; speculative cascades (Narasimhan et al., "Faster cascades via speculative
// decoding", ICLR 2025) take the draft's row where the target is not enough better and the target's
// where it is. Their distance to the target is that of the mixture, position by position.
#include <algorithm>
#include <functional>

#include "reference/law/rules/residual.h"
#include "reference/law/rules/rules.h"
#include "reference/law/rules/token_wise.h"

namespace draftproof::reference::law::rules {
namespace {

constexpr auto kWeight = "weight";
constexpr auto kCost = "cost";

using Mixture = std::function<LawRow(const LawRow& target, const LawRow& draft)>;

RuleFunction chain_against(Mixture mixture) {
  return [mixture = std::move(mixture)](const Verification& step, Chooser& chooser) {
    return walk(
        step, chooser,
        [&](const Judged& x) {
          return std::min(Exact(1), Exact(mixture(x.target, x.draft)[x.token] / x.draft[x.token]));
        },
        [&](const Judged& x) { return residual(mixture(x.target, x.draft), x.draft); });
  };
}

LawRow ensemble(const LawRow& target, const LawRow& draft, const Exact& weight) {
  LawRow row;
  for (std::size_t v = 0; v < target.size(); ++v)
    row.push_back(weight * draft[v] + (1 - weight) * target[v]);
  return row;
}

/// The cascade defers to the target iff its largest probability is above the draft's by more than
/// cost x their distance (the optimal rule of the paper, plugged in).
bool defers(const LawRow& target, const LawRow& draft, const Exact& cost) {
  Exact distance = 0;
  for (std::size_t v = 0; v < target.size(); ++v)
    if (target[v] > draft[v]) distance += target[v] - draft[v];
  return *std::max_element(draft.begin(), draft.end()) <
         *std::max_element(target.begin(), target.end()) - cost * distance;
}

LawRow as_reported(const Drafted& x) {
  return x.is_one_hot ? one_hot_row(static_cast<int>(x.target.size()), x.token) : x.draft;
}

}  // namespace

LawRule ensemble_rule() {
  LawRule rule;
  rule.name = "ensemble";
  rule.citation = "Wang et al. 2026 (DIVERSED, arXiv:2604.07622), static ensemble";
  rule.acceptance = "min(1, m(x) / draft(x)), m = weight draft + (1 - weight) target";
  rule.recovered = "max(0, m - draft), normalised, which is chain's";
  rule.bonus = "target";
  rule.conditions = "against the target's law; exact for m; lossy by weight x TV(target, draft)";
  rule.kind = RuleKind::kLossy;
  rule.options = {{kWeight, Exact(1, 2), 0, 1, "of the draft in the mixture; DIVERSED learns it"}};
  rule.provenance = {"as chain",
                     "authors' code (2026-04)",
                     "none for a static weight, a weight head for DIVERSED",
                     "acceptance 1 - (1 - weight) TV(target, draft)",
                     "not known",
                     "not known"};
  rule.make = [](const OptionValues& options) {
    return chain_against([weight = options.at(kWeight)](const LawRow& target, const LawRow& draft) {
      return ensemble(target, draft, weight);
    });
  };
  // min(draft, w draft + (1 - w) target) = draft - (1 - w) max(0, draft - target).
  rule.expected_emitted = [](const ModelCase& tiny, const OptionValues& options) {
    return expected_of_walk(tiny, [&](const Drafted& x) {
      const Exact reported = x.reported();
      const Exact excess = std::max(Exact(0), Exact(reported - x.target_mass()));
      return Exact(x.draft_mass() * (1 - (1 - options.at(kWeight)) * excess / reported));
    });
  };
  return rule;
}

LawRule cascade_rule() {
  LawRule rule;
  rule.name = "cascade";
  rule.citation = "Narasimhan et al. 2025 (ICLR), speculative cascade with the optimal deferral";
  rule.acceptance = "1 where max draft >= max target - cost TV(target, draft), else as chain";
  rule.recovered = "as chain";
  rule.bonus = "target";
  rule.conditions = "against the target's law; exact where it defers; lossy";
  rule.kind = RuleKind::kLossy;
  rule.options = {{kCost, Exact(1, 2), 0, 10, "of a rejection, against a gain in probability"}};
  rule.provenance = {"as chain",  "not known", "", "acceptance 1 without deferral, else chain's",
                     "not known", "not known"};
  rule.make = [](const OptionValues& options) {
    return chain_against([cost = options.at(kCost)](const LawRow& target, const LawRow& draft) {
      return defers(target, draft, cost) ? target : draft;
    });
  };
  rule.expected_emitted = [](const ModelCase& tiny, const OptionValues& options) {
    return expected_of_walk(tiny, [&](const Drafted& x) {
      if (!defers(x.target, as_reported(x), options.at(kCost))) return x.draft_mass();
      return Exact(x.draft_mass() / x.reported() * std::min(x.reported(), x.target_mass()));
    });
  };
  return rule;
}

}  // namespace draftproof::reference::law::rules
