#include "tools/toys/toy_vocabulary.h"

#include <algorithm>
#include <optional>
#include <set>

#include "reference/error.h"
#include "reference/model/spelling.h"

namespace draftproof::tools::toys {
namespace {

using Pair = std::pair<std::string, std::string>;

/// The split with the longest first part whose parts are both tokens.
std::optional<Pair> merge_of(const std::string& text, const std::set<std::string>& tokens) {
  for (std::size_t at = text.size() - 1; at > 0; --at)
    if (tokens.contains(text.substr(0, at)) && tokens.contains(text.substr(at)))
      return Pair{text.substr(0, at), text.substr(at)};
  return std::nullopt;
}

}  // namespace

ToyVocabulary vocabulary_of(const ToySpec& spec) {
  const auto count = static_cast<std::size_t>(spec.vocab_size);
  const std::vector<reference::Token> specials = {kUnknownToken, kBeginToken, kEndToken};
  const reference::model::Spelling spelling =
      spec.spelling == "json" ? reference::model::json_spelling(count, specials)
                              : reference::model::letters_spelling(count, specials);
  std::vector<std::string> texts(count);
  for (std::size_t token = 0; token < count; ++token)
    texts[token] = spelling.text(static_cast<reference::Token>(token));
  const std::set<std::string> tokens(texts.begin() + kSpecialCount, texts.end());
  std::vector<std::string> longer;
  for (const std::string& text : texts)
    if (text.size() > 1) longer.push_back(text);
  std::stable_sort(longer.begin(), longer.end(),
                   [](const auto& a, const auto& b) { return a.size() < b.size(); });
  ToyVocabulary vocabulary;
  for (const std::string& text : longer)
    if (const auto merge = merge_of(text, tokens)) vocabulary.merges.push_back(*merge);
  texts[kUnknownToken] = "<unk>";
  texts[kBeginToken] = "<s>";
  texts[kEndToken] = "</s>";
  const std::vector<reference::Token> place = vocabulary_map(spec);
  vocabulary.texts.resize(count);
  for (std::size_t token = 0; token < count; ++token)
    vocabulary.texts[static_cast<std::size_t>(place[token])] = texts[token];
  return vocabulary;
}

std::string sentencepiece(const std::string& text) {
  std::string piece;
  for (const char byte : text)
    piece += byte == ' ' ? std::string("\xe2\x96\x81") : std::string{byte};
  return piece;
}

std::string byte_level(const std::string& text) {
  std::string piece;
  for (const char byte : text) {
    const auto code = static_cast<unsigned char>(byte);
    DRAFTPROOF_CHECK(code < 127, text);
    if (code > ' ') {
      piece += byte;
      continue;
    }
    // U+0100 and on, in UTF-8.
    piece += static_cast<char>(0xc4);
    piece += static_cast<char>(0x80 + code);
  }
  return piece;
}

}  // namespace draftproof::tools::toys
