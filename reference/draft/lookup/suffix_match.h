// Suffix match: the n-gram drafter of vLLM (vllm/v1/spec_decode/ngram_proposer.py, read at 016e8ede
// and as of 2026-08). The longest suffix of the history, of a length within bounds, that occurs
// before its end; of its occurrences the earliest; what followed it there is the draft. It is a
// table of the history and nothing else.
#pragma once

#include <optional>

#include "reference/draft/lookup/lookup.h"

namespace draftproof::reference::draft {

/// The engine's defaults: both 5 when neither is given; when one is given, the other equals it.
struct SuffixMatchOptions {
  std::size_t size_min = 5;
  std::size_t size_max = 5;
  /// Tokens that a sequence may have; drafts stop there.
  std::optional<std::size_t> length_max;
};

/// Occurrences may overlap the suffix itself, but not be it. Empty when the history is shorter than
/// size_min or no suffix of an allowed length occurs again. Precondition: 1 <= size_min <=
/// size_max.
std::vector<Token> suffix_match(const Context& history, const SuffixMatchOptions& options,
                                int draft_count);

}  // namespace draftproof::reference::draft
