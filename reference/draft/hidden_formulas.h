// Pieces of the formulas of methods on hidden states, written apart from the drafters: ranks by
// counting, what lies ahead by carrying a law of contexts forward.
#pragma once

#include "reference/draft/hidden_toy.h"

namespace draftproof::reference::draft {

/// The token that exactly `rank` others are before: larger ones, and equal ones of a smaller id.
Token of_rank(const LawRow& row, int rank);
/// The draft's law of the token `count` + 1 places behind `context`.
LawRow carried(const model::ToyModel& draft, const Context& context, int count);
/// The prompt without its last token, which is pending.
Context before_pending(const HiddenToy& toy);

}  // namespace draftproof::reference::draft
