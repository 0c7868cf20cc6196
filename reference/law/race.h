// Exponential races: two laws that draw their token from the same noise, e_v ~ Exp(1) a token, as
// x = argmin e_v / draft(v), y = argmin e_v / target(v), which is Gumbel-max with shared noise
// (Daliri, Musco, Suresh, arXiv:2408.07978). The joint law is a rational function of the rows: the
// event {x = i, y = j} is a cone, and on it the integral of exp(-sum e) is elementary.
#pragma once

#include <vector>

#include "reference/law_row.h"

namespace draftproof::reference::law {

/// P(x = y) = sum over tokens i of 1 / sum over j of max(target(j) / target(i), draft(j) /
/// draft(i)), over the tokens that both can draw (the paper's theorem for Gumbel sampling).
/// Precondition: rows of equal size that sum to 1.
Exact race_agreement(const LawRow& target, const LawRow& draft);

/// P(x = i, y = j) at [i][j]: rows are the draft's token, columns the target's. Precondition as
/// above. Cost: vocabulary^3 log(vocabulary) rational operations.
std::vector<LawRow> race_pair_law(const LawRow& target, const LawRow& draft);

/// P(x = y) when both draw from one uniform coin by inverse CDF in id order.
Exact inverse_cdf_agreement(const LawRow& target, const LawRow& draft);

}  // namespace draftproof::reference::law
