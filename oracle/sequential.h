// Sequential: e-values against a known law, valid at any stopping time. Used where a subject's
// decisions are no function of coins that a certificate could predict, so that its law must be
// sampled. Dirichlet mixture (Lindon, Malek, NeurIPS 2022), centred at the law, averaged over
// concentrations; a test martingale under the law, so P(ever >= 1/alpha) <= alpha (Ville 1939).
#pragma once

#include <cstdint>
#include <vector>

namespace draftproof::oracle {

/// Natural logarithm of the e-value of counts against `law` (probabilities that sum to one).
/// +infinity when a cell of probability 0 was hit, which no law explains. Sizes must agree.
double log_evidence(const std::vector<std::uint64_t>& counts, const std::vector<double>& law);

/// The mean of e-values, which is one again; from logarithms. 0 for none.
double log_mean(const std::vector<double>& log_evidences);

}  // namespace draftproof::oracle
