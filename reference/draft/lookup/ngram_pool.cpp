// N-gram pool.
#include "reference/draft/lookup/ngram_pool.h"

#include <algorithm>

namespace draftproof::reference::draft {
namespace {

/// Adds a match behind those that are known. Shorter ones make way for it, but the engine takes
/// them out of the list it is walking, so the one behind each that goes is not looked at.
void add(std::vector<std::vector<Token>>& matches, std::vector<Token> match) {
  for (std::size_t i = 0; i < matches.size(); ++i)
    if (matches[i].size() < match.size())
      matches.erase(matches.begin() + static_cast<std::ptrdiff_t>(i));
  matches.push_back(std::move(match));
}

}  // namespace

void NgramPool::learn(Pool& pool, const Context& sequence, std::size_t size) const {
  for (std::size_t left = 0; left + size < sequence.size(); ++left) {
    const auto at = sequence.begin() + static_cast<std::ptrdiff_t>(left);
    const auto behind = at + static_cast<std::ptrdiff_t>(size);
    const std::vector<Token> pattern(at, behind);
    std::vector<Token> match = first_tokens({behind, sequence.end()}, options_.draft_count_max);
    std::vector<std::vector<Token>>& matches = pool[pattern];
    if (matches.empty() || (!options_.keeps_all && match.size() > matches.front().size()))
      matches = {std::move(match)};
    else if (std::find(matches.begin(), matches.end(), match) == matches.end())
      add(matches, std::move(match));
  }
}

std::vector<Token> NgramPool::ask(int request, const Context& history) {
  const std::size_t length = history.size();
  int room = options_.draft_count_max;
  if (options_.length_max) {
    if (length + 1 >= *options_.length_max) return {};
    room = std::min(room, static_cast<int>(*options_.length_max - 1 - length));
  }
  if (length == 0) return {};
  Pool& pool = pools_[options_.is_public ? 0 : request];
  std::size_t& start = start_[request];
  const Context sequence(history.begin() + static_cast<std::ptrdiff_t>(start), history.end());
  const std::size_t largest = std::min(options_.size_max, length - 1);
  for (std::size_t size = largest; size >= 1; --size) learn(pool, sequence, size);

  std::vector<Token> found;
  for (std::size_t size = largest; size >= 1; --size) {
    const auto known =
        pool.find({history.end() - static_cast<std::ptrdiff_t>(size), history.end()});
    if (known == pool.end()) continue;
    found = options_.uses_oldest ? known->second.front() : known->second.back();
    break;
  }
  const std::size_t window =
      static_cast<std::size_t>(options_.draft_count_max) + options_.size_max - 1;
  start = length - std::min(length, window);
  return first_tokens(std::move(found), room);
}

std::vector<std::vector<Token>> NgramPool::matches(int request,
                                                   const std::vector<Token>& pattern) const {
  const auto pool = pools_.find(options_.is_public ? 0 : request);
  if (pool == pools_.end()) return {};
  const auto known = pool->second.find(pattern);
  return known == pool->second.end() ? std::vector<std::vector<Token>>{} : known->second;
}

std::vector<Token> ngram_pool(const Question& question, const NgramPoolOptions& options) {
  NgramPool pool(options);
  std::vector<Token> found;
  for (const LookupEvent& event : question.events)
    if (event.kind == LookupEvent::Kind::kAsked) found = pool.ask(event.request, event.history);
  return first_tokens(std::move(found), question.draft_count);
}

}  // namespace draftproof::reference::draft
