// Acceptance: two rates under two names, and what they say about the expected length.
//   draft acceptance        accepted / proposed; accepted per call = draft acceptance x draft
//   length conditional acceptance  a_i = P(position i accepted given that position i was reached)
// E[committed] = sum_{i=0..D} prod_{j<=i} a_j, bonus or recovered token included (Leviathan,
// Kalman, Matias 2023, equation 1 for a constant rate). The two differ whenever a draft is longer
// than one token: at a constant conditional rate of 0.8 a draft of 5 has a draft acceptance of
// 0.54. A rate without its name is the most common mistake in published speed claims, hence this
// file.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "reference/scalar.h"

namespace draftproof::oracle::speed {

/// (1 - a^(D+1)) / (1 - a), and D + 1 for a = 1. Precondition: 0 <= a <= 1, draft_length >= 0.
double expected_committed(double conditional_acceptance, std::int64_t draft_length);

/// Sum of the products, position by position; Scalar is double or reference::Exact. Defined for
/// both in the .cpp. Precondition: every rate lies in [0, 1].
template <typename Scalar>
Scalar expected_committed(const std::vector<Scalar>& conditional_acceptance);

/// prod_{j<=i} a_j for i = 1..D: how often position i is accepted. Preconditions as above.
std::vector<double> survivals(const std::vector<double>& conditional_acceptance);

/// Draft acceptance of a draft of this length under a constant conditional rate: (E - 1) / D.
/// Precondition: draft_length >= 1.
double draft_acceptance_of(double conditional_acceptance, std::int64_t draft_length);

/// The constant conditional rate whose draft acceptance at this length is the given one; the
/// inverse of draft_acceptance_of, by bisection to the last bit. Precondition: 0 <= rate <= 1,
/// length >= 1.
double conditional_acceptance_of(double draft_acceptance, std::int64_t draft_length);

/// One verified draft: how many tokens deep it went and how many of them were accepted.
struct VerifiedDraft {
  std::int64_t draft_length = 0;
  std::int64_t accepted = 0;
};

struct Interval {
  double low = 0;
  double high = 0;
};

/// Position i (first entry: i = 1): how many drafts reached it and how many were accepted there.
struct PositionRate {
  std::int64_t reached = 0;
  std::int64_t accepted = 0;
  std::optional<double> rate() const;
  /// Clopper-Pearson (1934) at 1 - miss_probability, both sides together; [0, 1] when nothing was
  /// reached. It takes the drafts that reached the position as independent.
  Interval interval(double miss_probability) const;
};

/// Conditional acceptance of every position up to the longest draft. A position counts as reached
/// when the draft went that deep and everything before it was accepted, so that drafts of several
/// lengths can be taken together (the product-limit estimator, Kaplan and Meier 1958): it is the
/// rate of the drafts that *were* that long, whatever made them so. Precondition: 0 <= accepted <=
/// draft_length for each.
std::vector<PositionRate> position_rates(const std::vector<VerifiedDraft>& drafts);

/// Accepted over proposed; absent when nothing was proposed.
std::optional<double> draft_acceptance(const std::vector<VerifiedDraft>& drafts);

/// 1 + the sum of products of the measured rates for a draft of this length; positions behind the
/// longest measured one are taken to be accepted as often as all positions together. Absent when a
/// position on the way was never reached and no rate is known. Precondition: draft_length >= 0.
std::optional<double> expected_committed(const std::vector<PositionRate>& rates,
                                         std::int64_t draft_length);

}  // namespace draftproof::oracle::speed
