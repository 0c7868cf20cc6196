// Drafting across vocabularies by common tokens: token-level intersection, Timor et al.,
// "Accelerating LLM inference with lossless speculative decoding algorithms for heterogeneous
// vocabularies" (ICML 2025, arXiv:2502.05202), TLI; vLLM use_heterogeneous_vocab (2026-08) with
// argmax drafts; transformers UniversalSpeculativeDecodingGenerator (2026-02) with probabilities,
// called USD. The draft's row is cut to the tokens that the target spells the same, and over its
// sum again: then it is the law that tokens are drawn from, whatever the context was mapped to.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "reference/draft/functions.h"
#include "reference/model/toys.h"

namespace draftproof::reference::draft {

/// What each id of either vocabulary spells.
struct Spelling {
  std::vector<std::string> target;
  std::vector<std::string> draft;

  std::optional<Token> target_id(Token draft_id) const;
  std::optional<Token> draft_id(Token target_id) const;
};

/// Over 2 to 4 tokens each: the target spells a, b, ab, c, the draft b, a, ba, c with the last ids
/// first, so that no id means the same on both sides. Throws Error(kInput) for other sizes.
Spelling toy_spelling(int vocab_size);

/// What `tokens` spell.
std::string spelled(const std::vector<std::string>& vocabulary, const std::vector<Token>& tokens);
/// The longest match from the left. Precondition: every letter of `text` is a token.
std::vector<Token> encoded(const std::vector<std::string>& vocabulary, const std::string& text);

/// The draft id that stands for target tokens which the draft does not have.
inline constexpr Token kUnknown = 0;

/// Context for the draft token by token, kUnknown where a token is not common.
Context mapped_by_id(const Spelling& spelling, const Context& context);
/// Context for the draft by its text.
Context mapped_by_text(const Spelling& spelling, const Context& context);

/// The draft's row over target ids: what is common, not yet over its sum.
LawRow common_part(const Spelling& spelling, const LawRow& draft_row);

using ContextMap = Context (*)(const Spelling&, const Context&);
/// The law of the next token in target ids: the draft's row behind the mapped context, cut to what
/// is common and over its sum; empty when nothing is.
PointLaw intersection_law(const Spelling& spelling, model::ToyModelPtr draft, ContextMap map);

}  // namespace draftproof::reference::draft
