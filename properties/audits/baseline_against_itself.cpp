// Baseline against itself: even and odd trials of the arm that does not draft have one law. A
// control (A/A): where it fails, answers depend on when they were asked, or seeds are not read, so
// that a difference of the arms says nothing of drafts.
#include "properties/audits/findings.h"
#include "properties/audits/paired_answers.h"

namespace draftproof::properties::audits {

oracle::Verdict baseline_against_itself(const CheckContext& context) {
  oracle::Verdict verdict = begun(context);
  verdict.subject = context.settings.baseline.name;
  const PairSample sample = pairs_of_baseline(context);
  const PairFinding finding = pair_finding(context, sample, 0);
  conclude(context, sample, finding, verdict);
  if (verdict.kind != oracle::VerdictKind::kViolated) return verdict;
  const oracle::Witness witness =
      pair_witness(sample, finding.log_e_value, "even trials", "odd trials");
  verdict.kind = oracle::VerdictKind::kInconclusive;
  verdict.evidence = "the baseline differs from itself: " + verdict.evidence;
  verdict.notes.push_back(witness.let + ": " + witness.expected + "; " + witness.observed);
  verdict.notes.push_back(
      "does the engine read seeds, and are requests answered alike whatever runs beside them?");
  return verdict;
}

}  // namespace draftproof::properties::audits
