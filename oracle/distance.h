// Distance: how far an observed law is from an expected one, from counts, with bounds that hold for
// every sample size. n samples, k cells, total variation TV = half the L1 distance.
//   known law   low    TV(counts, law) - 1/2 sqrt((k-1)/n) - sqrt(ln(1/miss)/(2n))
//               high   the debiased bound: the largest delta for which some law at that distance
//                      would show counts as close as these with probability miss
//                      (debiased.h; McDiarmid 1989 around the least mean); never above
//                      the plug-in bound TV + sqrt(ln(1/miss)/(2n)).
//   two samples the plug-in bounds of both, McDiarmid over n1 + n2 coordinates.
// KL(observed || expected) is reported beside it: plug-in, and bounds from McDiarmid on a convex
// divergence; infinite where a cell of probability 0 was hit, never a number. The upper bound is
// infinite too where a law has cells of probability 0 that nothing hit: no sample can rule out a
// little mass there. How little is visible_share() of power.h.
#pragma once

#include <cstdint>
#include <span>

#include "oracle/verdict.h"

namespace draftproof::oracle {

/// Counts against a known law (sums to one). `miss` is split evenly over the bounds of both
/// divergences. No samples: bounds of [0, 1] and [0, infinity).
Effect effect_of(std::span<const std::uint64_t> counts, std::span<const double> law, double miss);
/// Counts of two samples over the same cells; divergence is that of `one` from `other`, and is left
/// out where `other` has an empty cell that `one` has not.
Effect effect_between(std::span<const std::uint64_t> one, std::span<const std::uint64_t> other,
                      double miss);

/// The smallest total variation that these counts rule out with probability 1 - miss: what a PASS
/// certifies. 1 without samples.
double certified_distance(std::span<const std::uint64_t> counts, std::span<const double> law,
                          double miss);

}  // namespace draftproof::oracle
