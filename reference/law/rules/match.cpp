// Sample and match: the target's own token is drawn at every position and always emitted; the draft
// only decides how far one iteration goes. Verification of llama.cpp (common_sampler_sample_and_
// accept_n, 2026-04), TensorRT-LLM's exact match, DFlash's reference; the stochastic form of Stern,
// Shazeer, Uszkoreit 2018. The draws are bonus coins at every position, so that with position-keyed
// coins the emitted string is the one that plain decoding draws.
#include "reference/error.h"
#include "reference/law/rules/rules.h"
#include "reference/law/rules/token_wise.h"

namespace draftproof::reference::law::rules {
namespace {

Decision match(const Verification& step, Chooser& chooser) {
  DRAFTPROOF_CHECK(step.draft.is_chain(), "not a chain");
  Decision decision;
  for (int node = 0; node <= step.draft.size(); ++node) {
    const Token drawn = chooser.draw(step.behind(node - 1), {node, Purpose::kBonus});
    if (node == step.draft.size() || drawn != step.draft.nodes[node].token) {
      decision.last = drawn;
      break;
    }
    decision.accepted.push_back(node);
  }
  return decision;
}

}  // namespace

LawRule match_rule() {
  LawRule rule;
  rule.name = "match";
  rule.citation = "llama.cpp sample-and-accept (2026-04); Stern, Shazeer, Uszkoreit 2018";
  rule.acceptance = "1 if the target's own draw is x, else 0";
  rule.recovered = "the draw that differed";
  rule.bonus = "target";
  rule.conditions = "any drafter that does not see the draws; what it reports is never read";
  rule.provenance = {
      "target K/V behind the accepted prefix",
      "llama.cpp (2026-04), TensorRT-LLM unless use_rejection_sampling (@051edeb), DFlash "
      "reference (2026-04), "
      "transformers with two tokenizers (2026-02)",
      "",
      "acceptance sum draft x target; of argmax drafts target(argmax draft)",
      "not known",
      "not known"};
  rule.make = [](const OptionValues&) { return match; };
  rule.expected_emitted = [](const ModelCase& tiny, const OptionValues&) {
    return expected_of_walk(
        tiny, [](const Drafted& x) { return Exact(x.draft_mass() * x.target_mass()); });
  };
  return rule;
}

}  // namespace draftproof::reference::law::rules
