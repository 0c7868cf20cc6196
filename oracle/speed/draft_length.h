// Draft length: the one that makes decoding quickest. A longer draft commits a little more, at the
// survival of its last position, and costs a draft pass and a verified row more.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "oracle/speed/placement.h"

namespace draftproof::oracle::speed {

struct BestLength {
  std::int64_t draft_length = 0;
  double speed = 1;
};

/// argmax over D = 0..limit of speed_at(D); the shorter one among equals. Precondition: limit >= 0.
BestLength best_draft_length(const std::function<double(std::int64_t)>& speed_at,
                             std::int64_t limit);

/// The textbook case: constant conditional acceptance, draft costs rho each, verify grows by
/// `slope` a token: E[N_D] / (1 + (rho + slope) D), by trying every length.
BestLength best_iid_length(double conditional_acceptance, double rho, double slope,
                           std::int64_t limit);

/// The same for a flat verify, by the marginal rule: go on from D to D + 1 while
///   a^(D+1) (1 + rho D) > rho (1 - a^(D+1)) / (1 - a),
/// which is E[N_{D+1}] / (1 + rho (D+1)) > E[N_D] / (1 + rho D) multiplied out, and says that what
/// the next token brings per time, a^(D+1) / rho, is above the average so far. It falls with D, and
/// an average that it no longer lifts stays above it, so stopping at the first refusal is right.
/// Preconditions: 0 <= a <= 1, rho >= 0, limit >= 0.
std::int64_t marginal_length(double conditional_acceptance, double rho, std::int64_t limit);

/// A verify whose time is a step function of its rows up to the largest captured size (CUDA graphs
/// are captured for a list of sizes and padded to the next one) and linear behind it.
struct StepCosts {
  struct Captured {
    std::int64_t rows = 0;
    double time = 0;
  };
  std::vector<Captured> captured;  ///< rows strictly increasing
  double slope_behind = 0;         ///< time per row behind the largest
};

/// Preconditions: rows >= 1, at least one captured size, sizes strictly increasing.
double time_of_rows(const StepCosts& costs, std::int64_t rows);

struct SteppedProblem {
  std::vector<double> survivals;  ///< of positions 1.. ; never rising
  std::int64_t batch = 1;
  double draft_time = 0;  ///< a token
  StepCosts verify;
};

/// argmax over D = 0..survivals.size() of E[N_D] T(B) / (D draft_time + T(B (1 + D))).
BestLength best_stepped_length(const SteppedProblem& problem);

}  // namespace draftproof::oracle::speed
