// Paired scores: how much lower one of two arms scores on the same samples, with an interval.
//   bounded    scores in [0, 1], so differences d in [-1, 1] and x = (d + 1) / 2 in [0, 1]. For a
//              constant bet c in (0, 1) the product of 1 - c + c x_i / m has a mean of at most 1
//              wherever the mean of all x_i is at most m: factors are independent, and the product
//              of their means is at most the power of their average. So is that of a mixture over
//              bets, and what reaches 1 / miss is ruled out (Waudby-Smith, Ramdas 2024, bets;
//              Orabona, Jun 2024, mixtures of constant ones). It holds for every sample size, for
//              samples of different laws, and, where all have one mean, whenever one stops.
//   otherwise  Student's t: right as samples grow many, for few nobody knows; told as such.
// Shares of valid answers are Clopper, Pearson 1934, which holds for trials of different rates too
// (Hoeffding 1956).
#pragma once

#include <cstdint>
#include <span>

#include "oracle/verdict.h"

namespace draftproof::oracle {

/// One sample, scored in both arms; higher is better.
struct PairedScore {
  double baseline = 0;
  double speculative = 0;
};

struct ScoreDrop {
  std::uint64_t samples = 0;
  double baseline_mean = 0, speculative_mean = 0;
  double drop = 0;     ///< baseline less speculative
  Interval bounds;     ///< both hold together with probability 1 - miss
  bool holds_exactly;  ///< for any sample size; false: asymptotic
};

/// Whether every score lies in [0, 1].
bool lies_in_unit(std::span<const PairedScore> scores);

/// `is_bounded`: scores lie in [0, 1] by what they are; precondition: they do. No samples, and
/// unbounded differences that are fewer than two or all the same, have no bounds but infinite ones
/// (bounded: [-1, 1]). Preconditions: finite scores, 0 < miss < 1.
ScoreDrop score_drop(std::span<const PairedScore> scores, bool is_bounded, double miss);

/// Bounds on the mean of independent values in [0, 1] that hold together with probability 1 - miss.
Interval mean_bounds(std::span<const double> values, double miss);

/// Bounds on a share of which `count` of `trials` were seen; [0, 1] without trials.
Interval share_bounds(std::uint64_t count, std::uint64_t trials, double miss);

}  // namespace draftproof::oracle
