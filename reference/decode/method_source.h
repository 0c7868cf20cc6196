// Methods in an engine: what an engine is configured with to decode a toy by a method of
// reference/draft (drafts, rule and target of its own).
#pragma once

#include <string>
#include <vector>

#include "reference/decode/draft_source.h"
#include "reference/decode/language_model.h"
#include "reference/draft/method.h"

namespace draftproof::reference::decode {

struct MethodParts {
  LanguageModelPtr target;  ///< Decoding::target: the toy's, or the model that the method derives
  DraftSourcePtr drafts;
  std::string rule;           ///< of verify::rules(), the method's own
  int draft_count = 0;        ///< nodes of a draft: as many as the method drafts behind its prompt
  std::vector<Token> prompt;  ///< what the method is shown behind
};

/// The target is served by its own rows: a method whose served target keeps state (a Scorer that
/// is not the model's rows) drafts for the truth here, and is then lossless whatever it is there.
/// Throws Error(kInput) naming the rule when no verifier of integer masses has it, and what the
/// method throws for a toy that does not fit.
MethodParts method_engine_parts(const draft::Method& method, const model::Toy& toy);

}  // namespace draftproof::reference::decode
