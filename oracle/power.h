// Power: what a sample can see, and how many it takes. Everything a plan promises comes from here,
// before any traffic.
#pragma once

#include <cstdint>
#include <span>

namespace draftproof::oracle {

/// Tokens until a directed or place bet whose growth is `divergence` nats a token reaches
/// log_alarm: (log_alarm + learning) / divergence, rounded up, where learning = (k-1)/2 ln n is
/// what sixteen-cell places pay for not knowing the fault. Saturates at UINT64_MAX.
std::uint64_t tokens_to_alarm(double divergence, double log_alarm, std::size_t cells);

/// Samples until total variation `distance`, spread in the way that is hardest to see, alarms
/// against a known law of `cells` cells.
std::uint64_t samples_to_see(double distance, double log_alarm, std::size_t cells);
/// The same between two samples, of each arm.
std::uint64_t pairs_to_see(double distance, double log_alarm, std::size_t cells);
/// The inverse: the total variation that so many samples see; 1 when none.
double visible_distance(std::uint64_t sample_count, double log_alarm, std::size_t cells);
double visible_distance_of_pairs(std::uint64_t pair_count, double log_alarm, std::size_t cells);

/// Samples until certified_distance() of a right engine is at most `distance`.
std::uint64_t samples_to_certify(double distance, double miss, std::size_t cells);

/// The share of tokens outside the support of which `token_count` tokens would have shown one with
/// probability 1 - miss: 1 - miss^(1/n).
double visible_share(std::uint64_t token_count, double miss);

}  // namespace draftproof::oracle
