// Debiased: the upper bound on total variation that does not pay for the bias of empirical laws.
// m(delta) is the least mean of TV(counts, law) over laws at distance delta; counts as close as
// TV <= m(delta) - t come with probability exp(-2 n t^2) at most (McDiarmid 1989), so the largest
// delta that is not ruled out solves TV + sqrt(ln(1/miss)/(2n)) = m(delta). m is bounded from below
// by its Lagrangian, cell by cell:
//   m(delta) >= 1/2 [ delta (up + down) + sum_i min( min_d g_i(law_i + d) - up d,
//                                                    min_d g_i(law_i - d) - down d ) ],
// for any multipliers up, down >= 0, with g_i(x) = E |Bin(n, x)/n - law_i|, convex in x. So any
// multipliers give a bound, and (1, 1) gives the plug-in bound: a search cannot make it invalid.
#pragma once

#include <cstdint>
#include <span>

namespace draftproof::oracle {

/// `count` cells of one probability.
struct CellGroup {
  double probability = 0;
  std::uint64_t count = 0;
};

/// The bound for an observed `total_variation` of `sample_count` samples from cells that sum to
/// one. Within [0, 1], at most the plug-in bound.
double debiased_bound(double total_variation, std::uint64_t sample_count,
                      std::span<const CellGroup> cells, double miss);

/// E |Bin(n, rate)/n - centre| and its derivative by rate (de Moivre 1730). Precondition: n > 0.
struct MeanDeviation {
  double value = 0, slope = 0;
};
MeanDeviation mean_deviation(std::uint64_t n, double rate, double centre);

}  // namespace draftproof::oracle
