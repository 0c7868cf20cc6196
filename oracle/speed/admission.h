// Admission: which draft tokens of a batch are worth verifying. A step costs base + slope per
// admitted slot and commits one token per request plus the survival of every admitted slot, so the
// best set maximises (R + sum of survivals) / (base + slope k).
// The rule: admit slot (r, i) iff survival_{r,i} >= lambda, lambda = slope (R + accepted) / cost at
// the optimum. Taking slots in falling order of survival is exact, because survivals fall along a
// request: a set of the k best is always made of prefixes.
#pragma once

#include <cstddef>
#include <vector>

namespace draftproof::oracle::speed {

struct AdmissionProblem {
  std::vector<std::vector<double>> survivals;  ///< [request][position]; never rising, in [0, 1]
  double base_time = 0;                        ///< of a step that verifies no draft; positive
  double slot_time = 0;                        ///< per admitted slot; not negative
  std::size_t budget = 0;                      ///< most slots a step may take
};

struct Admission {
  std::vector<std::size_t> draft_lengths;  ///< admitted slots of each request
  std::size_t slots = 0;
  double committed = 0;  ///< R + the survivals admitted
  double rate = 0;       ///< committed over the step's time
  double lambda = 0;     ///< slot_time x rate: no slot below it was admitted
};

/// The set with the largest rate, the smallest one among equals. Preconditions as stated with the
/// fields, at least one request.
Admission admit(const AdmissionProblem& problem);

}  // namespace draftproof::oracle::speed
