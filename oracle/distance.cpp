#include "oracle/distance.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>
#include <vector>

#include "oracle/debiased.h"
#include "reference/error.h"

namespace draftproof::oracle {
namespace {

constexpr double kEndless = std::numeric_limits<double>::infinity();
using CellCounts = std::span<const std::uint64_t>;

std::uint64_t sum_of(CellCounts counts) {
  return std::accumulate(counts.begin(), counts.end(), std::uint64_t{0});
}

double root_term(double miss, double n) { return std::sqrt(std::log(1 / miss) / (2 * n)); }

/// What samples of any law over so many cells lie off it on average, at most.
double bias_of(std::size_t cells, double n) {
  return .5 * std::sqrt(static_cast<double>(cells - 1) / n);
}

double distance_to(CellCounts counts, std::span<const double> law, double n) {
  double sum = 0;
  for (std::size_t i = 0; i < law.size(); ++i)
    sum += std::fabs(static_cast<double>(counts[i]) / n - law[i]);
  return sum / 2;
}

double divergence_from(CellCounts counts, std::span<const double> law, double n) {
  double sum = 0;
  for (std::size_t i = 0; i < law.size(); ++i) {
    if (counts[i] == 0) continue;
    if (law[i] <= 0) return kEndless;
    const double share = static_cast<double>(counts[i]) / n;
    sum += share * std::log(share / law[i]);
  }
  return std::max(0.0, sum);
}

std::vector<CellGroup> groups_of(std::span<const double> law) {
  std::map<double, std::uint64_t> groups;
  for (const double each : law) ++groups[each];
  std::vector<CellGroup> cells;
  for (const auto& [probability, count] : groups) cells.push_back({probability, count});
  return cells;
}

/// Mean of TV(counts, law) where the law is right: what an estimate has too much.
double usual_distance(std::span<const double> law, std::uint64_t n) {
  double sum = 0;
  for (const CellGroup& group : groups_of(law)) {
    sum += static_cast<double>(group.count) *
           mean_deviation(n, group.probability, group.probability).value;
  }
  return sum / 2;
}

/// One sample more or less moves n KL(counts || law) by at most so much.
double step_of_divergence(std::span<const double> law, double n) {
  const auto [least, most] = std::minmax_element(law.begin(), law.end());
  return 1 + std::log(n * *most / *least);
}

/// KL of the true law from the expected one. `apart` are the bounds on their total variation.
/// low   KL >= KL(counts) - (k-1)/n - deviation, since E KL(counts || truth) <= (k-1)/n; and
///       KL >= 2 TV^2 (Pinsker)
/// high  KL <= KL(counts) + deviation (Jensen: KL is convex), and KL <= ln(1 + 2 TV^2 / least)
///       (Sason, Verdu 2016). No sample rules out some mass where the law has none: infinite.
Interval divergence_bounds(CellCounts counts, std::span<const double> law, double n, double miss,
                           const Interval& apart) {
  Interval bounds{2 * apart.low * apart.low, kEndless};
  const double plug_in = divergence_from(counts, law, n);
  if (std::isinf(plug_in)) return {kEndless, kEndless};
  const double least = *std::min_element(law.begin(), law.end());
  if (least <= 0) return bounds;
  const double deviation = step_of_divergence(law, n) * root_term(miss, n);
  const double bias = static_cast<double>(law.size() - 1) / n;
  bounds.low = std::max(bounds.low, plug_in - bias - deviation);
  bounds.high = std::min(plug_in + deviation, std::log1p(2 * apart.high * apart.high / least));
  return bounds;
}

void check_law(CellCounts counts, std::span<const double> law, double miss) {
  DRAFTPROOF_CHECK(!law.empty() && counts.size() == law.size());
  DRAFTPROOF_CHECK(miss > 0 && miss < 1, std::to_string(miss));
  const double total = std::accumulate(law.begin(), law.end(), 0.0);
  DRAFTPROOF_CHECK(std::fabs(total - 1) < 1e-6, "sums to " + std::to_string(total));
}

double upper_bound(CellCounts counts, std::span<const double> law, double miss) {
  const std::uint64_t samples = sum_of(counts);
  if (samples == 0) return 1;
  const double seen = distance_to(counts, law, static_cast<double>(samples));
  const std::vector<CellGroup> cells = groups_of(law);
  return debiased_bound(std::min(1.0, seen), samples, cells, miss);
}

}  // namespace

double certified_distance(CellCounts counts, std::span<const double> law, double miss) {
  check_law(counts, law, miss);
  return upper_bound(counts, law, miss);
}

Effect effect_of(CellCounts counts, std::span<const double> law, double miss) {
  check_law(counts, law, miss);
  Effect effect;
  effect.miss = miss;
  effect.total_variation_bounds = {0, 1};
  const std::uint64_t samples = sum_of(counts);
  if (samples == 0) {
    effect.divergence_bounds = Interval{0, kEndless};
    return effect;
  }
  const auto n = static_cast<double>(samples);
  const double each_miss = miss / 4, seen = distance_to(counts, law, n);
  effect.total_variation = std::max(0.0, seen - usual_distance(law, samples));
  effect.total_variation_bounds.low =
      std::max(0.0, seen - bias_of(law.size(), n) - root_term(each_miss, n));
  effect.total_variation_bounds.high = upper_bound(counts, law, each_miss);
  effect.divergence = divergence_from(counts, law, n);
  effect.divergence_bounds =
      divergence_bounds(counts, law, n, each_miss, effect.total_variation_bounds);
  return effect;
}

Effect effect_between(CellCounts one, CellCounts other, double miss) {
  DRAFTPROOF_CHECK(!one.empty() && one.size() == other.size());
  DRAFTPROOF_CHECK(miss > 0 && miss < 1, std::to_string(miss));
  Effect effect;
  effect.miss = miss;
  effect.total_variation_bounds = {0, 1};
  if (sum_of(one) == 0 || sum_of(other) == 0) return effect;
  const auto n = static_cast<double>(sum_of(one)), m = static_cast<double>(sum_of(other));
  std::vector<double> law, both;
  for (std::size_t i = 0; i < one.size(); ++i) {
    law.push_back(static_cast<double>(other[i]) / m);
    both.push_back(static_cast<double>(one[i] + other[i]) / (n + m));
  }
  const double seen = distance_to(one, law, n);
  // Where both have the common law, a cell differs by a normal of variance p (1-p) (1/n + 1/m).
  double usual = 0;
  for (const double share : both)
    usual += std::sqrt(share * (1 - share) * (1 / n + 1 / m) * 2 / M_PI) / 2;
  const double deviation = std::sqrt(std::log(2 / miss) / 2 * (1 / n + 1 / m));
  const double bias = bias_of(one.size(), n) + bias_of(one.size(), m);
  effect.total_variation = std::max(0.0, seen - usual);
  effect.total_variation_bounds = {std::max(0.0, seen - bias - deviation),
                                   std::min(1.0, seen + deviation)};
  const double divergence = divergence_from(one, law, n);
  if (!std::isinf(divergence)) {
    effect.divergence = divergence;
    const double low = effect.total_variation_bounds.low;
    effect.divergence_bounds = Interval{2 * low * low, kEndless};
  }
  return effect;
}

}  // namespace draftproof::oracle
