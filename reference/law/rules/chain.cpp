// The chain rule in real numbers: Leviathan, Kalman, Matias, "Fast inference from transformers via
// speculative decoding" (ICML 2023), algorithm 1 and section 2.3; Chen et al., "Accelerating large
// language model decoding with speculative sampling" (2023), algorithm 2 and theorem 1.
#include <algorithm>

#include "reference/error.h"
#include "reference/law/rules/residual.h"
#include "reference/law/rules/rules.h"

namespace draftproof::reference::law::rules {
namespace {

Decision chain(const Verification& step, Chooser& chooser) {
  DRAFTPROOF_CHECK(step.draft.is_chain(), "not a chain");
  Decision decision;
  for (int node = 0; node < step.draft.size(); ++node) {
    const Token token = step.draft.nodes[node].token;
    const LawRow& target = step.behind(node - 1);
    const LawRow draft = step.draft.reported_row(node, step.vocab_size());
    DRAFTPROOF_CHECK(draft[token] > 0, "drafted, but of probability 0 in what was reported");
    const Exact ratio = target[token] / draft[token];
    if (!chooser.accept(std::min(ratio, Exact(1)), {node, Purpose::kAccept})) {
      decision.last = chooser.draw(residual(target, draft), {node, Purpose::kRecovered});
      return decision;
    }
    decision.accepted.push_back(node);
  }
  const int count = step.draft.size();
  decision.last = chooser.draw(step.behind(count - 1), {count, Purpose::kBonus});
  return decision;
}

/// 1 + sum over drafted paths of the product of min(target, draft); for one-hot reports, where the
/// draft only chooses which token is compared, of draft x target.
Exact expected_of_rest(const ModelCase& tiny, const Context& context, int remaining) {
  if (remaining == 0) return 1;
  const LawRow& target = tiny.target->row(context);
  const LawRow& draft = tiny.draft->row(context);
  Exact sum = 1;
  for (Token x = 0; x < tiny.vocab_size(); ++x) {
    const Exact kept = tiny.report == DraftReport::kOneHot ? Exact(draft[x] * target[x])
                                                           : std::min(draft[x], target[x]);
    if (kept == 0) continue;
    Context longer = context;
    longer.push_back(x);
    sum += kept * expected_of_rest(tiny, longer, remaining - 1);
  }
  return sum;
}

}  // namespace

LawRule chain_rule() {
  LawRule rule;
  rule.name = "chain";
  rule.citation = "Leviathan, Kalman, Matias 2023, algorithm 1; Chen et al. 2023, algorithm 2";
  rule.acceptance = "min(1, target(x) / draft(x))";
  rule.recovered = "max(0, target - draft), normalised";
  rule.bonus = "target";
  rule.conditions =
      "the row reported is the law drawn from; accept, recovered and draft coins apart";
  rule.provenance = {
      "target and draft K/V behind the accepted prefix; counts, grammar state, coin offsets",
      "vLLM rejection_sample_method=standard (2026-08), transformers assistant_model (2026-02), "
      "SGLang --speculative-use-rejection-sampling with topk 1 (2026-07), TensorRT-LLM "
      "use_rejection_sampling (one_model_sampler.py @051edeb)",
      "",
      "E[N] = 1 + sum over drafted paths of the product of min(target, draft); at a constant "
      "acceptance a: (1 - a^(D+1)) / (1 - a)",
      "FlashInfer chain sampling (0.7.4), which TensorRT-LLM calls; vLLM V2 (0.32.0)",
      "vLLM V2 captures the draft, not the rule (pulls 37639, 2026-03; 43924, open 2026-05)"};
  rule.make = [](const OptionValues&) { return chain; };
  rule.expected_emitted = [](const ModelCase& tiny, const OptionValues&) {
    return expected_of_rest(tiny, {}, tiny.draft_count());
  };
  return rule;
}

}  // namespace draftproof::reference::law::rules
