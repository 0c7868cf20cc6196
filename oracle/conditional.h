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
//   directed   for a named fault with one-step law r(. | context): the product of
//              1 + share (r(y)/target(y) - 1); grows by KL(r || target) a token, the best there is
//              against that fault (Neyman, Pearson 1933).
// Counts and logarithms add, so evidence of shards merges by addition; coins must be functions of
// the token's address for that (case, trial, position), never drawn from a stream.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "reference/token.h"

namespace draftproof::oracle {

inline constexpr std::size_t kPlaceCells = 16;

/// Names of the directed bets, in the order of their sums. Those that need the draft's law stand
/// behind those that do not.
const std::vector<std::string>& directed_bets();

/// Laws of one position. `draft` is empty where it is not known. 0 is exactly zero.
struct PositionLaws {
  std::span<const double> target;
  std::span<const double> draft;
};

class ConditionalEvidence {
 public:
  /// `tolerance` is the pointwise slack in nats that the engine's arithmetic may have
  /// (true law <= exp(tolerance) expected law): it is subtracted a token, so that the evidence
  /// stays valid for the tolerant null. 0: laws are exact.
  explicit ConditionalEvidence(double tolerance = 0) : tolerance_(tolerance) {}

  /// Preconditions: laws sum to one within 1e-9 and agree in size; coin in [0, 1). A token of
  /// target probability 0, or an id outside the law, is counted as impossible.
  void add(const PositionLaws& laws, reference::Token token, double coin);
  /// Evidence of another shard: the sums add.
  void merge(const ConditionalEvidence& other);

  /// Natural logarithm of the e-value; +infinity when an impossible token came, which is a proof.
  double log_e_value() const;
  /// The bet that has grown most, for a witness: "place by id", "first draft accepted anyway", ...
  std::string strongest() const;
  std::uint64_t token_count() const { return token_count_; }
  std::uint64_t impossible_count() const { return impossible_count_; }
  /// Counts of places, likeliest first: what an effect is measured on.
  std::span<const std::uint64_t, kPlaceCells> places_likeliest_first() const;

 private:
  double tolerance_ = 0;
  std::uint64_t token_count_ = 0, impossible_count_ = 0, with_draft_count_ = 0;
  std::array<std::array<std::uint64_t, kPlaceCells>, 3> places_ = {};
  std::vector<double> directed_;  ///< logarithms, by bet and share
};

}  // namespace draftproof::oracle
