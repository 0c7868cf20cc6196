#include "oracle/paired_scores.h"

#include <algorithm>
#include <boost/math/special_functions/beta.hpp>
#include <cmath>
#include <limits>
#include <map>
#include <vector>

#include "reference/error.h"

namespace draftproof::oracle {
namespace {

constexpr double kBoundless = std::numeric_limits<double>::infinity();
/// Bets, each 2^-1/2 of the one before: from nearly everything down to what a million samples of
/// the widest spread want.
constexpr int kBetCount = 24;
constexpr double kLargestBet = 0.99;

using ValueCounts = std::vector<std::pair<double, double>>;  ///< value, how often

/// Samples are often 0, 1/2 or 1: each value once.
ValueCounts counted(std::span<const double> values) {
  std::map<double, double> counts;
  for (const double value : values) counts[value] += 1;
  return {counts.begin(), counts.end()};
}

/// Logarithm of the mixture's capital against "the mean is at most `mean`"; falls with it.
double log_capital(const ValueCounts& counts, double mean) {
  std::vector<double> logs;
  for (int i = 0; i < kBetCount; ++i) {
    const double bet = kLargestBet * std::pow(2, -0.5 * i);
    double sum = 0;
    for (const auto& [value, count] : counts) sum += count * std::log1p(bet * (value / mean - 1));
    logs.push_back(sum);
  }
  const double largest = *std::max_element(logs.begin(), logs.end());
  double total = 0;
  for (const double each : logs) total += std::exp(each - largest);
  return largest + std::log(total / kBetCount);
}

/// The largest mean that is ruled out from below, 0 for none.
double least_mean(const ValueCounts& counts, double miss) {
  constexpr int kHalvings = 50;
  double ruled_out = 0, open = 1;
  for (int i = 0; i < kHalvings; ++i) {
    const double middle = (ruled_out + open) / 2;
    (log_capital(counts, middle) >= -std::log(miss) ? ruled_out : open) = middle;
  }
  return ruled_out;
}

/// Student's t: P(|T| > t) = tail for so many degrees of freedom.
double student_quantile(double degrees, double tail) {
  double rest = 0;  // 1 - x, which keeps its digits where x is near 1
  const double x = boost::math::ibeta_inv(degrees / 2, 0.5, tail, &rest);
  return std::sqrt(degrees * rest / x);
}

Interval student_bounds(std::span<const double> differences, double mean, double miss) {
  const double size = static_cast<double>(differences.size());
  double squares = 0;
  for (const double each : differences) squares += (each - mean) * (each - mean);
  if (differences.size() < 2 || !(squares > 0)) return {-kBoundless, kBoundless};
  const double half = student_quantile(size - 1, miss) * std::sqrt(squares / (size - 1) / size);
  return {mean - half, mean + half};
}

}  // namespace

bool lies_in_unit(std::span<const PairedScore> scores) {
  return std::all_of(scores.begin(), scores.end(), [](const PairedScore& each) {
    return each.baseline >= 0 && each.baseline <= 1 && each.speculative >= 0 &&
           each.speculative <= 1;
  });
}

Interval mean_bounds(std::span<const double> values, double miss) {
  DRAFTPROOF_CHECK(miss > 0 && miss < 1, std::to_string(miss));
  if (values.empty()) return {0, 1};
  std::vector<double> mirrored;
  for (const double value : values) {
    DRAFTPROOF_CHECK(value >= 0 && value <= 1, std::to_string(value));
    mirrored.push_back(1 - value);
  }
  return {least_mean(counted(values), miss / 2), 1 - least_mean(counted(mirrored), miss / 2)};
}

ScoreDrop score_drop(std::span<const PairedScore> scores, bool is_bounded, double miss) {
  DRAFTPROOF_CHECK(miss > 0 && miss < 1, std::to_string(miss));
  ScoreDrop result{.samples = scores.size(), .bounds = {}, .holds_exactly = is_bounded};
  std::vector<double> differences, placed;
  for (const PairedScore& each : scores) {
    DRAFTPROOF_CHECK(std::isfinite(each.baseline) && std::isfinite(each.speculative));
    differences.push_back(each.baseline - each.speculative);
    placed.push_back((differences.back() + 1) / 2);
    result.baseline_mean += each.baseline / static_cast<double>(scores.size());
    result.speculative_mean += each.speculative / static_cast<double>(scores.size());
  }
  result.drop = result.baseline_mean - result.speculative_mean;
  if (is_bounded) {
    DRAFTPROOF_CHECK(lies_in_unit(scores));
    const Interval mean = mean_bounds(placed, miss);
    result.bounds = {2 * mean.low - 1, 2 * mean.high - 1};
  } else {
    result.bounds = student_bounds(differences, result.drop, miss);
  }
  return result;
}

Interval share_bounds(std::uint64_t count, std::uint64_t trials, double miss) {
  DRAFTPROOF_CHECK(count <= trials && miss > 0 && miss < 1);
  const double hits = static_cast<double>(count), misses = static_cast<double>(trials - count);
  return {count == 0 ? 0 : boost::math::ibeta_inv(hits, misses + 1, miss / 2),
          count == trials ? 1 : boost::math::ibetac_inv(hits + 1, misses, miss / 2)};
}

}  // namespace draftproof::oracle
