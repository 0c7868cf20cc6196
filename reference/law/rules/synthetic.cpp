// vLLM's synthetic acceptance (rejection_sample_method "synthetic", pulls 40662 and 41035,
// 2026-04): a benchmark mode that keeps drafted tokens at a given rate whatever the rows say, with
// the natural residual behind a rejection. A mean length l stands for keeping floor(l - 1) tokens,
// one more with the fraction that is left, and no more. Where target and draft agree there is no
// residual and the target is drawn from.
#include <algorithm>

#include "reference/law/rules/rules.h"
#include "reference/law/rules/token_wise.h"

namespace draftproof::reference::law::rules {
namespace {

constexpr auto kRate = "rate";
constexpr auto kLength = "length";

/// Probability of keeping the token at `offset`, given that those before it were kept.
Exact conditional_rate(int offset, const Exact& rate, const Exact& length) {
  if (length == 0) return rate;
  return std::clamp(Exact(length - 1 - offset), Exact(0), Exact(1));
}

/// 1 + rate + rate^2 + .. + rate^D, or min(length, D + 1).
Exact expected_of_rates(const ModelCase& tiny, const OptionValues& options) {
  const Exact& length = options.at(kLength);
  if (length != 0) return std::min(length, Exact(tiny.draft_count() + 1));
  Exact sum = 1;
  Exact power = 1;
  for (int i = 0; i < tiny.draft_count(); ++i) sum += power *= options.at(kRate);
  return sum;
}

}  // namespace

LawRule synthetic_rule() {
  LawRule rule;
  rule.name = "synthetic";
  rule.citation = "vLLM rejection_sample_method=synthetic (pulls 40662, 41035, 2026-04)";
  rule.acceptance = "rate; or by position so that the mean length is the one asked for";
  rule.recovered = "max(0, target - draft), normalised";
  rule.bonus = "target";
  rule.conditions = "a benchmark mode, never to be served; against the target's law; lossy";
  rule.kind = RuleKind::kLossy;
  rule.options = {
      {kRate, Exact(7, 10), 0, 1, "of keeping each token, given the ones before it"},
      {kLength, 0, 0, 1'000'000, "mean emitted tokens an iteration, from 1 on; 0: go by the rate"}};
  rule.provenance = {"as chain",
                     "vLLM (2026-04), vLLM-Ascend 15556 (2026-09)",
                     "",
                     "what is asked for",
                     "vLLM (2026-04)",
                     "as chain"};
  rule.make = [](const OptionValues& options) -> RuleFunction {
    return [rate = options.at(kRate), length = options.at(kLength)](const Verification& step,
                                                                    Chooser& chooser) {
      return walk(
          step, chooser, [&](const Judged& x) { return conditional_rate(x.offset, rate, length); },
          [](const Judged& x) { return residual_or_target(x.target, x.draft); });
    };
  };
  rule.expected_emitted = expected_of_rates;
  return rule;
}

}  // namespace draftproof::reference::law::rules
