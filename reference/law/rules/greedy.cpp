// The greedy rule on laws: a drafted token is kept iff it is the first maximum of the target's law.
// Stern, Shazeer, Uszkoreit, "Blockwise parallel decoding" (NeurIPS 2018), section 3, the verify
// step. Its truth is greedy decoding of the target, so it is held against model::greedy_model().
#include "reference/error.h"
#include "reference/law/rules/rules.h"

namespace draftproof::reference::law::rules {
namespace {

Decision greedy(const Verification& step, Chooser&) {
  DRAFTPROOF_CHECK(step.draft.is_chain(), "not a chain");
  Decision decision;
  for (int node = 0; node < step.draft.size(); ++node) {
    const Token best = first_maximum(step.behind(node - 1));
    if (step.draft.nodes[node].token != best) {
      decision.last = best;
      return decision;
    }
    decision.accepted.push_back(node);
  }
  decision.last = first_maximum(step.behind(step.draft.size() - 1));
  return decision;
}

/// 1 + sum over positions of the probability that the draft is the greedy continuation so far.
Exact expected(const ModelCase& tiny) {
  Exact sum = 1;
  Exact reach = 1;
  Context context;
  for (int i = 0; i < tiny.draft_count(); ++i) {
    const Token best = first_maximum(tiny.target->row(context));
    reach *= tiny.draft->row(context)[best];
    sum += reach;
    context.push_back(best);
  }
  return sum;
}

}  // namespace

LawRule greedy_rule() {
  LawRule rule;
  rule.name = "greedy";
  rule.citation = "Stern, Shazeer, Uszkoreit 2018, section 3: greedy decoding, drafts save steps";
  rule.acceptance = "1 if x is the first maximum of target, else 0";
  rule.recovered = "the first maximum of target";
  rule.bonus = "the first maximum of target";
  rule.conditions = "against greedy decoding of the target, ties to the lowest id";
  rule.decoded = DecodedLaw::kGreedy;
  rule.provenance = {
      "target and draft K/V behind the accepted prefix; counts, grammar state",
      "at temperature 0: llama.cpp (2026-04), transformers (2026-02), SGLang DFLASH (2026-07), "
      "vLLM (2026-08); TensorRT-LLM PEARL (@0935b08)",
      "",
      "E[N] = 1 + sum over positions of the probability that the draft is greedy so far",
      "not known",
      "not known"};
  rule.make = [](const OptionValues&) { return greedy; };
  rule.expected_emitted = [](const ModelCase& tiny, const OptionValues&) { return expected(tiny); };
  return rule;
}

}  // namespace draftproof::reference::law::rules
