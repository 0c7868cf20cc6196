// Logprobs of a prompt's own tokens, asked of the target model directly: an engine decodes them
// only where nothing of the prompt was found in its cache.
#pragma once

#include <vector>

#include "reference/decode/language_model.h"
#include "tools/serve/completion.h"

namespace draftproof::tools::serve {

/// Of prompt tokens 1, 2, ... (the first has no row): raw, with the `prompt_logprob_count`
/// likeliest ones. Precondition: the order's ids are in the model's vocabulary.
std::vector<OutputToken> prompt_logprobs(const reference::decode::LanguageModel& target,
                                         const Order& order);

}  // namespace draftproof::tools::serve
