#include "tools/serve/tokenizer.h"

#include <fmt/format.h>

#include <algorithm>

#include "reference/error.h"

namespace draftproof::tools::serve {

std::vector<reference::Token> tokenize(const reference::model::Spelling& spelling,
                                       std::string_view text, std::string_view place) {
  std::size_t longest = 0;
  for (std::size_t token = 0; token < spelling.vocab_size(); ++token)
    longest = std::max(longest, spelling.text(static_cast<reference::Token>(token)).size());
  std::vector<reference::Token> ids;
  for (std::size_t at = 0; at < text.size();) {
    std::vector<reference::Token> found;
    std::size_t count = std::min(longest, text.size() - at);
    for (; count > 0 && found.empty(); --count) found = spelling.tokens_of(text.substr(at, count));
    if (found.empty()) {
      throw Error(ErrorKind::kInput,
                  fmt::format("no token of this model spells what stands at byte {}; send a prompt "
                              "of ids",
                              at),
                  std::string(place));
    }
    ids.push_back(found.front());
    at += count + 1;
  }
  return ids;
}

}  // namespace draftproof::tools::serve
