// Next token law: each token, given those before it, has the target's law there. Whatever was
// drafted, accepted or thrown away does not enter: given that a draft was rejected a right engine's
// token does not have the target's law (statistics of one iteration: oracle/conditional.h).
#include "properties/audits/conditional_law.h"
#include "properties/audits/findings.h"
#include "properties/audits/words.h"

namespace draftproof::properties::audits {

oracle::Verdict next_token_law(const CheckContext& context) {
  oracle::Verdict verdict = begun(context);
  const LawSample sample = law_sample(context, Arm::kSpeculative);
  if (is_nothing(sample, verdict)) return verdict;
  const ConditionalFinding finding = conditional_finding(context, sample);
  conclude(context, sample, finding, std::to_string(sample.answers.size()) + " answers", verdict);
  if (context.settings.tolerance > 0)
    verdict.assumption = "the engine's arithmetic moves no law by more than a factor of e^" +
                         rounded(context.settings.tolerance) + " a token";
  if (finding.near_ties > 0)
    verdict.notes.push_back(std::to_string(finding.near_ties) +
                            " tokens where a filter cuts closer than that slack are left out");
  if (verdict.kind == oracle::VerdictKind::kViolated) {
    const Transcript& shown = finding.impossible ? *finding.impossible->answer.transcript
                                                 : *sample.answers.front().transcript;
    refute(context, verdict, shown, oracle::Label::kLossy,
           conditional_witness(context, sample, finding));
    for (std::string& note : origin_notes(context, sample))
      verdict.notes.push_back(std::move(note));
  }
  return unless_never_drafted(context, std::move(verdict));
}

}  // namespace draftproof::properties::audits
