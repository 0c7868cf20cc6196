// Residuals: what the target has more of than the draft.
#pragma once

#include "reference/law_row.h"

namespace draftproof::reference::law::rules {

/// max(0, target - draft) token by token, over its sum. Precondition: the sum is positive, which a
/// rejection by the ratio implies: it means target < draft at one token, hence > at another.
LawRow residual(const LawRow& target, const LawRow& draft);

}  // namespace draftproof::reference::law::rules
