// Fairness: means of e-values by enumeration.
#include <algorithm>
#include <cmath>

#include "oracle/conditional.h"
#include "oracle/two_sample.h"
#include "properties/calibration/checks.h"
#include "properties/calibration/toy_laws.h"

namespace draftproof::properties::calibration {
namespace {

using Sequence = std::vector<reference::Token>;
using Pairs = std::vector<std::pair<std::size_t, std::size_t>>;

/// The largest mean payment of any bet, over random laws with zeros.
double largest_of_directed(std::uint64_t trials, Random& random) {
  double largest = 0;
  for (std::uint64_t trial = 0; trial < trials; ++trial) {
    const std::size_t size = 1 + random.below(12);
    const Law target = some_law(size, random, .2);
    const Law draft = trial % 5 == 0 ? target : some_law(size, random, .2);
    const oracle::BetLaws bets({target, draft});
    for (std::size_t bet = 0; bet < bets.bet_count(); ++bet) {
      double mean = 0;
      for (std::size_t token = 0; token < size; ++token)
        mean += target[token] > 0 ? target[token] * bets.ratio(bet, token) : 0;
      largest = std::max(largest, mean);
    }
  }
  return largest;
}

/// The mean of everything averaged, behind two tokens. Coins take the middles of 48 pieces that no
/// boundary of a cell or of a share cuts, so this is the integral over coins.
double mean_of_conditional(const Law& target, const Law& draft) {
  constexpr int kPieces = 48;
  const oracle::PreparedLaws laws({target, draft});
  struct Step {
    reference::Token token;
    double coin;
  };
  std::vector<Step> steps;
  for (std::size_t token = 0; token < target.size(); ++token) {
    const auto pieces = static_cast<int>(std::lround(target[token] * kPieces));
    for (int piece = 0; piece < pieces; ++piece)
      steps.push_back({static_cast<reference::Token>(token), (piece + .5) / pieces});
  }
  double mean = 0;
  for (const Step& one : steps) {
    oracle::ConditionalEvidence first;
    first.add(laws, one.token, one.coin);
    for (const Step& two : steps) {
      oracle::ConditionalEvidence second = first;
      second.add(laws, two.token, two.coin);
      mean += std::exp(second.log_e_value()) / (kPieces * kPieces);
    }
  }
  return mean;
}

const std::vector<Sequence>& sequences() {
  static const std::vector<Sequence> list = {{}, {0}, {1}, {0, 0}, {0, 1}, {1, 0}};
  return list;
}

/// Laws over all sequences whose probabilities are fifths.
void add_laws(Law& law, int left, std::vector<Law>& laws) {
  if (law.size() + 1 == sequences().size()) {
    law.push_back(left / 5.0);
    laws.push_back(law);
    law.pop_back();
    return;
  }
  for (int part = 0; part <= left; ++part) {
    law.push_back(part / 5.0);
    add_laws(law, left - part, laws);
    law.pop_back();
  }
}

double log_pairs(const Pairs& pairs) {
  oracle::TwoSampleEvidence evidence(2);
  for (const auto& [one, other] : pairs) evidence.add(sequences()[one], sequences()[other]);
  return evidence.log_e_value();
}

double log_dirichlet(const std::vector<double>& counts) {
  double total = 0, sum = std::lgamma(static_cast<double>(counts.size()));
  for (const double count : counts) {
    sum += std::lgamma(1 + count);
    total += count;
  }
  return sum - std::lgamma(static_cast<double>(counts.size()) + total);
}

/// Two Dirichlet laws against one: a Bayes factor, and no e-value.
double log_bayes_factor(const Pairs& pairs) {
  std::vector<double> one(sequences().size()), other = one, both = one;
  for (const auto& [x, y] : pairs) {
    ++one[x];
    ++other[y];
    ++both[x];
    ++both[y];
  }
  return log_dirichlet(one) + log_dirichlet(other) - log_dirichlet(both);
}

/// Over all common laws of the grid, the mean of what one more pair multiplies the value by.
template <class LogValue>
double largest_step(const Pairs& past, const std::vector<Law>& laws, const LogValue& log_value) {
  const double before = log_value(past);
  const std::size_t size = sequences().size();
  std::vector<double> after;
  for (std::size_t pair = 0; pair < size * size; ++pair) {
    Pairs longer = past;
    longer.emplace_back(pair / size, pair % size);
    after.push_back(std::exp(log_value(longer) - before));
  }
  double largest = 0;
  for (const Law& law : laws) {
    double mean = 0;
    for (std::size_t pair = 0; pair < size * size; ++pair)
      mean += law[pair / size] * law[pair % size] * after[pair];
    largest = std::max(largest, mean);
  }
  return largest;
}

}  // namespace

Finding bets_are_fair(const Settings& settings) {
  Random random(derived_seed(settings.seed, "bets_are_fair"));
  const std::uint64_t trials = settings.sized(2000, 20'000, 200'000);
  Finding finding;
  double directed = largest_of_directed(trials, random);
  double conditional = 0;
  const std::vector<Law> forty_eighths = {{24.0 / 48, 18.0 / 48, 6.0 / 48},
                                          {12.0 / 48, 12.0 / 48, 24.0 / 48},
                                          {6.0 / 48, 30.0 / 48, .25}};
  for (const Law& target : forty_eighths) {
    for (const Law& draft : forty_eighths)
      conditional = std::max(conditional, mean_of_conditional(target, draft));
  }
  std::vector<Law> laws;
  Law start;
  add_laws(start, 5, laws);
  const std::uint64_t pasts = settings.sized(10, 60, 400);
  const Law one = {.1, .3, .1, .3, .1, .1}, other = {.3, .1, .1, .1, .1, .3};
  double pairs = largest_step({}, laws, log_pairs);
  for (std::uint64_t i = 0; i < pasts && finding.is_complete; ++i) {
    finding.is_complete = !settings.stopped();
    Pairs past(1 + random.below(60));
    for (auto& [x, y] : past) {
      x = drawn(one, random);
      y = drawn(i % 2 == 0 ? one : other, random);
    }
    pairs = std::max(pairs, largest_step(past, laws, log_pairs));
  }
  finding.runs = trials + forty_eighths.size() * forty_eighths.size() + pasts * laws.size();
  finding.holds = std::max({directed, conditional, pairs}) <= 1 + 1e-9;
  finding.seen = "largest means: directed " + number(directed, 10) + ", averaged " +
                 number(conditional, 10) + ", pairs " + number(pairs, 10);
  const double control = largest_step({}, laws, log_bayes_factor);
  finding.control_falls = control > 1 + 1e-9;
  finding.control = "a Bayes factor of two Dirichlet laws against one: " + number(control, 4);
  return finding;
}

}  // namespace draftproof::properties::calibration
