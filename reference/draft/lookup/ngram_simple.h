// ngram-simple: the plainest lookup of llama.cpp (common/ngram-map.cpp, common_ngram_simple_draft,
// 2026-04). One pattern length; the LATEST earlier occurrence; the last token of the history is
// being decoded and does not count as history, neither for a match nor for its continuation.
#pragma once

#include "reference/draft/lookup/lookup.h"

namespace draftproof::reference::draft {

/// The engine's defaults (--spec-ngram-simple-size-n, -m).
struct NgramSimpleOptions {
  std::size_t key_size = 12;
  std::size_t draft_size = 48;
};

/// Empty unless the history without its last token is longer than key_size + draft_size + 1, the
/// pattern occurs at a position other than 0, and at least key_size tokens follow it there.
/// Precondition: key_size >= 1.
std::vector<Token> ngram_simple(const Context& history, const NgramSimpleOptions& options);

}  // namespace draftproof::reference::draft
