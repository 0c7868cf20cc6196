// Thresholds: where on the axis of a 64-bit coin the rule's formula changes its mind. Leviathan et
// al. 2023 (section 2.3): a drafted token x is accepted with probability min(1, p(x)/q(x)) and the
// recovered token drawn from max(0, p - q), normalised. With p = T/sumT and q = D/sumD a coin u
// stands for u/2^64, so each decision is "u < ceil(2^64 ratio)" for an exact rational ratio.
// Written from the formula; nothing here is shared with an implementation that it judges.
#pragma once

#include <cstdint>
#include <vector>

#include "reference/mass.h"
#include "reference/scalar.h"

namespace draftproof::oracle {

/// A threshold on the coin axis: the decision holds for coins < threshold; 2^64 means always.
using Threshold = reference::WideMass;
inline constexpr Threshold kAlways = Threshold{1} << 64;

/// ceil(2^64 min(1, numerator/denominator)). numerator <= 2^128 - 1, 0 < denominator.
Threshold ceil_ratio(reference::WideMass numerator, reference::WideMass denominator);

/// The same number by way of rationals of unbounded size.
Threshold ceil_ratio(const reference::Exact& ratio);

/// Coins below it accept `token`. Precondition: both rows kOk, draft.mass[token] > 0.
Threshold accept_threshold(const reference::MassRow& target, const reference::MassRow& draft,
                           std::size_t token);
Threshold accept_threshold_exact(const reference::MassRow& target, const reference::MassRow& draft,
                                 std::size_t token);

/// step[v] = coins below it draw a token <= v from the row; step.back() == kAlways.
std::vector<Threshold> cumulative_thresholds(const reference::MassRow& row);

/// The same for the residual max(0, p - q). Empty when the residual is empty, that is when the two
/// laws are equal and no rejection can happen.
std::vector<Threshold> residual_thresholds(const reference::MassRow& target,
                                           const reference::MassRow& draft);
/// How far a recovered token's coin has to stay from the edges of its draw so that rounding of
/// `margin` in the probabilities cannot move it: the residual is divided by the probability of a
/// rejection, and its errors with it. kAlways when rounding may leave nothing of the residual.
/// A node is reached by a rejection no more often than that, so the bound of a certificate stays.
Threshold residual_margin(const reference::MassRow& target, const reference::MassRow& draft,
                          std::uint64_t margin);
std::vector<Threshold> residual_thresholds_exact(const reference::MassRow& target,
                                                 const reference::MassRow& draft);

/// True when no edge that arithmetic could move lies within `margin` coins of `coin`. Edges at 0
/// and 2^64 are moved by no one, unless the margin covers the whole axis.
bool is_clear(const std::vector<Threshold>& edges, std::uint64_t coin, Threshold margin);
bool is_clear(Threshold edge, std::uint64_t coin, Threshold margin);

/// The accept threshold as arithmetic with that margin sees it. Target mass 0 stays 0. A ratio that
/// exceeds 1 by no more than the margin may be rounded below 1, so that 2^64 is not firm: one less
/// is returned, which is_clear treats as an edge that can move. Equal rows are firm.
Threshold rounded_accept_threshold(const reference::MassRow& target,
                                   const reference::MassRow& draft, std::size_t token,
                                   std::uint64_t margin);

}  // namespace draftproof::oracle
