// ngram-simple.
#include "reference/draft/lookup/ngram_simple.h"

#include <algorithm>

#include "reference/error.h"

namespace draftproof::reference::draft {

std::vector<Token> ngram_simple(const Context& history, const NgramSimpleOptions& options) {
  const std::size_t n = options.key_size;
  DRAFTPROOF_CHECK(n >= 1, "a pattern has a token");
  if (history.empty()) return {};
  const Context decoded(history.begin(), history.end() - 1);
  if (decoded.size() <= n + options.draft_size + 1) return {};
  const std::vector<Token> pattern(history.end() - static_cast<std::ptrdiff_t>(n), history.end());
  for (std::size_t position = decoded.size() - n - 1; position > 0; --position) {
    if (!stands_at(decoded, position, pattern)) continue;
    const std::size_t count = std::min(options.draft_size, decoded.size() - position - n);
    if (count < n) return {};
    const auto from = decoded.begin() + static_cast<std::ptrdiff_t>(position + n);
    return {from, from + static_cast<std::ptrdiff_t>(count)};
  }
  return {};
}

}  // namespace draftproof::reference::draft
