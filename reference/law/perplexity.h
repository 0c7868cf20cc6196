// Entropies of rational rows compared with rationals, decided exactly. With p_k = n_k / n the
// number e^{-n H} = product of p_k^{n_k} is rational, and e^{n x} is irrational for a rational x >
// 0 (Lindemann), so that they differ; Taylor sums bracket e^x until the bracket tells. Nothing is
// rounded.
#pragma once

#include "reference/law_row.h"

namespace draftproof::reference::law {

/// H(row) >= nats, H in nats. Precondition: row sums to 1, nats >= 0. Throws Error(kInput) when the
/// common denominator of the row is above 4096.
bool entropy_is_at_least(const LawRow& row, const Exact& nats);

}  // namespace draftproof::reference::law
