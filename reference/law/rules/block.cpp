// Block verification: Sun, Mendlovic, Leviathan, Aharoni, Ro, Beirami, Suresh, "Block verification
// accelerates speculative decoding" (ICLR 2025, arXiv:2403.10444), algorithm 2, equations 4 and 5.
// Every slot of the block flips a coin of its own and the longest prefix that passes is kept, so a
// token may be kept although an earlier slot failed. No lossless rule on a single path has a larger
// expected length, not even with rows off the path (Thomas, Pal, arXiv:2602.16961, 2026): what
// emits more is lossy.
#include <algorithm>

#include "reference/error.h"
#include "reference/law/rules/residual.h"
#include "reference/law/rules/rules.h"

namespace draftproof::reference::law::rules {
namespace {

/// `scale` x target.
LawRow scaled(const LawRow& target, const Exact& scale) {
  LawRow row = target;
  for (Exact& probability : row) probability *= scale;
  return row;
}

Exact positive_mass(const LawRow& first, const LawRow& second) {
  Exact sum = 0;
  for (std::size_t v = 0; v < first.size(); ++v)
    if (first[v] > second[v]) sum += first[v] - second[v];
  return sum;
}

Decision block(const Verification& step, Chooser& chooser) {
  DRAFTPROOF_CHECK(step.draft.is_chain(), "not a chain");
  const int count = step.draft.size();
  std::vector<Exact> kept = {1};  // the paper's p_i, i = 0 .. count
  for (int node = 0; node < count; ++node) {
    const Token token = step.draft.nodes[node].token;
    const LawRow draft = step.draft.reported_row(node, step.vocab_size());
    DRAFTPROOF_CHECK(draft[token] > 0, "drafted, but of probability 0 in what was reported");
    kept.push_back(
        std::min(Exact(1), Exact(kept.back() * step.behind(node - 1)[token] / draft[token])));
  }
  int length = 0;
  for (int i = 1; i <= count; ++i) {
    Exact pass = kept[i];
    if (i < count) {
      const Exact excess = positive_mass(scaled(step.behind(i - 1), kept[i]),
                                         step.draft.reported_row(i, step.vocab_size()));
      const Exact denominator = excess + 1 - kept[i];
      pass = denominator == 0 ? Exact(1) : Exact(excess / denominator);
    }
    if (chooser.accept(pass, {i - 1, Purpose::kAccept})) length = i;
  }
  Decision decision;
  for (int node = 0; node < length; ++node) decision.accepted.push_back(node);
  if (length == count) {
    decision.last = chooser.draw(step.behind(count - 1), {count, Purpose::kBonus});
  } else {
    decision.last = chooser.draw(residual(scaled(step.behind(length - 1), kept[length]),
                                          step.draft.reported_row(length, step.vocab_size())),
                                 {length, Purpose::kRecovered});
  }
  return decision;
}

/// Sum over drafted paths behind `context` of draft(path) R / max(1, R_1, .. R_i), where R is the
/// product of target / reported up to here and `peak` the largest so far.
Exact kept_behind(const ModelCase& tiny, Context& context, const Exact& ratio, const Exact& peak,
                  int remaining) {
  Exact sum = 0;
  if (remaining == 0) return sum;
  const LawRow& target = tiny.target->row(context);
  const LawRow& draft = tiny.draft->row(context);
  for (Token x = 0; x < tiny.vocab_size(); ++x) {
    if (draft[x] == 0 || target[x] == 0) continue;
    const Exact reported = tiny.report == DraftReport::kOneHot ? Exact(1) : draft[x];
    const Exact longer = ratio * target[x] / reported;
    const Exact highest = std::max(peak, longer);
    context.push_back(x);
    sum +=
        draft[x] * (longer / highest + kept_behind(tiny, context, longer, highest, remaining - 1));
    context.pop_back();
  }
  return sum;
}

}  // namespace

LawRule block_rule() {
  LawRule rule;
  rule.name = "block";
  rule.citation = "Sun et al. 2025, algorithm 2 (arXiv:2403.10444)";
  rule.acceptance =
      "the longest prefix i with coin_i < S_i / (S_i + 1 - k_i), at the last slot k_D; "
      "k_i = min(1, k_{i-1} target(x_i) / draft(x_i)), S_i = sum max(0, k_i target - draft)";
  rule.recovered = "max(0, k_i target - draft), normalised";
  rule.bonus = "target";
  rule.conditions =
      "as chain, and accept coins and draft noise fresh in every iteration; a shorter draft ends "
      "the block";
  rule.is_prefix_adapted = false;
  rule.provenance = {
      "as chain",
      "vLLM rejection_sample_method=block (pull 46781, merged 2026-06), vLLM-Ascend (7808, "
      "2026-03); SGLang 36516 open (2026-08)",
      "",
      "1 + sum over i of E[k_i] tokens an iteration, never fewer than chain; same for one-hot "
      "drafts",
      "vLLM (2026-06)",
      "vLLM V2 captures the draft, not the rule (pulls 37639, 2026-03; 43924, open 2026-05)"};
  rule.make = [](const OptionValues&) { return block; };
  rule.expected_emitted = [](const ModelCase& tiny, const OptionValues&) {
    Context context;
    return Exact(1 + kept_behind(tiny, context, 1, 1, tiny.draft_count()));
  };
  return rule;
}

}  // namespace draftproof::reference::law::rules
