#include "oracle/sequential.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "reference/error.h"

namespace draftproof::oracle {

double log_evidence(const std::vector<std::uint64_t>& counts, const std::vector<double>& law) {
  DRAFTPROOF_CHECK(counts.size() == law.size());
  double total = 0, null = 0;
  for (std::size_t i = 0; i < law.size(); ++i) {
    const auto count = static_cast<double>(counts[i]);
    if (count == 0) continue;
    if (law[i] <= 0) return std::numeric_limits<double>::infinity();
    total += count;
    null += count * std::log(law[i]);
  }
  // Concentrations 4^0 .. 4^15: a large one is tuned to small deviations, a small one to gross
  // ones.
  std::vector<double> mixture;
  for (int power = 0; power < 16; ++power) {
    const double concentration = std::ldexp(1.0, 2 * power);
    double value = std::lgamma(concentration) - std::lgamma(concentration + total);
    for (std::size_t i = 0; i < law.size(); ++i) {
      if (counts[i] == 0) continue;
      const double prior = concentration * law[i];
      value += std::lgamma(prior + static_cast<double>(counts[i])) - std::lgamma(prior);
    }
    mixture.push_back(value - null);
  }
  return log_mean(mixture);
}

double log_mean(const std::vector<double>& log_evidences) {
  if (log_evidences.empty()) return 0;
  const double top = *std::max_element(log_evidences.begin(), log_evidences.end());
  if (std::isinf(top)) return top;
  double sum = 0;
  for (double each : log_evidences) sum += std::exp(each - top);
  return top + std::log(sum / static_cast<double>(log_evidences.size()));
}

}  // namespace draftproof::oracle
