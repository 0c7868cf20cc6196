// Law options: which options of `draftproof law` mean nothing beside which others. An option that
// would be passed over in silence is refused: whoever gave it would read a law of something else.
#pragma once

#include "tools/draftproof/settings.h"

namespace draftproof::tools {

/// What belongs to the contracts of one row, beside drafts and iterations; shaping and rows beside
/// a toy; a draft's shape beside a method; all that --faults decides by itself. Throws
/// Error(kInput) that names the option and what to leave out.
void refuse_unread_by_decodings(const LawSettings& settings);

/// What belongs to rules and drafts, beside contracts of one row. Throws the same.
void refuse_unread_by_contracts(const LawSettings& settings);

}  // namespace draftproof::tools
