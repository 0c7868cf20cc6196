// FLy: Li et al., "Training-free loosely speculative decoding" (arXiv:2511.22972, 2025), as
// proposed for vLLM (pulls 50808, closed, and 53987, open, 2026-08): every token is first judged by
// the chain's own coins; a token that they reject is kept all the same if the target is uncertain
// there, gives the token some probability, and the next W tokens all pass on their own. The
// uncertainty is the entropy of the three largest probabilities, taken here over their sum;
// comparisons with the threshold are exact.
#include <algorithm>
#include <functional>

#include "reference/error.h"
#include "reference/law/perplexity.h"
#include "reference/law/rules/residual.h"
#include "reference/law/rules/rules.h"
#include "reference/law/rules/token_wise.h"

namespace draftproof::reference::law::rules {
namespace {

constexpr auto kWindow = "window";
constexpr auto kEntropy = "entropy";

LawRow three_largest(LawRow row) {
  std::sort(row.begin(), row.end(), std::greater<>());
  row.resize(std::min<std::size_t>(row.size(), 3));
  Exact sum = 0;
  for (const Exact& probability : row) sum += probability;
  for (Exact& probability : row) probability /= sum;
  return row;
}

Decision fly(const Verification& step, Chooser& chooser, int window, const Exact& entropy) {
  DRAFTPROOF_CHECK(step.draft.is_chain(), "not a chain");
  const int count = step.draft.size();
  std::vector<bool> passes;
  for (int node = 0; node < count; ++node) {
    const Token token = step.draft.nodes[node].token;
    const LawRow draft = step.draft.reported_row(node, step.vocab_size());
    DRAFTPROOF_CHECK(draft[token] > 0, "drafted, but of probability 0 in what was reported");
    passes.push_back(
        chooser.accept(std::min(Exact(1), Exact(step.behind(node - 1)[token] / draft[token])),
                       {node, Purpose::kAccept}));
  }
  const auto is_let_through = [&](int node) {
    const LawRow& target = step.behind(node - 1);
    if (node + window >= count || target[step.draft.nodes[node].token] == 0) return false;
    for (int next = node + 1; next <= node + window; ++next)
      if (!passes[next]) return false;
    return entropy_is_at_least(three_largest(target), entropy);
  };
  Decision decision;
  for (int node = 0; node < count; ++node) {
    if (!passes[node] && !is_let_through(node)) {
      decision.last = chooser.draw(
          residual(step.behind(node - 1), step.draft.reported_row(node, step.vocab_size())),
          {node, Purpose::kRecovered});
      return decision;
    }
    decision.accepted.push_back(node);
  }
  decision.last = chooser.draw(step.behind(count - 1), {count, Purpose::kBonus});
  return decision;
}

}  // namespace

LawRule fly_rule() {
  LawRule rule;
  rule.name = "fly";
  rule.citation = "Li et al. 2025 (arXiv:2511.22972); vLLM pull 53987 (open, 2026-08)";
  rule.acceptance =
      "min(1, target(x) / draft(x)); a rejection is overridden if H(three largest) >= entropy, "
      "target(x) > 0 and the next W tokens pass";
  rule.recovered = "max(0, target - draft), normalised";
  rule.bonus = "target";
  rule.conditions = "against the target's law; exact for drafts of at most W tokens; lossy";
  rule.kind = RuleKind::kLossy;
  rule.is_prefix_adapted = false;
  rule.options = {{kWindow, 1, 1, 1000, "W: tokens that have to pass behind an overridden one"},
                  {kEntropy, Exact(1, 2), 0, 2, "threshold in nats, at most ln 3 can be reached"}};
  rule.provenance = {"as chain",  "vLLM pull 53987, open (2026-08)",
                     "",          "as chain, more accepted",
                     "not known", "not known"};
  rule.make = [](const OptionValues& options) -> RuleFunction {
    return [window = whole_number(options, kWindow), entropy = options.at(kEntropy)](
               const Verification& step, Chooser& chooser) {
      return fly(step, chooser, window, entropy);
    };
  };
  return rule;
}

}  // namespace draftproof::reference::law::rules
