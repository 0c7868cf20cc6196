// Token-level intersection.
#include "reference/draft/token_intersection.h"

#include <algorithm>

#include "reference/error.h"

namespace draftproof::reference::draft {
namespace {

std::optional<Token> id_of(const std::vector<std::string>& vocabulary, const std::string& text) {
  const auto found = std::find(vocabulary.begin(), vocabulary.end(), text);
  if (found == vocabulary.end()) return std::nullopt;
  return static_cast<Token>(found - vocabulary.begin());
}

}  // namespace

std::optional<Token> Spelling::target_id(Token draft_id) const {
  return id_of(target, draft.at(static_cast<std::size_t>(draft_id)));
}

std::optional<Token> Spelling::draft_id(Token target_id) const {
  return id_of(draft, target.at(static_cast<std::size_t>(target_id)));
}

Spelling toy_spelling(int vocab_size) {
  switch (vocab_size) {
    case 2:
      return {{"a", "b"}, {"b", "a"}};
    case 3:
      return {{"a", "b", "ab"}, {"ba", "b", "a"}};
    case 4:
      return {{"a", "b", "ab", "c"}, {"ba", "c", "b", "a"}};
    default:
      throw Error(ErrorKind::kInput, std::to_string(vocab_size) +
                                         " tokens have no spelling; take a toy of 2 to 4 tokens");
  }
}

std::string spelled(const std::vector<std::string>& vocabulary, const std::vector<Token>& tokens) {
  std::string text;
  for (const Token token : tokens) text += vocabulary.at(static_cast<std::size_t>(token));
  return text;
}

std::vector<Token> encoded(const std::vector<std::string>& vocabulary, const std::string& text) {
  std::vector<Token> tokens;
  for (std::size_t at = 0; at < text.size();) {
    std::size_t longest = 0;
    Token token = kPlaceholder;
    for (std::size_t id = 0; id < vocabulary.size(); ++id) {
      const std::string& word = vocabulary[id];
      if (word.size() > longest && text.compare(at, word.size(), word) == 0) {
        longest = word.size();
        token = static_cast<Token>(id);
      }
    }
    DRAFTPROOF_CHECK(longest > 0, "a letter that no token begins with: " + text);
    tokens.push_back(token);
    at += longest;
  }
  return tokens;
}

Context mapped_by_id(const Spelling& spelling, const Context& context) {
  Context mapped;
  for (const Token token : context) mapped.push_back(spelling.draft_id(token).value_or(kUnknown));
  return mapped;
}

Context mapped_by_text(const Spelling& spelling, const Context& context) {
  return encoded(spelling.draft, spelled(spelling.target, context));
}

LawRow common_part(const Spelling& spelling, const LawRow& draft_row) {
  LawRow row(spelling.target.size());
  for (std::size_t id = 0; id < draft_row.size(); ++id)
    if (const auto token = spelling.target_id(static_cast<Token>(id)))
      row[static_cast<std::size_t>(*token)] += draft_row[id];
  return row;
}

PointLaw intersection_law(const Spelling& spelling, model::ToyModelPtr draft, ContextMap map) {
  return [=](const ChainPoint& point) {
    const Context seen = map(spelling, joined(point.context, point.drafted));
    return over_sum(common_part(spelling, draft->row(seen)));
  };
}

}  // namespace draftproof::reference::draft
