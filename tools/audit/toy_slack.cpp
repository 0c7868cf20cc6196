#include "tools/audit/toy_slack.h"

#include <fmt/format.h>

#include <algorithm>

#include "tools/toys/manifest.h"
#include "tools/toys/toy_tolerance.h"

namespace draftproof::tools::audit {

double lowest_temperature(const properties::audits::Matrix& matrix) {
  double temperature = 1;
  for (const properties::audits::AuditCase& each : matrix.cases)
    if (each.request.sampling.temperature > 0)
      temperature = std::min(temperature, static_cast<double>(each.request.sampling.temperature));
  return temperature;
}

void grant_toy_slack(const std::string& manifest, const std::string& engine,
                     const std::string& cache_dtype, RunRecord& record) {
  const toys::Manifest told = toys::load_manifest(manifest);
  const toys::ToyTolerance slack = toys::tolerance_of(
      told.spec, {engine, toys::tensor_format(told.dtype), toys::tensor_format(cache_dtype)},
      lowest_temperature(record.matrix));
  // Twice: behind a filter the sum that a token is divided by is off, too.
  record.judge.tolerance = 2 * slack.nats;
  record.judge.near_tie_bound = slack.near_tie;
  record.told.emplace_back("arithmetic",
                           fmt::format("{:.2g} nats a token are granted, keys and values in {}: {}",
                                       record.judge.tolerance, cache_dtype, slack.because));
}

}  // namespace draftproof::tools::audit
