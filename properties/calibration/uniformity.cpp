// Uniformity under the null: places of tokens, and p-values from exact distributions.
#include <algorithm>
#include <array>
#include <cmath>

#include "oracle/exact_tail.h"
#include "properties/calibration/checks.h"
#include "properties/calibration/toy_laws.h"

namespace draftproof::properties::calibration {
namespace {

/// Probability of a count as far out as this one on its own side, doubled: exact, two-sided.
double two_sided(std::uint64_t count, std::uint64_t trials, double rate) {
  return std::min(1.0, 2 * std::min(oracle::binomial_at_most(count, trials, rate),
                                    oracle::binomial_at_least(count, trials, rate)));
}

/// The least probability of a cell of any order, times the number of cells.
double rarest_cell(const oracle::ConditionalEvidence& evidence) {
  double least = 1;
  for (std::size_t order = 0; order < 3; ++order) {
    for (const std::uint64_t count : evidence.places(order)) {
      least = std::min(least, two_sided(count, evidence.token_count(),
                                        1.0 / static_cast<double>(oracle::kPlaceCells)));
    }
  }
  return std::min(1.0, least * 3 * static_cast<double>(oracle::kPlaceCells));
}

/// Each p-value of a likelihood ratio over four cells; `randomises` spreads it over its atom.
std::vector<double> p_values(std::uint64_t runs, std::uint64_t seed, bool randomises,
                             const Settings& settings) {
  const Law law(4, .25);
  const auto ratio = [](const oracle::SampleCounts& counts) {
    double sum = 0;
    for (const std::uint64_t count : counts) {
      const auto times = static_cast<double>(count);
      if (count > 0) sum += 2 * times * std::log(times / 5);
    }
    return sum;
  };
  const auto exact = oracle::exact_distribution(law, 20, ratio);
  Random random(seed);
  std::vector<double> values;
  for (std::uint64_t run = 0; run < runs && !settings.stopped(); ++run) {
    oracle::SampleCounts counts(4);
    for (int i = 0; i < 20; ++i) ++counts[random.below(4)];
    const double seen = ratio(counts), beyond = exact.above(seen);
    const double coin = randomises ? random.unit() : 1;
    values.push_back(beyond + coin * (exact.at_least(seen) - beyond));
  }
  std::sort(values.begin(), values.end());
  return values;
}

struct Uniformity {
  double largest_gap = 0;  ///< of the empirical distribution from the uniform one
  double gap_allowed = 0;
  double rarest = 1;  ///< two-sided, of the counts at 1e-1 to 1e-4, times their number
  bool holds() const { return largest_gap <= gap_allowed && rarest >= kMiss / 2; }
};

Uniformity uniformity_of(const std::vector<double>& sorted) {
  Uniformity found;
  const auto n = static_cast<double>(sorted.size());
  // Dvoretzky, Kiefer, Wolfowitz with the constant of Massart 1990.
  found.gap_allowed = std::sqrt(std::log(2 / (kMiss / 2)) / (2 * n));
  for (std::size_t i = 0; i < sorted.size(); ++i) {
    const auto place = static_cast<double>(i);
    found.largest_gap =
        std::max({found.largest_gap, sorted[i] - place / n, (place + 1) / n - sorted[i]});
  }
  for (int power = 1; power <= 4; ++power) {
    const double level = std::pow(10.0, -power);
    const auto count = static_cast<std::uint64_t>(
        std::upper_bound(sorted.begin(), sorted.end(), level) - sorted.begin());
    found.rarest = std::min(found.rarest, 4 * two_sided(count, sorted.size(), level));
  }
  return found;
}

std::string words(const Uniformity& found) {
  return "largest gap " + number(found.largest_gap) + " of " + number(found.gap_allowed) +
         " allowed; rarest count of tails 1e-1 to 1e-4 " + number(found.rarest);
}

}  // namespace

Finding places_are_uniform(const Settings& settings) {
  const auto contexts = toy_contexts();
  const std::uint64_t tokens = settings.sized(200'000, 2'000'000, 20'000'000);
  Random random(derived_seed(settings.seed, "places_are_uniform"));
  oracle::ConditionalEvidence ours, control;
  Finding finding;
  for (; finding.runs < tokens; ++finding.runs) {
    if (finding.runs % 4096 == 0 && settings.stopped()) break;
    const Context& context = random.pick(contexts);
    const double point = random.unit();
    const auto token = static_cast<reference::Token>(drawn_at(context.target, point));
    ours.add(context.prepared, token, random.unit());
    control.add(context.prepared, token, point);  // the coin that drew it
  }
  finding.is_complete = finding.runs == tokens;
  finding.holds = rarest_cell(ours) >= kMiss;
  finding.control_falls = rarest_cell(control) < kMiss;
  finding.seen = "rarest cell: probability " + number(rarest_cell(ours)) + " of being so far out";
  finding.control = "the coin that drew the token, read again: " + number(rarest_cell(control));
  return finding;
}

Finding randomised_p_values_are_uniform(const Settings& settings) {
  const std::uint64_t runs = settings.sized(30'000, 100'000, 1'000'000);
  const std::uint64_t seed = derived_seed(settings.seed, "randomised_p_values");
  const auto ours = p_values(runs, seed, true, settings);
  const auto plain = p_values(runs, seed, false, settings);
  Finding finding;
  finding.runs = ours.size();
  finding.is_complete = ours.size() == runs && plain.size() == runs;
  const Uniformity found = uniformity_of(ours), control = uniformity_of(plain);
  finding.holds = found.holds();
  finding.control_falls = !control.holds();
  finding.seen = words(found);
  finding.control = "not randomised: " + words(control);
  return finding;
}

}  // namespace draftproof::properties::calibration
