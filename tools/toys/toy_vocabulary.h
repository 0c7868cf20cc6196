// Toy vocabulary: what the tokens of a toy are called in tokenizer files. Longer tokens are reached
// from text by merging two shorter ones, where both are tokens; ids in and ids out need none of it.
#pragma once

#include <string>
#include <vector>

#include "tools/toys/toy_spec.h"

namespace draftproof::tools::toys {

struct ToyVocabulary {
  std::vector<std::string> texts;  ///< by id; those of specials are their names
  /// Pairs of texts that make a token, shorter ones first, then in the order of target ids.
  std::vector<std::pair<std::string, std::string>> merges;
};
ToyVocabulary vocabulary_of(const ToySpec& spec);

/// As SentencePiece writes it: a space is U+2581.
std::string sentencepiece(const std::string& text);
/// As GPT-2 writes bytes: those that do not print are moved behind U+0100. Precondition: ASCII.
std::string byte_level(const std::string& text);

}  // namespace draftproof::tools::toys
