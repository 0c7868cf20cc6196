// Prompt lookup: the drafter of transformers (generation/candidate_generator.py,
// PromptLookupCandidateGenerator, read in 4.57.1 and as of 2026-02; after A. Saxena's
// prompt-lookup-decoding, 2023). Suffixes from the longest allowed down to one token; of the
// occurrences of one the first from the left with a continuation; tokens that the logits processors
// forbid end a candidate, and so does end-of-sequence.
#pragma once

#include <functional>
#include <optional>

#include "reference/draft/lookup/lookup.h"

namespace draftproof::reference::draft {

struct PromptLookupOptions {
  std::size_t size_max = 2;
  std::optional<std::size_t> length_max;  ///< of prompt and output
  std::vector<Token> eos;
  /// False when no processed row behind `context` gives `token` any probability. Empty: allows all.
  std::function<bool(const Context& context, Token token)> allows;
};

/// The engine asks for 10 tokens unless told otherwise. A candidate of which the very first token
/// is forbidden is passed over for the next occurrence; one that is cut to nothing by
/// end-of-sequence ends the search without a draft. Precondition: size_max >= 1.
std::vector<Token> prompt_lookup(const Context& history, const PromptLookupOptions& options,
                                 int draft_count = 10);

}  // namespace draftproof::reference::draft
