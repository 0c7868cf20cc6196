// ngram-cache.
#include "reference/draft/lookup/ngram_cache.h"

#include <algorithm>

#include "reference/error.h"

namespace draftproof::reference::draft {
namespace {

constexpr std::size_t kStaticSize = 2;

using Followers = std::map<Token, std::int64_t>;

const Followers* followers(const NgramCounts& counts, const std::vector<Token>& key) {
  const auto known = counts.find(key);
  return known == counts.end() ? nullptr : &known->second;
}

/// The last `size` tokens; absent when there are not so many.
std::optional<std::vector<Token>> last(const Context& tokens, std::size_t size) {
  if (tokens.size() < size) return std::nullopt;
  return std::vector<Token>(tokens.end() - static_cast<std::ptrdiff_t>(size), tokens.end());
}

/// The token with the largest count x weight, if its count is sure enough.
std::optional<Token> choice(const Followers& counts, const Followers* weights, int samples_min,
                            int percent_min) {
  Token best = kPlaceholder;
  std::int64_t best_product = 0;
  std::int64_t best_count = 0;
  std::int64_t sum = 0;
  for (const auto& [token, count] : counts) {
    const bool is_weighed = weights && weights->contains(token);
    const std::int64_t product = count * (is_weighed ? 100 * weights->at(token) : 1);
    if (product > best_product) {
      best = token;
      best_product = product;
      best_count = count;
    }
    sum += count;
  }
  if (sum < samples_min || 100 * best_count < percent_min * sum) return std::nullopt;
  return best;
}

/// Longest key first.
std::optional<Token> choice_of(const NgramCounts& cache, const Context& tokens,
                               const Followers* weights, const SureEnough& sure,
                               const NgramCacheOptions& options) {
  for (std::size_t size = options.size_max; size >= options.size_min; --size) {
    const auto key = last(tokens, size);
    const Followers* known = key ? followers(cache, *key) : nullptr;
    if (!known) continue;
    if (const auto token =
            choice(*known, weights, sure.samples_min[size - 1], sure.percent_min[size - 1]))
      return token;
  }
  return std::nullopt;
}

}  // namespace

void count_ngrams(NgramCounts& counts, const std::vector<Token>& text, std::size_t size_min,
                  std::size_t size_max) {
  for (std::size_t size = size_min; size <= size_max; ++size)
    for (std::size_t at = size; at < text.size(); ++at) {
      const auto token = text.begin() + static_cast<std::ptrdiff_t>(at);
      ++counts[{token - static_cast<std::ptrdiff_t>(size), token}][*token];
    }
}

std::vector<Token> draft_by_counts(const Context& history, const NgramCounts& context,
                                   const NgramCacheOptions& options) {
  DRAFTPROOF_CHECK(1 <= options.size_min && options.size_min <= options.size_max &&
                       options.size_max <= kLax.samples_min.size(),
                   "key sizes");
  if (history.size() < kStaticSize) return {};
  Context tokens = history;
  while (static_cast<int>(tokens.size() - history.size()) < options.draft_max) {
    const Followers* fixed = followers(options.fixed, *last(tokens, kStaticSize));
    std::optional<Token> token = choice_of(context, tokens, fixed, kLax, options);
    if (!token) token = choice_of(options.dynamic, tokens, fixed, kStrict, options);
    if (!token && fixed)
      token = choice(*fixed, nullptr, kLax.samples_min[kStaticSize - 1],
                     kLax.percent_min[kStaticSize - 1]);
    if (!token) break;
    tokens.push_back(*token);
  }
  return {tokens.begin() + static_cast<std::ptrdiff_t>(history.size()), tokens.end()};
}

std::vector<Token> ngram_cache(const Question& question, const NgramCacheOptions& options) {
  NgramCounts context;
  std::size_t counted = 0;
  for (const LookupEvent& event : question.events) {
    if (event.request != question.request() || event.kind != LookupEvent::Kind::kAsked) continue;
    count_ngrams(
        context,
        {event.history.begin() + static_cast<std::ptrdiff_t>(counted), event.history.end()},
        options.size_min, options.size_max);
    counted = event.history.size();
  }
  return draft_by_counts(question.history(), context, options);
}

}  // namespace draftproof::reference::draft
