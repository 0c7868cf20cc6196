// Two-sample evidence: whether two arms draw sequences from one law that nobody knows. Pairs
// (x of one arm, y of the other) arrive in order; from the pairs before, a law of each arm is
// learned on the tree of prefixes, and the bet is
//   r1(x) r2(y) / (m(x) m(y)),   m = (r1 + r2) / 2,
// whose mean is A B with A + B = 2 under every common law, so at most one (safe testing of two
// streams: Turner, Ly, Gruenwald 2024, here for sequences). Learned laws are conditional, token by
// token, so the size of the support does not matter. Mixed over how fast they learn.
// x and y of a pair must be independent: arms that share a seed are no pairs.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "reference/token.h"

namespace draftproof::oracle {

/// Of one prompt: all sequences continue it. Order matters, so a shard is a whole prompt.
class TwoSampleEvidence {
 public:
  /// `vocab_size`: ids are in [0, vocab_size); a bound will do.
  explicit TwoSampleEvidence(std::uint64_t vocab_size);
  TwoSampleEvidence(TwoSampleEvidence&&) noexcept;
  TwoSampleEvidence& operator=(TwoSampleEvidence&&) noexcept;
  ~TwoSampleEvidence();

  /// Sequences may differ in length; the end is an outcome of its own.
  void add(std::span<const reference::Token> one, std::span<const reference::Token> other);

  /// Natural logarithm of the e-value of all pairs so far.
  double log_e_value() const;
  std::uint64_t pair_count() const;

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

/// Evidence of independent prompts as one e-value: the mean of their product (a fault everywhere)
/// and of their mean (a fault behind one prompt). 0 for none.
double log_combined(std::span<const double> log_e_values);

}  // namespace draftproof::oracle
