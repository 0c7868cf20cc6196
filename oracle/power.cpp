#include "oracle/power.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "oracle/debiased.h"
#include "oracle/sequential.h"
#include "reference/error.h"

namespace draftproof::oracle {
namespace {

// Paces 4^0, 4^1, ... of either mixture, and the share of it that they have.
constexpr int kPacesOfCounts = 16, kPacesOfPairs = 9;
constexpr double kShareOfPairs = 9.0 / 20;

std::uint64_t saturated(double samples) {
  return samples >= kNever ? std::numeric_limits<std::uint64_t>::max()
                           : static_cast<std::uint64_t>(std::ceil(samples));
}

double mixed(double samples, double divergence, std::size_t cells, int paces) {
  const double learned = static_cast<double>(cells - 1) / 2;
  std::vector<double> earned;
  for (int power = 0; power < paces; ++power) {
    const double pace = std::ldexp(1.0, 2 * power), kept = samples / (samples + pace);
    earned.push_back(divergence * samples * kept - learned * (std::log1p(samples / pace) - kept));
  }
  return log_mean(earned);
}

/// KL of the law at this distance that is hardest to see from the expected one: half of the mass
/// more likely by a factor, half less; beyond 1/2 a share of the mass is all there is.
double hardest_divergence(double distance) {
  if (distance >= .5) return -std::log1p(-std::min(distance, 1 - 1e-12));
  const double moved = 2 * distance;
  return ((1 + moved) * std::log1p(moved) + (1 - moved) * std::log1p(-moved)) / 2;
}

/// Twice the Jensen-Shannon divergence of two laws at this distance, the same way.
double hardest_of_pairs(double distance) {
  const double apart = std::min(distance, 1 - 1e-12);
  return (1 + apart) * std::log1p(apart) + (1 - apart) * std::log1p(-apart);
}

/// The least distance for which `needed` is at most so many samples; 1: none.
template <class Needed>
double least_distance(std::uint64_t samples, const Needed& needed) {
  if (needed(1.0) > samples) return 1;
  double low = 0, high = 1;
  for (int step = 0; step < 50 && high - low > 1e-6 * high; ++step) {
    const double middle = (low + high) / 2;
    (needed(middle) <= samples ? high : low) = middle;
  }
  return high;
}

void check_cells(std::size_t cells) { DRAFTPROOF_CHECK(cells >= 2); }

}  // namespace

double expected_log_evidence(double samples, double divergence, std::size_t cells) {
  check_cells(cells);
  return mixed(samples, divergence, cells, kPacesOfCounts);
}

double expected_log_of_pairs(double pairs, double divergence, std::size_t cells) {
  check_cells(cells);
  return mixed(pairs, divergence, cells, kPacesOfPairs) + std::log(kShareOfPairs);
}

std::uint64_t tokens_to_alarm(double divergence, double log_alarm, std::size_t cells) {
  DRAFTPROOF_CHECK(divergence >= 0 && log_alarm >= 0);
  if (cells <= 1) return divergence > 0 ? saturated(log_alarm / divergence) : saturated(kNever);
  return saturated(tokens_to_reach(log_alarm, [&](double samples) {
    return expected_log_evidence(samples, divergence, cells);
  }));
}

std::uint64_t samples_to_see(double distance, double log_alarm, std::size_t cells, double slack) {
  check_cells(cells);
  DRAFTPROOF_CHECK(slack >= 0, std::to_string(slack));
  const double divergence = hardest_divergence(distance);
  if (divergence <= slack) return saturated(kNever);
  return saturated(tokens_to_reach(log_alarm, [&](double samples) {
    return expected_log_evidence(samples, divergence, cells) - slack * samples;
  }));
}

std::uint64_t pairs_to_see(double distance, double log_alarm, std::size_t cells, double slack) {
  DRAFTPROOF_CHECK(slack >= 0, std::to_string(slack));
  const double divergence = hardest_of_pairs(distance);
  if (divergence <= slack) return saturated(kNever);
  return saturated(tokens_to_reach(log_alarm, [&](double pairs) {
    return expected_log_of_pairs(pairs, divergence, cells) - slack * pairs;
  }));
}

double visible_distance(std::uint64_t sample_count, double log_alarm, std::size_t cells,
                        double slack) {
  return least_distance(sample_count, [&](double distance) {
    return samples_to_see(distance, log_alarm, cells, slack);
  });
}

double visible_distance_of_pairs(std::uint64_t pair_count, double log_alarm, std::size_t cells,
                                 double slack) {
  return least_distance(
      pair_count, [&](double distance) { return pairs_to_see(distance, log_alarm, cells, slack); });
}

std::uint64_t samples_to_certify(double distance, double miss, std::size_t cells) {
  DRAFTPROOF_CHECK(distance > 0 && miss > 0 && miss < 1);
  check_cells(cells);
  if (distance >= 1) return 1;
  // A right engine whose cells are alike, which is where sampling scatters most.
  const CellGroup alike{1 / static_cast<double>(cells), cells};
  const auto certified = [&](double samples) {
    const auto n = static_cast<std::uint64_t>(samples);
    const double usual = mean_deviation(n, alike.probability, alike.probability).value *
                         static_cast<double>(cells) / 2;
    return debiased_bound(std::min(1.0, usual), n, {&alike, 1}, miss);
  };
  // Between what the deviation alone takes and what the plug-in bound does.
  const double deviation = std::sqrt(std::log(1 / miss) / 2);
  const double bias = std::sqrt(static_cast<double>(cells)) / 2;
  double low = std::max(1.0, deviation * deviation / distance / distance);
  double high = std::pow((deviation + bias) / distance, 2) + 1;
  if (high >= kNever) return saturated(kNever);
  while (high / low > 1.002 && high - low > 1) {
    const double middle = std::sqrt(low * high);
    (certified(middle) <= distance ? high : low) = middle;
  }
  return saturated(high);
}

std::uint64_t pairs_to_certify(double distance, double miss, std::size_t cells) {
  DRAFTPROOF_CHECK(distance > 0 && miss > 0 && miss < 1);
  check_cells(cells);
  if (distance >= 1) return 1;
  // What cells that are alike show of themselves, and what the bound adds: both fall as 1/sqrt(n).
  const double usual = std::sqrt(static_cast<double>(cells - 1) / M_PI);
  return saturated(std::pow((usual + std::sqrt(std::log(2 / miss))) / distance, 2) + 1);
}

double visible_share(std::uint64_t token_count, double miss) {
  DRAFTPROOF_CHECK(miss > 0 && miss < 1, std::to_string(miss));
  if (token_count == 0) return 1;
  return -std::expm1(std::log(miss) / static_cast<double>(token_count));
}

}  // namespace draftproof::oracle
