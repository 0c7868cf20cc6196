#include "oracle/debiased.h"

#include <algorithm>
#include <boost/math/special_functions/beta.hpp>
#include <cmath>
#include <vector>

#include "reference/error.h"

namespace draftproof::oracle {
namespace {

// Rarer groups than this many add nothing to the bound, which stays valid: g_i(x) >= |x - law_i|.
constexpr std::size_t kGroupsMax = 64;
constexpr int kRootSteps = 60;

/// Least value of g(law + sign d) - multiplier d over 0 <= d <= end: a lower bound on it, tight
/// where the search converged. `start` is where the last search of this cell ended.
double least(std::uint64_t n, double law, int sign, double end, double multiplier, double* start) {
  const double usual = std::sqrt(law / static_cast<double>(n));
  double low = 0, high = end, at = std::clamp(*start, 0.0, end);
  for (int step = 0;; ++step) {
    const MeanDeviation here = mean_deviation(n, law + sign * at, law);
    const double excess = sign * here.slope - multiplier;
    // A tangent of a convex function lies below it: the least value is further down than here by
    // at most so much.
    const double left = excess < 0 ? -excess * (high - at) : excess * (at - low);
    if (left <= 1e-4 * usual || step == kRootSteps) {
      *start = at;
      return here.value - multiplier * at - left;
    }
    (excess < 0 ? low : high) = at;
    const double middle = (low + high) / 2;
    if (excess < 0 && high == end) {
      at = std::min(middle, 1.5 * at + usual / 4);
    } else if (excess > 0 && low == 0) {
      at = at < usual / 1e4 ? 0 : at / 2;
    } else {
      at = middle;
    }
  }
}

/// The dual as a bound on the distance, for two multipliers.
class Dual {
 public:
  Dual(double reach, std::uint64_t n, std::span<const CellGroup> cells)
      : reach_(reach), n_(n), cells_(cells.begin(), cells.end()) {
    std::sort(cells_.begin(), cells_.end(), [](const CellGroup& one, const CellGroup& other) {
      return std::sqrt(one.probability) * static_cast<double>(one.count) >
             std::sqrt(other.probability) * static_cast<double>(other.count);
    });
    if (cells_.size() > kGroupsMax) cells_.resize(kGroupsMax);
    starts_.resize(cells_.size());
    for (std::size_t i = 0; i < cells_.size(); ++i) {
      const double usual = std::sqrt(cells_[i].probability / static_cast<double>(n));
      starts_[i] = {usual, usual};
    }
  }

  double bound(double up, double down) {
    double sum = 0;
    for (std::size_t i = 0; i < cells_.size(); ++i) {
      const double law = cells_[i].probability;
      const double more = least(n_, law, 1, 1 - law, up, &starts_[i].up);
      const double less = least(n_, law, -1, law, down, &starts_[i].down);
      sum += static_cast<double>(cells_[i].count) * std::min(more, less);
    }
    return (2 * reach_ - sum) / (up + down);
  }

 private:
  struct Starts {
    double up = 0, down = 0;
  };
  double reach_;
  std::uint64_t n_;
  std::vector<CellGroup> cells_;
  std::vector<Starts> starts_;
};

/// Golden section on [low, high]; `value` is quasi-convex. Returns the place of the least.
template <class Value>
double least_place(double low, double high, int steps, const Value& value) {
  const double golden = (std::sqrt(5.0) - 1) / 2;
  double left = high - golden * (high - low), right = low + golden * (high - low);
  double at_left = value(left), at_right = value(right);
  for (int step = 0; step < steps; ++step) {
    if (at_left < at_right) {
      high = right;
      right = left;
      at_right = at_left;
      at_left = value(left = high - golden * (high - low));
    } else {
      low = left;
      left = right;
      at_left = at_right;
      at_right = value(right = low + golden * (high - low));
    }
  }
  return at_left < at_right ? left : right;
}

}  // namespace

MeanDeviation mean_deviation(std::uint64_t n, double rate, double centre) {
  DRAFTPROOF_CHECK(n > 0);
  const auto size = static_cast<double>(n);
  const double all = size * centre, m = std::floor(all);
  if (rate <= 0) return {centre, m >= 1 ? -1 : 1 - 2 * all};
  if (m >= size) return {centre - rate, -1};
  if (rate >= 1) return {1 - centre, m < size - 1 ? 1 : 2 * (size - all) - 1};
  // Of Bin(n-1, rate): the mass at m, and at most m. The density of a beta law is n times the mass.
  const double mass = boost::math::ibeta_derivative(m + 1, size - m, rate) / size;
  const double below = m >= size - 1 ? 1 : boost::math::ibetac(m + 1, size - 1 - m, rate);
  const double at_most = below - rate * mass;  // Bin(n, rate) <= m
  const double value =
      2 * ((all - size * rate) * at_most + size * rate * (1 - rate) * mass) + size * rate - all;
  return {value / size, 1 - 2 * below + 2 * (m + 1 - all) * mass};
}

double debiased_bound(double total_variation, std::uint64_t sample_count,
                      std::span<const CellGroup> cells, double miss) {
  DRAFTPROOF_CHECK(miss > 0 && miss < 1, std::to_string(miss));
  if (sample_count == 0) return 1;
  const double reach =
      total_variation + std::sqrt(std::log(1 / miss) / (2 * static_cast<double>(sample_count)));
  if (reach >= 1) return 1;
  Dual dual(reach, sample_count, cells);
  double best = reach;  // multipliers (1, 1)
  const auto tried = [&](double up, double down) {
    const double bound = dual.bound(up, down);
    best = std::min(best, bound);
    return bound;
  };
  // Many groups make each trial dear, and what skewed multipliers add is little: one search then.
  const bool is_dear = cells.size() > 32;
  const int steps = is_dear ? 8 : 14;
  double size = least_place(.02, 1, steps, [&](double each) { return tried(each, each); });
  for (int round = 0; !is_dear && round < 2; ++round) {
    const double skew = least_place(-1.5, 1.5, steps, [&](double each) {
      return tried(std::min(1.0, size * std::exp(each)), std::min(1.0, size * std::exp(-each)));
    });
    size = least_place(size * .6, std::min(1.5, size * 1.6), steps, [&](double each) {
      return tried(std::min(1.0, each * std::exp(skew)), std::min(1.0, each * std::exp(-skew)));
    });
  }
  return std::clamp(best, 0.0, 1.0);
}

}  // namespace draftproof::oracle
