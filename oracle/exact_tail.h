// Exact tail: what a statistic of counts does under a known law, by summing over everything that
// can happen: no simulation and no limit theorem, so that an error rate of 1e-9 is computed, not
// extrapolated. For small problems: all counts are visited. Where the law is uniform, counts that
// are alike but for their order are visited once (integer partitions).
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

#include "reference/error.h"

namespace draftproof::oracle {

using SampleCounts = std::vector<std::uint64_t>;

/// Values of a statistic with their probabilities, largest first; equal values are one.
class ExactDistribution {
 public:
  explicit ExactDistribution(std::vector<std::pair<double, double>> values);
  /// P(statistic >= level); values within 1e-9 of it count.
  double at_least(double level) const;
  /// P(statistic > level).
  double above(double level) const;
  std::size_t size() const { return values_.size(); }
  const std::vector<std::pair<double, double>>& values() const { return values_; }

 private:
  std::vector<std::pair<double, double>> values_;
  std::vector<double> tails_;  ///< of each value and all larger ones
};

/// Every way in which `samples` draws can fall into the cells of `law`, with its probability.
/// Where `is_symmetric`, `visit` is given one order of each and the probability of all of them:
/// for uniform laws and statistics that do not know cells apart.
void visit_counts(std::span<const double> law, std::uint64_t samples, bool is_symmetric,
                  const std::function<void(const SampleCounts&, double)>& visit);

/// Of a statistic after `samples` draws. Uniform laws are taken as symmetric: so must be the
/// statistic.
ExactDistribution exact_distribution(std::span<const double> law, std::uint64_t samples,
                                     const std::function<double(const SampleCounts&)>& statistic);

/// For every level the probability that value(state) reaches it at any of the first `samples`
/// draws. `step(state, cell)` is the state behind one more draw and may depend on the cell's counts
/// alone, not on their order. At most four cells, at most 65,535 draws.
template <class State, class Step, class Value>
std::vector<double> ever_at_least(std::span<const double> law, std::uint64_t samples,
                                  std::span<const double> levels, const State& start,
                                  const Step& step, const Value& value) {
  DRAFTPROOF_CHECK(law.size() <= 4 && samples < 65536);
  struct Node {
    State state;
    std::vector<double> below;  ///< by level: probability of being here, never having reached it
  };
  std::vector<double> reached(levels.size());
  std::unordered_map<std::uint64_t, Node> layer;
  layer.emplace(0, Node{start, std::vector<double>(levels.size(), 1)});
  for (std::uint64_t draw = 0; draw < samples; ++draw) {
    std::unordered_map<std::uint64_t, Node> after;
    for (const auto& [key, node] : layer) {
      for (std::size_t cell = 0; cell < law.size(); ++cell) {
        if (law[cell] <= 0) continue;
        auto [found, is_first] = after.try_emplace(key + (std::uint64_t{1} << (16 * cell)));
        if (is_first) found->second = {step(node.state, cell), std::vector<double>(levels.size())};
        for (std::size_t i = 0; i < levels.size(); ++i)
          found->second.below[i] += node.below[i] * law[cell];
      }
    }
    for (auto& [key, node] : after) {
      const double here = value(node.state);
      for (std::size_t i = 0; i < levels.size(); ++i) {
        if (here >= levels[i]) reached[i] += std::exchange(node.below[i], 0);
      }
    }
    layer = std::move(after);
  }
  return reached;
}

/// Exact binomial tails: P(X <= count) and P(X >= count).
double binomial_at_most(std::uint64_t count, std::uint64_t trials, double rate);
double binomial_at_least(std::uint64_t count, std::uint64_t trials, double rate);
/// P(X >= level) of the chi-squared law: what a test takes for its error rate.
double chi_squared_at_least(double level, std::size_t degrees);

}  // namespace draftproof::oracle
