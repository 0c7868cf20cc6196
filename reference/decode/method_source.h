// Methods in an engine: what an engine is configured with to decode a toy by a method of
// reference/draft (drafts, rule and target of its own).
#pragma once

#include <string>
#include <vector>

#include "reference/decode/draft_source.h"
#include "reference/decode/language_model.h"
#include "reference/draft/method.h"

namespace draftproof::reference::decode {

/// A drafter of reference/draft over toys, its coins drawn at kDraft addresses: slot and offset are
/// the drafter's, the rest the task's. It is asked for at most `method.draft_count` tokens a path,
/// and its draft is cut to draft_count_max nodes, in its own order. Reported rows are given as fp32
/// probabilities; draws come from the rows as rounded (method_source.cpp bounds what that costs),
/// so that drawn and reported are one row of masses wherever the drafter reports the row it draws
/// from. Its memory is the request's, and starts anew where a draft was dropped or tokens came
/// without one. The request that a drafter is told is coin_request, so that a budget that refills
/// with request 0 refills with that id only. Slow: rationals.
DraftSourcePtr method_source(const law::Decoding& method, std::string name);

struct MethodParts {
  LanguageModelPtr target;  ///< Decoding::target: the toy's, or the model that the method derives
  DraftSourcePtr drafts;
  std::string rule;  ///< of verify::rules(), the method's own
  /// Nodes of a draft: as many as the method drafts behind its prompt, and Decoding::draft_count at
  /// least. Drafts that would be larger later are cut.
  int draft_count = 0;
  std::vector<Token> prompt;  ///< what the method is shown behind
};

/// The target is served by its own rows: a method whose served target keeps state (a Scorer that
/// is not the model's rows) drafts for the truth here, and is then lossless whatever it is there.
/// Throws Error(kInput) naming the rule when no verifier of integer masses has it, and what the
/// method throws for a toy that does not fit.
MethodParts method_engine_parts(const draft::Method& method, const model::Toy& toy);

}  // namespace draftproof::reference::decode
