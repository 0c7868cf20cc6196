// Expected lengths in closed form: the second truth of a method. A sum over drafted paths of what
// is kept of each; no coin, no rule and no drafter takes part, so that a formula here and the
// enumerated decoding check each other. Leviathan, Kalman, Matias 2023, section 3.1, without the
// assumption that acceptances are alike.
#pragma once

#include <functional>
#include <vector>

#include "reference/law_row.h"
#include "reference/model/toy_model.h"

namespace draftproof::reference::draft {

/// The law of the next drafted token behind those of this iteration; empty: the draft ends.
using PathLaw = std::function<LawRow(const std::vector<Token>& drafted)>;

/// Chain of at most `draft_count` tokens, kept by the ratio: 1 + the sum over paths of the product
/// of min(target, draft).
Exact expected_by_ratio(const model::ToyModel& target, const Context& context, int draft_count,
                        const PathLaw& draft);
/// One-hot trees: 1 + the sum over distinct paths of the target's probability of the path. Every
/// path stands for its last node; prefixes have to be given too.
Exact expected_on_paths(const model::ToyModel& target, const Context& context,
                        const std::vector<std::vector<Token>>& paths);

}  // namespace draftproof::reference::draft
