// Hierarchical speculative decoding, single draft: Zhou et al., "Overcoming joint intractability
// with lossless hierarchical speculative decoding" (arXiv:2601.05724, 2026), as the authors' code
// has it (github.com/ZhouYuxuanYX/Hierarchical-Speculative-Decoding at b8575e2, 2026-04,
// transformers/generation/utils.py, and simulation.py before it). Written with R_i for the product
// of target / draft up to token i and M_i = max(1, R_1 .. R_i), the code stops at slot i < D with
// probability S_i / (S_i + 1 - R_i / M_i), the block rule's own step, since R_i / M_i is the block
// rule's k_i. The last slot is different: the code keeps the whole draft with probability
// min(1, R_D), not R_D / M_D. Enumeration says what that does: where some R_i > max(1, R_D) the
// whole draft is kept too often, so from two drafted tokens on the law is not the target's and the
// expected length is above the lossless optimum. With the last ratio capped like the others
// (option capped-last = 1) the rule is the block rule, token for token.
#include <algorithm>

#include "reference/error.h"
#include "reference/law/rules/residual.h"
#include "reference/law/rules/rules.h"
#include "reference/law/rules/token_wise.h"

namespace draftproof::reference::law::rules {
namespace {

constexpr auto kCappedLast = "capped-last";

/// Number of kept tokens, by slots from the last down to the first.
Decision hierarchical(const Verification& step, Chooser& chooser, bool is_last_capped) {
  DRAFTPROOF_CHECK(step.draft.is_chain(), "not a chain");
  const int count = step.draft.size();
  std::vector<Exact> ratio = {1};   // R_i
  std::vector<Exact> capped = {1};  // R_i / M_i
  Exact peak = 1;
  for (int node = 0; node < count; ++node) {
    const Token token = step.draft.nodes[node].token;
    const LawRow draft = step.draft.reported_row(node, step.vocab_size());
    DRAFTPROOF_CHECK(draft[token] > 0, "drafted, but of probability 0 in what was reported");
    ratio.push_back(ratio.back() * step.behind(node - 1)[token] / draft[token]);
    peak = std::max(peak, ratio.back());
    capped.push_back(ratio.back() / peak);
  }
  const Exact whole = is_last_capped ? capped[count] : std::min(Exact(1), ratio[count]);
  Decision decision;
  const auto keep = [&](int length) {
    for (int node = 0; node < length; ++node) decision.accepted.push_back(node);
  };
  if (count == 0 || chooser.accept(whole, {count - 1, Purpose::kAccept})) {
    keep(count);
    decision.last = chooser.draw(step.behind(count - 1), {count, Purpose::kBonus});
    return decision;
  }
  for (int i = count - 1; i >= 0; --i) {
    const LawRow draft = step.draft.reported_row(i, step.vocab_size());
    LawRow branch = step.behind(i - 1);
    Exact excess = 0;
    Exact deficit = 0;
    for (std::size_t v = 0; v < branch.size(); ++v) {
      branch[v] *= capped[i];
      excess += std::max(Exact(branch[v] - draft[v]), Exact(0));
      deficit += std::max(Exact(draft[v] - branch[v]), Exact(0));
    }
    const Exact larger = std::max(excess, deficit);
    if (excess == 0 || (i > 0 && !chooser.accept(excess / larger, {i - 1, Purpose::kAccept})))
      continue;
    keep(i);
    decision.last = chooser.draw(residual(branch, draft), {i, Purpose::kRecovered});
    return decision;
  }
  DRAFTPROOF_CHECK(false, "the first slot never steps back once the draft is rejected");
  return decision;
}

}  // namespace

LawRule hsd_rule() {
  LawRule rule;
  rule.name = "hsd";
  rule.citation = "Zhou et al. 2026 (arXiv:2601.05724), their code at b8575e2 (2026-04)";
  rule.acceptance =
      "the whole draft with min(1, R_D), else the longest prefix i with coin_i < S_i / (S_i + 1 - "
      "k_i); R_i = product of target / draft, k_i = R_i / max(1, R_1 .. R_i)";
  rule.recovered = "max(0, k_i target - draft), normalised";
  rule.bonus = "target";
  rule.conditions =
      "published as lossless; exact only for one drafted token or one-hot drafts, as the last "
      "ratio "
      "is not capped; capped it is block";
  rule.kind = RuleKind::kLossy;
  rule.is_prefix_adapted = false;
  rule.options = {{kCappedLast, 0, 0, 1, "1: the last ratio is capped like the others"}};
  rule.provenance = {"as chain", "authors' code only (2026-04)", "", "as block", "not known",
                     "not known"};
  rule.make = [](const OptionValues& options) -> RuleFunction {
    const bool is_last_capped = whole_number(options, kCappedLast) == 1;
    return [is_last_capped](const Verification& step, Chooser& chooser) {
      return hierarchical(step, chooser, is_last_capped);
    };
  };
  return rule;
}

}  // namespace draftproof::reference::law::rules
