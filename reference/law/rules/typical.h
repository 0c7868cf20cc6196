// Typical acceptance: the threshold of Medusa (Cai et al., ICML 2024, section 2.3.1), decided
// exactly although it is irrational.
#pragma once

#include "reference/law_row.h"

namespace draftproof::reference::law::rules {

/// Whether target[token] > min(epsilon, delta exp(-H)), H the entropy of `target` in nats.
/// Precondition: epsilon and delta are not negative. Throws Error(kInput) when the common
/// denominator of the row is above 100,000.
bool is_typical(const LawRow& target, Token token, const Exact& epsilon, const Exact& delta);

}  // namespace draftproof::reference::law::rules
