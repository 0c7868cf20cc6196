#include "oracle/exact_tail.h"

#include <boost/math/special_functions/beta.hpp>
#include <boost/math/special_functions/gamma.hpp>
#include <cmath>
#include <numeric>

namespace draftproof::oracle {
namespace {

constexpr double kSameValue = 1e-9;

/// Walks cells from the first to the last; the last takes what is left.
class CountsWalk {
 public:
  CountsWalk(std::span<const double> law, bool is_symmetric,
             const std::function<void(const SampleCounts&, double)>& visit)
      : law_(law), is_symmetric_(is_symmetric), visit_(visit), counts_(law.size()) {}

  /// `log_weight`: sum of count log(law) - log(count!) of the cells before.
  void walk(std::size_t cell, std::uint64_t left, double log_weight) {
    if (cell + 1 == law_.size()) {
      if (is_symmetric_ && cell > 0 && left > counts_[cell - 1]) return;
      counts_[cell] = left;
      visit_(counts_, std::exp(log_weight + term(cell, left) + log_orders()));
      return;
    }
    const std::uint64_t most = is_symmetric_ && cell > 0 ? std::min(left, counts_[cell - 1]) : left;
    const std::uint64_t cells = law_.size() - cell;
    // In falling order the first of the rest holds at least its share of it.
    const std::uint64_t least = is_symmetric_ ? (left + cells - 1) / cells : 0;
    for (std::uint64_t count = least; count <= most; ++count) {
      counts_[cell] = count;
      walk(cell + 1, left - count, log_weight + term(cell, count));
    }
  }

 private:
  double term(std::size_t cell, std::uint64_t count) const {
    if (count == 0) return 0;
    const auto times = static_cast<double>(count);
    return times * std::log(law_[cell]) - std::lgamma(times + 1);
  }

  /// Logarithm of how many orders these counts have.
  double log_orders() const {
    if (!is_symmetric_) return 0;
    double orders = std::lgamma(static_cast<double>(counts_.size()) + 1);
    std::size_t alike = 0;
    for (std::size_t i = 0; i < counts_.size(); ++i) {
      ++alike;
      if (i + 1 < counts_.size() && counts_[i + 1] == counts_[i]) continue;
      orders -= std::lgamma(static_cast<double>(alike) + 1);
      alike = 0;
    }
    return orders;
  }

  std::span<const double> law_;
  bool is_symmetric_;
  const std::function<void(const SampleCounts&, double)>& visit_;
  SampleCounts counts_;
};

}  // namespace

ExactDistribution::ExactDistribution(std::vector<std::pair<double, double>> values) {
  std::sort(values.begin(), values.end(), std::greater<>());
  double tail = 0;
  for (const auto& [value, probability] : values) {
    if (values_.empty() || values_.back().first - value > kSameValue) {
      values_.emplace_back(value, 0);
      tails_.push_back(tail);
    }
    values_.back().second += probability;
    tails_.back() = tail += probability;
  }
}

double ExactDistribution::at_least(double level) const {
  const auto end = std::partition_point(values_.begin(), values_.end(), [&](const auto& each) {
    return each.first >= level - kSameValue;
  });
  return end == values_.begin() ? 0 : tails_[static_cast<std::size_t>(end - values_.begin()) - 1];
}

double ExactDistribution::above(double level) const {
  const auto end = std::partition_point(values_.begin(), values_.end(), [&](const auto& each) {
    return each.first > level + kSameValue;
  });
  return end == values_.begin() ? 0 : tails_[static_cast<std::size_t>(end - values_.begin()) - 1];
}

void visit_counts(std::span<const double> law, std::uint64_t samples, bool is_symmetric,
                  const std::function<void(const SampleCounts&, double)>& visit) {
  DRAFTPROOF_CHECK(!law.empty());
  CountsWalk(law, is_symmetric, visit)
      .walk(0, samples, std::lgamma(static_cast<double>(samples) + 1));
}

ExactDistribution exact_distribution(std::span<const double> law, std::uint64_t samples,
                                     const std::function<double(const SampleCounts&)>& statistic) {
  const bool is_uniform =
      std::all_of(law.begin(), law.end(), [&](double each) { return each == law.front(); });
  std::vector<std::pair<double, double>> values;
  visit_counts(law, samples, is_uniform, [&](const SampleCounts& counts, double probability) {
    if (probability > 0) values.emplace_back(statistic(counts), probability);
  });
  return ExactDistribution(std::move(values));
}

double binomial_at_most(std::uint64_t count, std::uint64_t trials, double rate) {
  if (count >= trials || rate <= 0) return 1;
  if (rate >= 1) return 0;
  return boost::math::ibetac(static_cast<double>(count) + 1, static_cast<double>(trials - count),
                             rate);
}

double binomial_at_least(std::uint64_t count, std::uint64_t trials, double rate) {
  if (count == 0) return 1;
  if (count > trials || rate <= 0) return 0;
  if (rate >= 1) return 1;
  return boost::math::ibeta(static_cast<double>(count), static_cast<double>(trials - count) + 1,
                            rate);
}

double chi_squared_at_least(double level, std::size_t degrees) {
  return level <= 0 ? 1 : boost::math::gamma_q(static_cast<double>(degrees) / 2, level / 2);
}

}  // namespace draftproof::oracle
