// Drafter-invariant coupling: Daliri, Musco, Suresh, "Coupling without communication and
// drafter-invariant speculative decoding" (arXiv:2408.07978, 2024): draft and target draw from the
// same noise, the target's token is emitted whatever was drafted, and the draft goes on while both
// agree. What is emitted is a function of the noise alone. Engines share an exponential race; here
// the shared noise is one coin read by inverse CDF, which a rational enumerator walks exactly: the
// coin of the drafted token is read again. The race itself is in reference/law/race.h.
#include <algorithm>

#include "reference/error.h"
#include "reference/law/rules/rules.h"
#include "reference/law/rules/token_wise.h"

namespace draftproof::reference::law::rules {
namespace {

Decision shared_noise(const Verification& step, Chooser& chooser) {
  DRAFTPROOF_CHECK(step.draft.is_chain(), "not a chain");
  Decision decision;
  for (int node = 0; node <= step.draft.size(); ++node) {
    const Token drawn = chooser.draw(step.behind(node - 1), {node, Purpose::kDraft});
    if (node == step.draft.size() || drawn != step.draft.nodes[node].token) {
      decision.last = drawn;
      break;
    }
    decision.accepted.push_back(node);
  }
  return decision;
}

/// Length of the coins for which both rows give `token`: the overlap of its two cells.
Exact overlap(const LawRow& target, const LawRow& draft, Token token) {
  Exact target_below = 0;
  Exact draft_below = 0;
  for (Token v = 0; v < token; ++v) {
    target_below += target[v];
    draft_below += draft[v];
  }
  const Exact low = std::max(target_below, draft_below);
  const Exact high =
      std::min(Exact(target_below + target[token]), Exact(draft_below + draft[token]));
  return std::max(Exact(high - low), Exact(0));
}

}  // namespace

LawRule shared_noise_rule() {
  LawRule rule;
  rule.name = "shared-noise";
  rule.citation = "Daliri, Musco, Suresh 2024 (arXiv:2408.07978), by inverse CDF";
  rule.acceptance = "1 if the target's draw with the draft's own noise is x, else 0";
  rule.recovered = "the draw that differed";
  rule.bonus = "target, with the noise of its position";
  rule.conditions =
      "whether a position is drafted does not depend on the noise of the position; what is "
      "reported "
      "is never read; noise may be keyed by position, and under the chain rule it may not be "
      "shared";
  rule.provenance = {
      "target and draft K/V behind the accepted prefix",
      "not known; reference code github.com/majid-daliri/DISD",
      "",
      "acceptance at least (1 - TV) / (1 + TV) for the race; the overlap of cells here",
      "not known",
      "not known"};
  rule.make = [](const OptionValues&) { return shared_noise; };
  rule.expected_emitted = [](const ModelCase& tiny, const OptionValues&) {
    return expected_of_walk(tiny,
                            [](const Drafted& x) { return overlap(x.target, x.draft, x.token); });
  };
  return rule;
}

}  // namespace draftproof::reference::law::rules
