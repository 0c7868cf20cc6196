// Law rows.
#include "reference/law_row.h"

#include <algorithm>

#include "reference/error.h"

namespace draftproof::reference {

Token first_maximum(const LawRow& row) {
  DRAFTPROOF_CHECK(!row.empty());
  return static_cast<Token>(std::max_element(row.begin(), row.end()) - row.begin());
}

LawRow one_hot_row(int vocab_size, Token token) {
  DRAFTPROOF_CHECK(token >= 0 && token < vocab_size, std::to_string(token));
  LawRow row(static_cast<std::size_t>(vocab_size));
  row[static_cast<std::size_t>(token)] = 1;
  return row;
}

std::size_t context_index(int vocab_size, std::span<const Token> context) {
  std::size_t index = 0;
  for (Token token : context) {
    DRAFTPROOF_CHECK(token >= 0 && token < vocab_size, std::to_string(token));
    index = index * static_cast<std::size_t>(vocab_size) + static_cast<std::size_t>(token);
  }
  return index;
}

}  // namespace draftproof::reference
