// Two sample law: both arms draw their answers from one law, which nobody knows. For real models;
// weaker than a known law by what has to be learned (statistics: oracle/two_sample.h).
#include "properties/audits/findings.h"
#include "properties/audits/paired_answers.h"
#include "properties/audits/words.h"

namespace draftproof::properties::audits {

oracle::Verdict two_sample_law(const CheckContext& context) {
  oracle::Verdict verdict = begun(context);
  const PairSample sample = pairs_of_arms(context);
  const PairFinding finding = pair_finding(context, sample, context.settings.tolerance);
  conclude(context, sample, finding, verdict);
  if (context.settings.tolerance > 0)
    verdict.assumption = "both arms' laws differ by a factor of e^" +
                         rounded(context.settings.tolerance) + " a token at most";
  if (verdict.kind == oracle::VerdictKind::kViolated)
    refute(context, verdict, *sample.pairs.front().other, oracle::Label::kLossy,
           pair_witness(sample, finding.log_e_value, "without drafts", "with drafts"));
  return unless_never_drafted(context, std::move(verdict));
}

}  // namespace draftproof::properties::audits
