// Rules that are wrong on purpose: the siblings that an exact law must tell from the chain rule.
#pragma once

#include <algorithm>

#include "reference/law/rule.h"

namespace draftproof::reference::law {

/// The chain with its acceptance and its residual exchanged for others.
template <class Acceptance, class Residual>
RuleFunction chain_with(Acceptance acceptance, Residual residual) {
  return [=](const Verification& step, Chooser& chooser) {
    Decision decision;
    for (int node = 0; node < step.draft.size(); ++node) {
      const Token x = step.draft.nodes[node].token;
      const LawRow& target = step.behind(node - 1);
      const LawRow draft = step.draft.reported_row(node, step.vocab_size());
      if (!chooser.accept(acceptance(target[x], draft[x]), {node, Purpose::kAccept})) {
        std::vector<Exact> weights;
        for (std::size_t v = 0; v < target.size(); ++v)
          weights.push_back(residual(target[v], draft[v]));
        decision.last = chooser.draw(normalised(std::move(weights)).probabilities(),
                                     {node, Purpose::kRecovered});
        return decision;
      }
      decision.accepted.push_back(node);
    }
    decision.last =
        chooser.draw(step.behind(step.draft.size() - 1), {step.draft.size(), Purpose::kBonus});
    return decision;
  };
}

inline Exact ratio_acceptance(const Exact& target, const Exact& draft) {
  return std::min(Exact(target / draft), Exact(1));
}
inline Exact positive_part(const Exact& target, const Exact& draft) {
  return std::max(Exact(target - draft), Exact(0));
}
inline Exact whole_target(const Exact& target, const Exact&) { return target; }
inline Exact absolute_difference(const Exact& target, const Exact& draft) {
  return abs(target - draft);
}
inline Exact always(const Exact&, const Exact&) { return 1; }
inline Exact only_if_at_least(const Exact& target, const Exact& draft) {
  return target >= draft ? 1 : 0;
}

}  // namespace draftproof::reference::law
