// Suffix match.
#include "reference/draft/lookup/suffix_match.h"

#include <algorithm>

#include "reference/error.h"

namespace draftproof::reference::draft {
namespace {

/// How many of the last tokens before `end` are those before the history's end, at most `most`.
std::size_t common_suffix(const Context& history, std::size_t end, std::size_t most) {
  std::size_t size = 0;
  while (size < std::min(end, most) &&
         history[end - 1 - size] == history[history.size() - 1 - size])
    ++size;
  return size;
}

}  // namespace

std::vector<Token> suffix_match(const Context& history, const SuffixMatchOptions& options,
                                int draft_count) {
  DRAFTPROOF_CHECK(1 <= options.size_min && options.size_min <= options.size_max, "sizes");
  std::size_t longest = 0;
  std::size_t behind = 0;
  for (std::size_t end = 1; end < history.size(); ++end) {
    const std::size_t size = common_suffix(history, end, options.size_max);
    if (size > longest) {
      longest = size;
      behind = end;
    }
  }
  if (longest < options.size_min) return {};
  std::size_t count = history.size() - behind;
  if (options.length_max)
    count = std::min(count, *options.length_max - std::min(*options.length_max, history.size()));
  const auto from = history.begin() + static_cast<std::ptrdiff_t>(behind);
  return first_tokens({from, from + static_cast<std::ptrdiff_t>(count)}, draft_count);
}

}  // namespace draftproof::reference::draft
