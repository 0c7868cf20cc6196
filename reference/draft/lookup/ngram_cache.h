// ngram-cache: a lookup of llama.cpp (common/ngram-cache.cpp, read at 5c5f166e and in build
// 11434, 2026). Counts of what follows 1 to 4 tokens, in three caches: of this context, dynamic
// (earlier requests), static (a corpus, pairs only). A token is drafted where one cache is sure
// enough of it, the longest key first; the static cache also weighs the choice of the other two.
#pragma once

#include <array>
#include <map>

#include "reference/draft/lookup/lookup.h"

namespace draftproof::reference::draft {

/// How often each token followed a key.
using NgramCounts = std::map<std::vector<Token>, std::map<Token, std::int64_t>>;

/// A cache drafts its most frequent token only with so many samples, of which so many percent.
struct SureEnough {
  std::array<int, 4> samples_min;  ///< by key size
  std::array<int, 4> percent_min;
};
inline constexpr SureEnough kLax = {{2, 2, 1, 1}, {66, 50, 50, 50}};
inline constexpr SureEnough kStrict = {{4, 3, 2, 2}, {75, 66, 66, 66}};

struct NgramCacheOptions {
  std::size_t size_min = 1;
  std::size_t size_max = 4;  ///< at most 4
  int draft_max = 8;
  NgramCounts dynamic;
  NgramCounts fixed;  ///< the static cache; keys of two tokens
};

/// Adds what the tokens of one piece of text say. Keys do not reach back before its first token.
void count_ngrams(NgramCounts& counts, const std::vector<Token>& text, std::size_t size_min,
                  std::size_t size_max);

/// A draft behind `history` from a context cache. Among equally frequent tokens the lowest id (the
/// engine's order is that of a hash table). Empty when the history is shorter than a pair.
std::vector<Token> draft_by_counts(const Context& history, const NgramCounts& context,
                                   const NgramCacheOptions& options);

/// The cache after all events of the question's request, asked the last one. Text is counted in the
/// pieces in which it arrived, so that keys across two iterations are never counted.
std::vector<Token> ngram_cache(const Question& question, const NgramCacheOptions& options);

}  // namespace draftproof::reference::draft
