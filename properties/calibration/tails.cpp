// Tails: error rates down to 1e-9, summed over everything that can happen.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "oracle/conditional.h"
#include "oracle/exact_tail.h"
#include "oracle/sequential.h"
#include "properties/calibration/checks.h"
#include "properties/calibration/toy_laws.h"

namespace draftproof::properties::calibration {
namespace {

std::vector<double> rates() {
  std::vector<double> list;
  for (int power = 1; power <= 9; ++power) list.push_back(std::pow(10.0, -power));
  return list;
}

std::vector<double> levels() {
  std::vector<double> list;
  for (const double rate : rates()) list.push_back(-std::log(rate));
  return list;
}

/// The dearest: P / a over all rates, and P at 1e-9.
struct Tails {
  double worst = 0, at_a_billionth = 0;
  void take(const std::vector<double>& probabilities) {
    for (std::size_t i = 0; i < probabilities.size(); ++i)
      worst = std::max(worst, probabilities[i] / rates()[i]);
    at_a_billionth = std::max(at_a_billionth, probabilities.back());
  }
};

std::vector<double> ever_of_mixture(const Law& law, std::uint64_t samples) {
  return oracle::ever_at_least(
      law, samples, levels(), oracle::SampleCounts(law.size()),
      [](const oracle::SampleCounts& counts, std::size_t cell) {
        oracle::SampleCounts after = counts;
        ++after[cell];
        return after;
      },
      [&](const oracle::SampleCounts& counts) { return oracle::log_evidence(counts, law); });
}

std::vector<double> ever_of_directed(const Law& target, const Law& draft, std::uint64_t samples) {
  const oracle::PreparedLaws laws({target, draft});
  return oracle::ever_at_least(
      target, samples, levels(), oracle::ConditionalEvidence(),
      [&](const oracle::ConditionalEvidence& evidence, std::size_t cell) {
        oracle::ConditionalEvidence after = evidence;
        after.add(laws, static_cast<reference::Token>(cell), .5);
        return after;
      },
      [](const oracle::ConditionalEvidence& evidence) {
        return evidence.log_e_value_of_directed();
      });
}

/// Of the sixteen cells that places are counted in, after a fixed number of tokens.
std::vector<double> of_places(std::uint64_t samples) {
  const Law law(oracle::kPlaceCells, 1.0 / static_cast<double>(oracle::kPlaceCells));
  const auto exact = oracle::exact_distribution(
      law, samples,
      [&](const oracle::SampleCounts& counts) { return oracle::log_evidence(counts, law); });
  std::vector<double> probabilities;
  for (const double level : levels()) probabilities.push_back(exact.at_least(level));
  return probabilities;
}

double pearson(const oracle::SampleCounts& counts) {
  const auto total =
      static_cast<double>(std::accumulate(counts.begin(), counts.end(), std::uint64_t{0}));
  const double expected = total / static_cast<double>(counts.size());
  double sum = 0;
  for (const std::uint64_t count : counts)
    sum += std::pow(static_cast<double>(count) - expected, 2) / expected;
  return sum;
}

/// How often the chi-squared test at 1e-9 errs: eight cells, ten expected in each.
double of_chi_squared() {
  const Law law(8, .125);
  double probability = 0;
  oracle::visit_counts(law, 80, true, [&](const oracle::SampleCounts& counts, double mass) {
    if (mass > 0 && oracle::chi_squared_at_least(pearson(counts), 7) <= 1e-9) probability += mass;
  });
  return probability;
}

}  // namespace

Finding tails_are_as_stated(const Settings& settings) {
  Tails tails;
  Finding finding;
  const auto take = [&](std::uint64_t samples, const auto& compute) {
    if (settings.stopped()) {
      finding.is_complete = false;
      return;
    }
    tails.take(compute());
    finding.runs += samples;
  };
  const std::uint64_t two = settings.sized(150, 400, 2000), three = settings.sized(30, 70, 160);
  for (const Law& law : {Law{.5, .5}, Law{.9, .1}, Law{.99, .01}})
    take(two, [&] { return ever_of_mixture(law, two); });
  for (const Law& law : {Law{.6, .3, .1}, Law{.2, .3, .5}})
    take(three, [&] { return ever_of_mixture(law, three); });
  const std::uint64_t directed = settings.sized(24, 40, 80);
  take(directed, [&] { return ever_of_directed({.5, .3, .2}, {.3, .3, .4}, directed); });
  take(directed, [&] { return ever_of_directed({.7, .2, .1}, {.2, .5, .3}, directed); });
  const std::uint64_t places = settings.sized(24, 36, 52);
  take(places, [&] { return of_places(places); });
  finding.holds = tails.worst <= 1;
  finding.seen =
      "largest P / a is " + number(tails.worst) + "; at 1e-9 P is " + number(tails.at_a_billionth);
  const double control = of_chi_squared();
  finding.control_falls = control > 1e-9;
  finding.control =
      "a chi-squared test at 1e-9, ten expected in each of 8 cells: " + number(control);
  return finding;
}

}  // namespace draftproof::properties::calibration
