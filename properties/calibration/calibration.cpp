#include "properties/calibration/calibration.h"

#include "properties/calibration/checks.h"

namespace draftproof::properties::calibration {

oracle::VerdictKind verdict_of(const Finding& finding) {
  if (!finding.holds) return oracle::VerdictKind::kViolated;
  return finding.control_falls && finding.is_complete ? oracle::VerdictKind::kUpheld
                                                      : oracle::VerdictKind::kInconclusive;
}

const std::vector<Calibration>& calibrations() {
  static const std::vector<Calibration> list = {
      {"places_are_uniform",
       "under the law a token's place falls into each of sixteen cells with probability 1/16, in "
       "all three orders",
       "simulated", places_are_uniform},
      {"randomised_p_values_are_uniform",
       "under the law randomised p-values from exact tails are uniform: P(<= x) = x for x = 1e-1 "
       "to 1e-4, and everywhere between",
       "simulated", randomised_p_values_are_uniform},
      {"tails_are_as_stated",
       "P(the e-value ever reaches 1/a) <= a for a = 1e-1 to 1e-9, summed over all that can happen",
       "exact", tails_are_as_stated},
      {"bets_are_fair",
       "the mean of every e-value under every law that it is for is at most 1, whatever came "
       "before",
       "exact", bets_are_fair},
      {"alarms_are_rare", "P(the e-value reaches 1/a at any look) <= a for a = .1, .01, .001",
       "simulated", alarms_are_rare},
      {"certificates_are_rarely_false",
       "a law at the certified distance, spread so that it is hardest to see, is certified closer "
       "with probability at most .05",
       "simulated", certificates_are_rarely_false},
      {"faults_take_what_was_foretold",
       "a fault alarms after the foretold number of tokens: as far as so many runs tell, the "
       "median lies within 20 % of it",
       "simulated", faults_take_what_was_foretold},
      {"pairs_take_what_was_foretold",
       "two arms apart alarm after the foretold number of pairs: as far as so many runs tell, the "
       "median lies within 20 % of it",
       "simulated", pairs_take_what_was_foretold},
  };
  return list;
}

}  // namespace draftproof::properties::calibration
