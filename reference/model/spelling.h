// Spellings: the text of every token, which is what a vocabulary is to a grammar. A token may hold
// any piece of a text: its ends need not be where anything of a grammar ends, and two tokens may
// have one text, which then leads to one state.
#pragma once

#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "reference/token.h"

namespace draftproof::reference::model {

class Spelling {
 public:
  /// texts[token], bytes of any kind. Tokens in `special` (end of sequence, say) are no part of a
  /// text: theirs is empty. Throws Error(kInput) naming the token when there is no token, `special`
  /// lists one that is none, a special one has a text, or another has none.
  explicit Spelling(std::vector<std::string> texts, const std::vector<Token>& special = {});

  std::size_t vocab_size() const { return texts_.size(); }

  /// Precondition for these: tokens are in [0, vocab_size).
  const std::string& text(Token token) const;
  bool is_special(Token token) const { return text(token).empty(); }
  /// The texts one behind the other.
  std::string text_of(std::span<const Token> tokens) const;

  /// The tokens whose whole text this is, smallest id first; none for the empty text.
  std::vector<Token> tokens_of(std::string_view text) const;

 private:
  std::vector<std::string> texts_;
  std::map<std::string, std::vector<Token>, std::less<>> tokens_;
};

/// "a" to "z", then "aa", "ab", ...: the n-th token that is not special has the n-th of these, all
/// different. Throws Error(kInput) as Spelling().
Spelling letters_spelling(std::size_t vocab_size, const std::vector<Token>& special = {});

/// Spells JSON of every kind, with strings of lower-case letters, digits, spaces and escapes, and
/// has longer tokens that begin in one part of it and end in another: `":`, `",`, `"}`, `{"`,
/// `true`, `10`. First what is needed, then those, then all else of printable ASCII, then words of
/// letters: the n-th token that is not special has the n-th of these, all different. Throws
/// Error(kInput) as Spelling(), and when fewer than kJsonSpellingMin tokens are not special.
Spelling json_spelling(std::size_t vocab_size, const std::vector<Token>& special = {});
inline constexpr std::size_t kJsonSpellingMin = 48;

}  // namespace draftproof::reference::model
