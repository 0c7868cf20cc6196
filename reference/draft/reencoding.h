// Drafting across vocabularies by text: transformers' universal assisted generation
// (AssistedCandidateGeneratorDifferentTokenizers, 2026-02, lookbehind 10) and llama.cpp's path for
// incompatible vocabularies (2026-04); SLEM of Timor et al. 2025 (arXiv:2502.05202) is of the same
// class. The draft's tokens become text, the text becomes target tokens; those have no law that
// anyone could name, so they are reported one-hot, and the target's token law comes out exactly.
// Not its law of strings: two token sequences that spell the same are different outcomes.
#pragma once

#include "reference/draft/token_intersection.h"

namespace draftproof::reference::draft {

/// How many of the last target tokens are encoded again with the drafted text.
inline constexpr std::size_t kLookbehind = 2;

/// The target tokens that stand for `text` drafted behind `context`. The last tokens of the context
/// are encoded again with it; where that does not begin with those tokens again, because one of
/// them would merge with the new text, the text is encoded alone.
std::vector<Token> aligned(const Spelling& spelling, const Context& context,
                           const std::string& text);

/// Draws `draft_count` tokens of the draft behind the context's text, and drafts what they spell.
DraftFunctions reencoding_functions(const Spelling& spelling, model::ToyModelPtr draft);

}  // namespace draftproof::reference::draft
