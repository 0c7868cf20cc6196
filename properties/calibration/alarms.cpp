// Alarms: how often e-values ever reach 1/a under the law, and how often certificates are false.
#include <array>
#include <cmath>
#include <numeric>

#include "oracle/conditional.h"
#include "oracle/distance.h"
#include "oracle/exact_tail.h"
#include "oracle/sequential.h"
#include "oracle/two_sample.h"
#include "properties/calibration/checks.h"
#include "properties/calibration/toy_laws.h"

namespace draftproof::properties::calibration {
namespace {

constexpr std::array<double, 3> kRates = {.1, .01, .001};

/// Runs whose largest value reached 1/rate.
struct Alarms {
  std::string of;
  std::array<std::uint64_t, kRates.size()> counts = {};
  std::uint64_t runs = 0;

  void take(double largest) {
    ++runs;
    for (std::size_t i = 0; i < kRates.size(); ++i)
      counts[i] += largest >= -std::log(kRates[i]) ? 1 : 0;
  }
  /// No more alarms than the rates explain.
  bool holds(double miss) const {
    for (std::size_t i = 0; i < kRates.size(); ++i) {
      if (oracle::binomial_at_least(counts[i], runs, kRates[i]) < miss) return false;
    }
    return true;
  }
  std::string words() const {
    std::string text = of;
    for (const std::uint64_t count : counts) text += " " + std::to_string(count);
    return text + " of " + std::to_string(runs);
  }
};

double of_conditional(const std::vector<Context>& contexts, std::uint64_t tokens, Random& random) {
  oracle::ConditionalEvidence evidence;
  double largest = 0;
  std::uint64_t look = 8;
  for (std::uint64_t count = 1; count <= tokens; ++count) {
    const Context& context = random.pick(contexts);
    evidence.add(context.prepared, static_cast<reference::Token>(drawn(context.target, random)),
                 random.unit());
    if (count != look && count != tokens) continue;
    largest = std::max(largest, evidence.log_e_value());
    look *= 2;
  }
  return largest;
}

double of_pairs(const std::vector<Context>& contexts, std::uint64_t pairs, Random& random) {
  oracle::TwoSampleEvidence evidence(10);
  double largest = 0;
  std::uint64_t look = 4;
  for (std::uint64_t count = 1; count <= pairs; ++count) {
    std::array<std::vector<reference::Token>, 2> arms;
    for (auto& arm : arms) {
      std::size_t last = 0;
      for (int i = 0; i < 3; ++i) {
        last = drawn(contexts[last % contexts.size()].target, random);
        arm.push_back(static_cast<reference::Token>(last));
      }
    }
    evidence.add(arms[0], arms[1]);
    if (count != look && count != pairs) continue;
    largest = std::max(largest, evidence.log_e_value());
    look *= 2;
  }
  return largest;
}

/// The largest e-value of counts, and the largest -log of chi-squared p-values, at the same looks.
std::pair<double, double> of_counts(std::uint64_t samples, Random& random) {
  const Law law(8, .125);
  std::vector<std::uint64_t> counts(8);
  std::pair<double, double> largest = {0, 0};
  std::uint64_t look = 64;
  for (std::uint64_t count = 1; count <= samples; ++count) {
    ++counts[random.below(8)];
    if (count != look && count != samples) continue;
    const double expected = static_cast<double>(count) / 8;
    double squares = 0;
    for (const std::uint64_t each : counts)
      squares += std::pow(static_cast<double>(each) - expected, 2) / expected;
    largest.first = std::max(largest.first, oracle::log_evidence(counts, law));
    largest.second = std::max(largest.second, -std::log(oracle::chi_squared_at_least(squares, 7)));
    look *= 2;
  }
  return largest;
}

/// A law at `distance` against the uniform one, sampled so often.
struct LeastFavourable {
  std::size_t cells;
  double distance;
  std::uint64_t samples;
};

constexpr double kFalsehood = .05;

}  // namespace

Finding alarms_are_rare(const Settings& settings) {
  const auto contexts = toy_contexts();
  const std::uint64_t runs = settings.sized(600, 5000, 100'000);
  Random random(derived_seed(settings.seed, "alarms_are_rare"));
  Alarms conditional{"conditional"}, pairs{"pairs"}, counts{"counts"}, control{"p-values"};
  Finding finding;
  for (; finding.runs < runs && !settings.stopped(); ++finding.runs) {
    conditional.take(of_conditional(contexts, 512, random));
    pairs.take(of_pairs(contexts, 128, random));
    const auto [evidence, surprise] = of_counts(4096, random);
    counts.take(evidence);
    control.take(surprise);
  }
  finding.is_complete = finding.runs == runs;
  constexpr double kEach = kMiss / 9;
  finding.holds = conditional.holds(kEach) && pairs.holds(kEach) && counts.holds(kEach);
  finding.seen = "alarms at .1 .01 .001: " + conditional.words() + "; " + pairs.words() + "; " +
                 counts.words();
  finding.control_falls = !control.holds(kEach);
  finding.control = "chi-squared p-values at the same looks: " + control.words();
  return finding;
}

Finding certificates_are_rarely_false(const Settings& settings) {
  const LeastFavourable cases[] = {{64, .35, 300}, {16, .2, 300}, {4, .12, 500}, {256, .45, 600}};
  const std::uint64_t runs = settings.sized(120, 1000, 10'000);
  Random random(derived_seed(settings.seed, "certificates"));
  Finding finding;
  finding.holds = true;
  for (const LeastFavourable& each : cases) {
    const Law law(each.cells, 1.0 / static_cast<double>(each.cells));
    const Law truth = hardest(each.cells, each.distance);
    std::uint64_t lies = 0, control = 0, done = 0;
    for (; done < runs && !settings.stopped(); ++done) {
      std::vector<std::uint64_t> counts(each.cells);
      for (std::uint64_t i = 0; i < each.samples; ++i) ++counts[drawn(truth, random)];
      lies += oracle::certified_distance(counts, law, kFalsehood) < each.distance ? 1 : 0;
      control += oracle::effect_of(counts, law, .5).total_variation < each.distance ? 1 : 0;
    }
    finding.is_complete = finding.is_complete && done == runs;
    finding.runs += done;
    finding.holds = finding.holds && oracle::binomial_at_least(lies, done, kFalsehood) >= kMiss / 4;
    finding.control_falls =
        finding.control_falls || oracle::binomial_at_least(control, done, kFalsehood) < kMiss / 4;
    const std::string start = finding.seen.empty() ? "" : ", ";
    finding.seen += start + std::to_string(lies) + " (" + std::to_string(each.cells) + " cells)";
    finding.control += start + std::to_string(control);
  }
  finding.seen = "false of " + std::to_string(runs) + ": " + finding.seen;
  finding.control = "the estimate less its bias taken for a bound: " + finding.control;
  return finding;
}

}  // namespace draftproof::properties::calibration
