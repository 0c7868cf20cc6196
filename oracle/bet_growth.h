// Bet growth: what conditional evidence will say of a fault before any token is drawn. Of every bet
// the mean of its logarithm a token, under the law that the faulty engine has; of places the
// divergence of their sixteen cells from the uniform law.
#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include "oracle/conditional.h"

namespace draftproof::oracle {

/// Which bets are laid: a kind alone, or what ConditionalEvidence averages.
enum class BetKind : std::uint8_t { kDirected, kPlaces, kJoint };

class BetGrowth {
 public:
  BetGrowth();
  /// Tokens of law `actual` come at positions of these laws, with `weight` of all tokens. Weights
  /// are divided by their sum. A token that the target excludes makes every need one over its
  /// share.
  void add(const PreparedLaws& laws, std::span<const double> actual, double weight);

  /// Tokens until the expected evidence reaches log_alarm; UINT64_MAX: never.
  std::uint64_t tokens_to_alarm(BetKind kind, double log_alarm) const;
  /// The expected logarithm of the e-value after so many tokens.
  double expected_log(BetKind kind, double tokens) const;
  /// The bet that grows most, and by how much a token.
  std::string strongest() const;
  double strongest_growth() const;

 private:
  std::array<double, 3> place_divergences() const;

  double weight_ = 0, impossible_ = 0;
  std::vector<double> directed_;  ///< by bet and share
  std::array<std::array<double, kPlaceCells>, 3> cells_ = {};
};

}  // namespace draftproof::oracle
