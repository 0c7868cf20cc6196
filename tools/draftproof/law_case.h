// Law case: the texts of `draftproof law` as a tiny case of exact laws.
#pragma once

#include "reference/law/model_case.h"
#include "tools/draftproof/settings.h"

namespace draftproof::tools {

/// Rows of decimals or fractions are laws; with any shaping option they are logits, shaped to
/// integer masses. One row stands for every position. Throws Error(kInput) naming option and row:
/// laws that do not sum to 1, sizes that differ, no token, a negative length, a case too large.
reference::law::ModelCase law_case(const LawSettings& settings);

/// True when an option asks to read the rows as logits.
bool has_shaping(const LawSettings& settings);

}  // namespace draftproof::tools
