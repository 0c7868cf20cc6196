// Conditional evidence: tokens against the law that each must have given everything before it. One
// iteration that emits N tokens is lossless iff P(y_i = x | y_<i, N >= i) is the target's law for
// every i, so each reached position is a draw of its own and evidence multiplies over positions,
// requests and contexts; nothing may be conditioned on what was accepted.
//
// Two kinds of bets, averaged (a mean of e-values is an e-value):
//   places     the token's place in its law, a coin of ours inside the token's own share, is
//              uniform (Rosenblatt 1952). Three orders, each of which is known beforehand: by id,
//              likeliest first, and by draft over target, where the draft's law is known. Sixteen
//              cells each, against the Dirichlet mixture of sequential.h.
//   directed   for a named fault with one-step law r(. | context) (directed_bets.h): the product of
//              1 + share (r(y)/target(y) - 1), for several shares, since a fault acts on some of
//              the tokens only and comes in any size.
// Counts and logarithms add, so evidence of shards merges by addition; coins must be functions of
// the token's address for that (case, trial, position), never drawn from a stream.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "oracle/directed_bets.h"
#include "reference/token.h"

namespace draftproof::oracle {

inline constexpr std::size_t kPlaceCells = 16;
/// Stakes of each directed bet. The largest is below one, so that no bet is ever lost for good;
/// between neighbours a bet grows by two thirds of its best at least.
inline constexpr std::array<double, 4> kBetShares = {.98, .4, .15, .05};

/// What every token of a law has to be asked for: its place in three orders and what each directed
/// bet pays. Made once a context, since contexts come again; about 170 bytes a token. Coins and
/// evidence are not in it, so threads may share one.
class PreparedLaws {
 public:
  /// Preconditions: laws sum to one within 1e-9 and agree in size. Nothing is kept of the spans.
  explicit PreparedLaws(const PositionLaws& laws);

  std::size_t vocab_size() const { return target_.size(); }
  bool has_draft() const { return !starts_[2].empty(); }

 private:
  friend class ConditionalEvidence;
  friend class BetGrowth;
  std::vector<double> target_;
  std::array<std::vector<double>, 3> starts_;  ///< of a token's share, by order
  std::size_t bet_count_ = 0;
  std::vector<double> ratios_;  ///< by token, then by bet
};

class ConditionalEvidence {
 public:
  /// `tolerance` is the pointwise slack in nats that the engine's arithmetic may have
  /// (true law <= exp(tolerance) expected law): it is subtracted a token, so that the evidence
  /// stays valid for the tolerant null. 0: laws are exact.
  explicit ConditionalEvidence(double tolerance = 0);

  /// Precondition: coin in [0, 1). A token of target probability 0, or an id outside the law, is
  /// counted as impossible. Costs half a microsecond.
  void add(const PreparedLaws& laws, reference::Token token, double coin);
  /// The same for a context that will not come again: costs a few passes over the laws.
  /// Preconditions: laws sum to one within 1e-9 and agree in size.
  void add(const PositionLaws& laws, reference::Token token, double coin);
  /// Evidence of another shard: the sums add.
  void merge(const ConditionalEvidence& other);

  /// Natural logarithm of the e-value; +infinity when an impossible token came, which is a proof.
  double log_e_value() const;
  /// The same of one kind of bet alone: for reports of what it took, not for verdicts.
  double log_e_value_of_places() const;
  double log_e_value_of_directed() const;
  /// The bet that has grown most, for a witness: "place by id", "first draft accepted anyway", ...
  std::string strongest() const;
  std::uint64_t token_count() const { return token_count_; }
  std::uint64_t impossible_count() const { return impossible_count_; }
  /// Counts of places, likeliest first: what an effect is measured on.
  std::span<const std::uint64_t, kPlaceCells> places_likeliest_first() const { return places_[1]; }
  /// Of an order: 0 by id, 1 likeliest first, 2 by draft over target.
  std::span<const std::uint64_t, kPlaceCells> places(std::size_t order) const {
    return places_.at(order);
  }

 private:
  void add_places(const std::array<double, 3>& starts, double width, bool has_draft, double coin);
  void add_bet(std::size_t bet, double ratio);
  std::array<double, 3> log_places() const;

  double tolerance_ = 0;
  std::vector<double> tolerances_;  ///< by share: what the slack may let a bet earn
  std::uint64_t token_count_ = 0, impossible_count_ = 0, with_draft_count_ = 0;
  std::array<std::array<std::uint64_t, kPlaceCells>, 3> places_ = {};
  std::vector<double> directed_;  ///< logarithms, by bet and share
};

}  // namespace draftproof::oracle
