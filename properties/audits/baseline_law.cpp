// Baseline law: the arm that does not draft has the law that is said to be known. A control: where
// it fails, the law is not this engine's (another contract, another model, arithmetic beyond the
// tolerance, requests that leak into each other without any draft), so that nothing which rests on
// it can be told from that, and no draft is to blame.
#include "properties/audits/conditional_law.h"

namespace draftproof::properties::audits {

oracle::Verdict baseline_law(const CheckContext& context) {
  oracle::Verdict verdict = begun(context);
  verdict.subject = context.settings.baseline.name;
  const LawSample sample = law_sample(context, Arm::kBaseline);
  if (is_nothing(sample, verdict)) return verdict;
  const ConditionalFinding finding = conditional_finding(context, sample);
  conclude(context, sample, finding, std::to_string(sample.answers.size()) + " answers", verdict);
  if (verdict.kind != oracle::VerdictKind::kViolated) return verdict;
  const oracle::Witness witness = conditional_witness(context, sample, finding);
  verdict.kind = oracle::VerdictKind::kInconclusive;
  verdict.label = oracle::Label::kNone;
  verdict.evidence = "without drafts the law is not the known one: " + verdict.evidence;
  verdict.notes.push_back(witness.let + ": expected " + witness.expected + ", observed " +
                          witness.observed);
  verdict.notes.push_back(
      "is the contract the engine's, the model the one whose law is known, and the tolerance at "
      "least that of its arithmetic?");
  return verdict;
}

}  // namespace draftproof::properties::audits
