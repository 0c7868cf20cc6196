// Tokenizer: texts to ids through a spelling, the longest token first. Servers of toys take texts
// because clients send them; whoever audits sends ids.
#pragma once

#include <string_view>
#include <vector>

#include "reference/model/spelling.h"
#include "reference/token.h"

namespace draftproof::tools::serve {

/// The lowest id of the longest token that the rest of the text begins with, again and again.
/// Throws Error(kInput) at `place` with the byte where no token fits.
std::vector<reference::Token> tokenize(const reference::model::Spelling& spelling,
                                       std::string_view text, std::string_view place);

}  // namespace draftproof::tools::serve
