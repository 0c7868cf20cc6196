#include "oracle/speed/jackknife.h"

#include <boost/math/distributions/students_t.hpp>
#include <cmath>
#include <numeric>
#include <vector>

#include "reference/error.h"

namespace draftproof::oracle::speed {

std::optional<JackknifeInterval> jackknife(
    const std::function<std::optional<double>(std::size_t)>& without, std::size_t groups,
    double miss_probability) {
  DRAFTPROOF_CHECK(miss_probability > 0 && miss_probability < 1, std::to_string(miss_probability));
  const auto value = without(groups);
  if (!value) return std::nullopt;
  JackknifeInterval result{*value, std::nullopt, groups};
  if (groups < 2 || !(*value > 0)) return result;
  std::vector<double> logs;
  for (std::size_t g = 0; g < groups; ++g) {
    const auto left = without(g);
    if (!left || !(*left > 0) || !std::isfinite(*left)) return result;
    logs.push_back(std::log(*left));
  }
  const auto count = static_cast<double>(groups);
  const double mean = std::accumulate(logs.begin(), logs.end(), 0.0) / count;
  double squares = 0;
  for (const double each : logs) squares += (each - mean) * (each - mean);
  const double error = std::sqrt((count - 1) / count * squares);
  const boost::math::students_t_distribution<double> student(count - 1);
  const double reach = quantile(complement(student, miss_probability / 2)) * error;
  result.interval = Interval{*value * std::exp(-reach), *value * std::exp(reach)};
  return result;
}

}  // namespace draftproof::oracle::speed
