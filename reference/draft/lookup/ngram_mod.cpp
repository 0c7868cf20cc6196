// ngram-mod.
#include "reference/draft/lookup/ngram_mod.h"

#include <set>

#include "reference/error.h"

namespace draftproof::reference::draft {
namespace {

Context all_but_last(const Context& history) {
  return history.empty() ? Context{} : Context(history.begin(), history.end() - 1);
}

std::vector<Token> last(const std::vector<Token>& tokens, std::size_t count) {
  return {tokens.end() - static_cast<std::ptrdiff_t>(count), tokens.end()};
}

}  // namespace

NgramMod::NgramMod(const NgramModOptions& options) : options_(options) {
  DRAFTPROOF_CHECK(options.key_size >= 1 && options.table_size >= 1, "sizes");
}

/// A linear congruential hash in 64 bits (Knuth's MMIX factor).
std::size_t NgramMod::slot(const std::vector<Token>& key) const {
  std::uint64_t hash = 0;
  for (const Token token : key)
    hash = hash * 6364136223846793005U + static_cast<std::uint64_t>(token);
  return hash % options_.table_size;
}

void NgramMod::learn(const Context& decoded, std::size_t from) {
  for (std::size_t at = from; at + options_.key_size < decoded.size(); ++at) {
    const auto key = decoded.begin() + static_cast<std::ptrdiff_t>(at);
    const auto behind = key + static_cast<std::ptrdiff_t>(options_.key_size);
    const auto [entry, is_first] = table_.insert_or_assign(slot({key, behind}), *behind);
    if (!is_first) ++overwritten_;
  }
}

void NgramMod::empty() {
  table_.clear();
  overwritten_ = 0;
}

void NgramMod::begin(int request, const Context& history) {
  const Context decoded = all_but_last(history);
  Request& state = requests_[request] = {};
  if (decoded.size() < options_.key_size) return;
  learn(decoded, 0);
  state.learned_to = decoded.size() - options_.key_size;
  const std::size_t counted = options_.counts_overwrites ? overwritten_ : table_.size();
  if (Exact(counted, options_.table_size) > options_.occupied_max) empty();
}

std::vector<Token> NgramMod::ask(int request, const Context& history) {
  Request& state = requests_.at(request);
  state.drafted = 0;
  const Context decoded = all_but_last(history);
  const std::size_t n = options_.key_size;
  if (decoded.size() < n) return {};
  if (state.learned_to + options_.learned_at_once < decoded.size()) {
    learn(decoded, state.learned_to);
    state.learned_to = decoded.size() - n;
  }
  std::vector<Token> walk = last(history, n);
  for (int i = 0; i < options_.draft_max; ++i) {
    const auto entry = table_.find(slot(last(walk, n)));
    if (entry == table_.end()) {
      if (i < options_.draft_min) return {};
      break;
    }
    walk.push_back(entry->second);
  }
  state.drafted = walk.size() - n;
  return last(walk, state.drafted);
}

void NgramMod::accepted(int request, int count) {
  Request& state = requests_.at(request);
  if (state.drafted == 0) return;
  if (Exact(count, state.drafted) >= options_.poor_share) {
    state.poor_rounds = 0;
  } else if (++state.poor_rounds >= options_.poor_rounds_max) {
    empty();
    state.poor_rounds = 0;
    state.learned_to = 0;
  }
}

std::vector<Token> ngram_mod(const Question& question, const NgramModOptions& options) {
  NgramMod mod(options);
  std::set<int> begun;
  std::vector<Token> found;
  for (const LookupEvent& event : question.events) {
    if (begun.insert(event.request).second) mod.begin(event.request, event.history);
    if (event.kind == LookupEvent::Kind::kAsked)
      found = mod.ask(event.request, event.history);
    else
      mod.accepted(event.request, event.accepted_count);
  }
  return found;
}

}  // namespace draftproof::reference::draft
