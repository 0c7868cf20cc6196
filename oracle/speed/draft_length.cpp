#include "oracle/speed/draft_length.h"

#include <cmath>
#include <numeric>

#include "oracle/speed/acceptance.h"
#include "reference/error.h"

namespace draftproof::oracle::speed {

BestLength best_draft_length(const std::function<double(std::int64_t)>& speed_at,
                             std::int64_t limit) {
  DRAFTPROOF_CHECK(limit >= 0, std::to_string(limit));
  BestLength best{0, speed_at(0)};
  for (std::int64_t length = 1; length <= limit; ++length) {
    const double speed = speed_at(length);
    if (speed > best.speed) best = {length, speed};
  }
  return best;
}

BestLength best_iid_length(double conditional_acceptance, double rho, double slope,
                           std::int64_t limit) {
  DRAFTPROOF_CHECK(rho >= 0 && slope >= 0);
  return best_draft_length(
      [&](std::int64_t length) {
        return expected_committed(conditional_acceptance, length) /
               (1 + (rho + slope) * static_cast<double>(length));
      },
      limit);
}

std::int64_t marginal_length(double conditional_acceptance, double rho, std::int64_t limit) {
  DRAFTPROOF_CHECK(conditional_acceptance >= 0 && conditional_acceptance <= 1 && rho >= 0);
  std::int64_t length = 0;
  while (length < limit) {
    const double gain = std::pow(conditional_acceptance, static_cast<double>(length) + 1);
    const double committed = expected_committed(conditional_acceptance, length);
    if (!(gain * (1 + rho * static_cast<double>(length)) > rho * committed)) break;
    ++length;
  }
  return length;
}

double time_of_rows(const StepCosts& costs, std::int64_t rows) {
  DRAFTPROOF_CHECK(!costs.captured.empty() && rows >= 1);
  std::int64_t previous = 0;
  for (const auto& size : costs.captured) {
    DRAFTPROOF_CHECK(size.rows > previous, std::to_string(size.rows));
    previous = size.rows;
  }
  for (const auto& size : costs.captured) {
    if (rows <= size.rows) return size.time;
  }
  const auto& largest = costs.captured.back();
  return largest.time + costs.slope_behind * static_cast<double>(rows - largest.rows);
}

BestLength best_stepped_length(const SteppedProblem& problem) {
  const double decode = time_of_rows(problem.verify, problem.batch);
  const auto limit = static_cast<std::int64_t>(problem.survivals.size());
  return best_draft_length(
      [&](std::int64_t length) {
        const double committed =
            std::accumulate(problem.survivals.begin(), problem.survivals.begin() + length, 1.0);
        const double time = static_cast<double>(length) * problem.draft_time +
                            time_of_rows(problem.verify, problem.batch * (1 + length));
        return committed * decode / time;
      },
      limit);
}

}  // namespace draftproof::oracle::speed
