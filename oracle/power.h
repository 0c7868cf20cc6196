// Power: what a sample can see, and how many it takes. Everything a plan promises comes from here,
// before any traffic. Needs are where the expected evidence reaches the alarm: about every second
// run alarms sooner. Against an e-value that learns, with divergence D a sample and k cells, a
// pace of c samples earns
//   D n^2/(n+c) - (k-1)/2 [ln(1 + n/c) - n/(n+c)]
// in n samples: what is known of the fault lags c behind, and every cell has to be learned. Both
// the Dirichlet mixture of sequential.h and the pairs of two_sample.h mix such paces.
#pragma once

#include <cstdint>
#include <span>

namespace draftproof::oracle {

/// More than anybody will draw.
inline constexpr double kNever = 0x1p63;

/// The expected logarithm of log_evidence() (sequential.h) after `samples` from a law at this
/// divergence (nats, from actual to expected law) over so many cells.
double expected_log_evidence(double samples, double divergence, std::size_t cells);
/// The same of TwoSampleEvidence of sequences that fall into so many cells; `divergence` is twice
/// the Jensen-Shannon divergence of the arms.
double expected_log_of_pairs(double pairs, double divergence, std::size_t cells);

/// Where a function that grows in the end first reaches `level`, from 1 on; kNever: nowhere.
template <class Expected>
double tokens_to_reach(double level, const Expected& expected) {
  double high = 1;
  while (high < kNever && !(expected(high) >= level)) high *= 2;
  if (high >= kNever) return kNever;
  double low = high / 2;
  while (high - low > .5 && high / low > 1 + 1e-9)
    (expected((low + high) / 2) >= level ? high : low) = (low + high) / 2;
  return high;
}

/// Tokens until a bet whose growth is `divergence` nats a token reaches log_alarm; with more than
/// one cell, until the mixture that has to learn them does. Saturates at UINT64_MAX.
std::uint64_t tokens_to_alarm(double divergence, double log_alarm, std::size_t cells);

/// Samples until total variation `distance`, spread in the way that is hardest to see, alarms
/// against a known law of `cells` cells. `slack`: nats that are taken off every sample's evidence
/// for what arithmetic may do, which a fault has to earn first.
std::uint64_t samples_to_see(double distance, double log_alarm, std::size_t cells,
                             double slack = 0);
/// The same between two samples, of each arm; the slack is a pair's.
std::uint64_t pairs_to_see(double distance, double log_alarm, std::size_t cells, double slack = 0);
/// The inverse: the total variation that so many samples see; 1 when none.
double visible_distance(std::uint64_t sample_count, double log_alarm, std::size_t cells,
                        double slack = 0);
double visible_distance_of_pairs(std::uint64_t pair_count, double log_alarm, std::size_t cells,
                                 double slack = 0);

/// Samples until certified_distance() of a right engine is at most `distance`.
std::uint64_t samples_to_certify(double distance, double miss, std::size_t cells);

/// Pairs until effect_between() (distance.h) of arms with one law certifies `distance`.
std::uint64_t pairs_to_certify(double distance, double miss, std::size_t cells);

/// The share of tokens outside the support of which `token_count` tokens would have shown one with
/// probability 1 - miss: 1 - miss^(1/n).
double visible_share(std::uint64_t token_count, double miss);

}  // namespace draftproof::oracle
