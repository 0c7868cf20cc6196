// Intervals. Goal: at 95% they cover the true speed about 95% of the time when requests differ, and
// an interval that takes calls for independent does not.
#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <vector>

#include "oracle/speed/jackknife.h"
#include "reference/error.h"

namespace draftproof::oracle::speed {
namespace {

/// Tokens and time of one request; calls of one request share its own acceptance.
struct Sums {
  double tokens = 0, time = 0;
};

/// Ratio of sums, leaving group g of the units out.
std::optional<JackknifeInterval> interval_of(const std::vector<Sums>& units, std::size_t groups) {
  return jackknife(
      [&](std::size_t g) -> std::optional<double> {
        Sums all;
        for (std::size_t u = 0; u < units.size(); ++u) {
          if (g < groups && u % groups == g) continue;
          all.tokens += units[u].tokens;
          all.time += units[u].time;
        }
        return all.tokens / all.time;
      },
      groups, 0.05);
}

struct Coverage {
  int by_request = 0;
  int by_call = 0;
};

/// Requests of 20 calls, time 1 each; a call commits 1 or 4 tokens, 4 with a probability that is
/// the request's own, uniform on [.2, .8]: the true rate is 2.5.
Coverage coverage(int runs, std::size_t requests) {
  std::mt19937_64 random(17);
  std::uniform_real_distribution<double> unit(0, 1);
  Coverage covered;
  for (int run = 0; run < runs; ++run) {
    std::vector<Sums> by_request(requests), by_call;
    for (Sums& request : by_request) {
      const double own = 0.2 + 0.6 * unit(random);
      for (int call = 0; call < 20; ++call) {
        const double tokens = unit(random) < own ? 4 : 1;
        request.tokens += tokens;
        request.time += 1;
        by_call.push_back({tokens, 1});
      }
    }
    const auto contains = [](const std::optional<JackknifeInterval>& estimate) {
      return estimate->interval->low <= 2.5 && 2.5 <= estimate->interval->high;
    };
    covered.by_request += contains(interval_of(by_request, requests)) ? 1 : 0;
    covered.by_call += contains(interval_of(by_call, kMostGroups)) ? 1 : 0;
  }
  return covered;
}

TEST(Jackknife, CoversTheTruthAsOftenAsStatedWhenRequestsDiffer) {
  constexpr int kRuns = 2000;
  const Coverage covered = coverage(kRuns, 24);
  // Binomial at .95: sd .0049; four of them either side, and .005 for the log's curvature.
  EXPECT_GT(covered.by_request / static_cast<double>(kRuns), 0.925);
  EXPECT_LT(covered.by_request / static_cast<double>(kRuns), 0.975);
}

TEST(Jackknife, TooNarrowIntervalsAreSeen) {
  // Of a request's mean, its own rate spreads by 9 x .36 / 12 = .27 and its 20 calls by 1.98 / 20 =
  // .10. Calls taken alone show (1.98 + .27) / 20 = .11 of that .37: .55 of the width, 72%
  // coverage.
  constexpr int kRuns = 600;
  EXPECT_LT(coverage(kRuns, 24).by_call / static_cast<double>(kRuns), 0.80);
}

TEST(Jackknife, OfAMeanOfGroupsIsStudentsInterval) {
  // For a plain mean the leave-one-out values give s / sqrt(n) itself. Units near 1 make the log
  // linear: values 1 + e, e small.
  const std::vector<Sums> units = {{1.0001, 1}, {0.9998, 1}, {1.0003, 1}, {1.0002, 1}};
  const auto estimate = interval_of(units, 4);
  // Mean 1.0001, deviations 0, -3, 2, 1 (1e-4): s = sqrt(14/3) 1e-4, s / 2 = 1.0801e-4, t = 3.1824.
  EXPECT_NEAR(estimate->value, 1.0001, 1e-12);
  EXPECT_NEAR(estimate->interval->high - estimate->value, 3.1824 * 1.0801e-4, 1e-6);
}

TEST(Jackknife, HasNoIntervalWhereThereIsNoSpread) {
  EXPECT_FALSE(interval_of({{3, 1}}, 1)->interval);
  EXPECT_FALSE(jackknife([](std::size_t) { return std::nullopt; }, 4, 0.05));
  EXPECT_FALSE(jackknife(
                   [](std::size_t g) -> std::optional<double> {
                     return g == 2 ? std::nullopt : std::optional(1.0);
                   },
                   4, 0.05)
                   ->interval);
  EXPECT_FALSE(jackknife([](std::size_t) { return std::optional(0.0); }, 4, 0.05)->interval);
  EXPECT_THROW(interval_of({{1, 1}, {1, 1}}, 2) && jackknife([](std::size_t) { return 1.0; }, 2, 0),
               BrokenInvariant);
}

}  // namespace
}  // namespace draftproof::oracle::speed
