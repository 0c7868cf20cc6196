// Spellings: how letters and JSON are laid over a vocabulary of any size.
#include "reference/model/spelling.h"

#include <algorithm>
#include <functional>
#include <set>

#include "reference/error.h"

namespace draftproof::reference::model {
namespace {

[[noreturn]] void refuse_spelling(const std::string& message) {
  throw Error(ErrorKind::kInput, message, "spelling");
}

/// The word of lower-case letters at `index` when shorter ones come first, each length in order.
std::string word(std::size_t index) {
  std::string letters;
  for (++index; index > 0; index = (index - 1) / 26)
    letters.insert(letters.begin(), static_cast<char>('a' + (index - 1) % 26));
  return letters;
}

/// The n-th token that is not special gets text(n).
Spelling laid_out(std::size_t vocab_size, const std::vector<Token>& special,
                  const std::function<std::string(std::size_t)>& text) {
  const std::set<Token> passed_over(special.begin(), special.end());
  std::vector<std::string> texts(vocab_size);
  std::size_t next = 0;
  for (std::size_t token = 0; token < vocab_size; ++token)
    if (!passed_over.contains(static_cast<Token>(token))) texts[token] = text(next++);
  return Spelling(std::move(texts), special);
}

std::vector<std::string> json_texts() {
  std::vector<std::string> texts;
  const auto add = [&](std::string text) {
    if (std::find(texts.begin(), texts.end(), text) == texts.end()) texts.push_back(text);
  };
  for (const char byte : std::string("{}[]:,\"0123456789-+.\\ abcdefghijklmnopqrstuvwxyz"))
    add({byte});
  DRAFTPROOF_CHECK(texts.size() == kJsonSpellingMin);
  for (const char* text :
       {"\":", "\",", "\"}", "{\"",   "true", "10",  "false", "null", "\":\"", "\",\"",
        "[\"", "\"]", "},",  "],",    "}}",   "]}",  "[]",    "{}",   "00",    "-1",
        "0.",  ".5",  "e-",  "\\\"",  "\\u",  "\\n", ",\"",   ": ",   "\": ",  ", ",
        "1,",  "tru", "\"a", "id\":", "[[",   "]]",  "\n"})
    add(text);
  for (char byte = ' '; byte <= '~'; ++byte) add({byte});
  return texts;
}

}  // namespace

Spelling::Spelling(std::vector<std::string> texts, const std::vector<Token>& special)
    : texts_(std::move(texts)) {
  if (texts_.empty()) refuse_spelling("no token; give one text a token");
  std::set<Token> is_special;
  for (const Token token : special) {
    const std::string name = "special token " + std::to_string(token);
    if (token < 0 || static_cast<std::size_t>(token) >= texts_.size())
      refuse_spelling(name + " is outside the vocabulary of " + std::to_string(texts_.size()) +
                      "; ids begin at 0");
    if (!texts_[static_cast<std::size_t>(token)].empty())
      refuse_spelling(name +
                      " has a text; leave it empty, or take the token out of the special ones");
    is_special.insert(token);
  }
  for (std::size_t i = 0; i < texts_.size(); ++i) {
    const auto token = static_cast<Token>(i);
    if (texts_[i].empty() && !is_special.contains(token))
      refuse_spelling("token " + std::to_string(token) +
                      " has no text; give it one, or make it special");
    if (!texts_[i].empty()) tokens_[texts_[i]].push_back(token);
  }
}

const std::string& Spelling::text(Token token) const {
  DRAFTPROOF_CHECK(token >= 0 && static_cast<std::size_t>(token) < vocab_size(),
                   std::to_string(token));
  return texts_[static_cast<std::size_t>(token)];
}

std::string Spelling::text_of(std::span<const Token> tokens) const {
  std::string joined;
  for (const Token token : tokens) joined += text(token);
  return joined;
}

std::vector<Token> Spelling::tokens_of(std::string_view text) const {
  const auto found = tokens_.find(text);
  return found == tokens_.end() ? std::vector<Token>{} : found->second;
}

Spelling letters_spelling(std::size_t vocab_size, const std::vector<Token>& special) {
  return laid_out(vocab_size, special, word);
}

Spelling json_spelling(std::size_t vocab_size, const std::vector<Token>& special) {
  const std::size_t special_count = std::set<Token>(special.begin(), special.end()).size();
  if (vocab_size < kJsonSpellingMin + special_count)
    refuse_spelling("a vocabulary of " + std::to_string(vocab_size) + " with " +
                    std::to_string(special_count) +
                    " special tokens does not spell JSON; at least " +
                    std::to_string(kJsonSpellingMin + special_count) + " are needed");
  std::vector<std::string> texts = json_texts();
  const std::set<std::string> known(texts.begin(), texts.end());
  for (std::size_t i = 0; texts.size() < vocab_size; ++i)
    if (!known.contains(word(i))) texts.push_back(word(i));
  return laid_out(vocab_size, special, [&](std::size_t n) { return texts[n]; });
}

}  // namespace draftproof::reference::model
