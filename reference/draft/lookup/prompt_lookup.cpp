// Prompt lookup.
#include "reference/draft/lookup/prompt_lookup.h"

#include <algorithm>

#include "reference/error.h"

namespace draftproof::reference::draft {
namespace {

std::vector<Token> allowed_part(const Context& history, const std::vector<Token>& candidate,
                                const PromptLookupOptions& options) {
  if (!options.allows) return candidate;
  Context context = history;
  std::vector<Token> kept;
  for (const Token token : candidate) {
    if (!options.allows(context, token)) break;
    kept.push_back(token);
    context.push_back(token);
  }
  return kept;
}

}  // namespace

std::vector<Token> prompt_lookup(const Context& history, const PromptLookupOptions& options,
                                 int draft_count) {
  DRAFTPROOF_CHECK(options.size_max >= 1, "a pattern has a token");
  const std::size_t length = history.size();
  if (draft_count <= 0 || length < 2) return {};
  if (options.length_max && *options.length_max <= length + 1) return {};
  for (std::size_t size = std::min(options.size_max, length - 1); size >= 1; --size) {
    const std::vector<Token> pattern(history.end() - static_cast<std::ptrdiff_t>(size),
                                     history.end());
    for (std::size_t position = 0; position + size < length; ++position) {
      if (!stands_at(history, position, pattern)) continue;
      const auto from = history.begin() + static_cast<std::ptrdiff_t>(position + size);
      std::vector<Token> candidate =
          allowed_part(history, first_tokens({from, history.end()}, draft_count), options);
      if (candidate.empty()) continue;
      const auto end = std::find_first_of(candidate.begin(), candidate.end(), options.eos.begin(),
                                          options.eos.end());
      candidate.erase(end, candidate.end());
      return candidate;
    }
  }
  return {};
}

}  // namespace draftproof::reference::draft
