// Jackknife: an interval for a positive number computed from requests, without a formula for it.
// Requests are dealt into groups; the number is computed again without each group, and the spread
// of its logarithm gives the standard error (Tukey 1958; grouped: Efron, Tibshirani 1993, chapter
// 11). Iterations of one request are alike, requests are taken as independent: leaving out whole
// requests respects that, and leaving one out of both arms at once respects that arms are paired.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>

#include "oracle/speed/acceptance.h"

namespace draftproof::oracle::speed {

/// Most groups a jackknife uses: enough for the t quantile to be within 3% of the normal one.
inline constexpr std::size_t kMostGroups = 64;

struct JackknifeInterval {
  double value = 0;
  std::optional<Interval> interval;  ///< absent with fewer than two groups, or where it fails
  std::size_t groups = 0;
};

/// `without(g)` computes the number without group g of `groups`, and without none for g == groups;
/// absent or not positive: it cannot be computed then, and there is no interval. The interval is
/// value exp(+- t s), t Student's quantile at groups - 1 degrees of freedom.
/// Precondition: 0 < miss_probability < 1. Absent when the number itself cannot be computed.
std::optional<JackknifeInterval> jackknife(
    const std::function<std::optional<double>(std::size_t)>& without, std::size_t groups,
    double miss_probability);

}  // namespace draftproof::oracle::speed
