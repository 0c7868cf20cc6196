// Rules that are wrong on purpose: the siblings that an exact law must tell from the chain rule.
#pragma once

#include <algorithm>

#include "reference/law/chain.h"

namespace draftproof::reference::law {

/// The chain with its acceptance and its residual exchanged for others.
template <class Acceptance, class Residual>
RuleFunction<Exact> chain_with(Acceptance acceptance, Residual residual) {
  return [=](const Iteration<Exact>& iteration, Chooser<Exact>& chooser) {
    const std::vector<Token> drafted = draw_draft(iteration, chooser);
    Emission emission;
    for (int i = 0; i < iteration.draft_count(); ++i) {
      const Token x = drafted[i];
      const LawRow<Exact>& target = iteration.target(drafted, i);
      const LawRow<Exact> draft = iteration.reported(drafted, i);
      if (!chooser.accept(acceptance(target[x], draft[x]))) {
        LawRow<Exact> weights;
        for (std::size_t v = 0; v < target.size(); ++v)
          weights.push_back(residual(target[v], draft[v]));
        emission.tokens.push_back(chooser.draw(normalised(std::move(weights)).probabilities()));
        return emission;
      }
      emission.tokens.push_back(x);
      ++emission.accepted_count;
    }
    emission.tokens.push_back(chooser.draw(iteration.target(drafted, iteration.draft_count())));
    return emission;
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
