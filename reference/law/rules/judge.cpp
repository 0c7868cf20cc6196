// Judge decoding: Bachmann et al., "Judge decoding: Faster speculative sampling requires going
// beyond model alignment" (ICLR 2025): a classifier decides whether a drafted token is good enough,
// whatever the target thinks of it. Here the classifier is a table over token ids, given as the
// binary digits of a number, and what it turns down is replaced from the residual.
#include "reference/law/rules/rules.h"
#include "reference/law/rules/token_wise.h"

namespace draftproof::reference::law::rules {
namespace {

constexpr auto kApproved = "approved";

bool is_approved(int table, Token token) { return token < 31 && (table >> token & 1) == 1; }

}  // namespace

LawRule judge_rule() {
  LawRule rule;
  rule.name = "judge";
  rule.citation = "Bachmann et al. 2025 (ICLR)";
  rule.acceptance = "1 if the judge approves x, else 0";
  rule.recovered = "max(0, target - draft), normalised";
  rule.bonus = "target";
  rule.conditions = "against the target's law; lossy";
  rule.kind = RuleKind::kLossy;
  rule.options = {
      {kApproved, 1, 0, 2147483647, "sum of 2^id over the approved token ids; 1: token 0 only"}};
  rule.provenance = {"as chain",
                     "not known",
                     "a classifier head on the target's hidden state, trained on labelled tokens",
                     "1 + sum of approved draft mass",
                     "not known",
                     "not known"};
  rule.make = [](const OptionValues& options) -> RuleFunction {
    return [table = whole_number(options, kApproved)](const Verification& step, Chooser& chooser) {
      return walk(
          step, chooser,
          [&](const Judged& x) { return Exact(is_approved(table, x.token) ? 1 : 0); },
          [](const Judged& x) { return residual_or_target(x.target, x.draft); });
    };
  };
  rule.expected_emitted = [](const ModelCase& tiny, const OptionValues& options) {
    const int table = whole_number(options, kApproved);
    return expected_of_walk(tiny, [&](const Drafted& x) {
      return is_approved(table, x.token) ? x.draft_mass() : Exact(0);
    });
  };
  return rule;
}

}  // namespace draftproof::reference::law::rules
