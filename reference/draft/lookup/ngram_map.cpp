// ngram-map-k and ngram-map-k4v.
#include "reference/draft/lookup/ngram_map.h"

#include <algorithm>

#include "reference/error.h"

namespace draftproof::reference::draft {
namespace {

std::vector<Token> part(const Context& tokens, std::size_t position, std::size_t count) {
  const auto from = tokens.begin() + static_cast<std::ptrdiff_t>(position);
  return {from, from + static_cast<std::ptrdiff_t>(count)};
}

Context without_last(const Context& history) {
  return history.empty() ? Context{} : Context(history.begin(), history.end() - 1);
}

}  // namespace

NgramMap::NgramMap(const NgramMapOptions& options, const Context& history)
    : options_(options), begin_(without_last(history).size()) {
  DRAFTPROOF_CHECK(options.key_size >= 1 && options.value_size >= 1, "sizes");
}

/// A linear congruential hash in 32 bits, its factor a prime near 2^32 (sqrt(5) - 1) / 2.
std::size_t NgramMap::slot(const Context& decoded, std::size_t position) const {
  std::uint32_t hash = 0;
  for (std::size_t i = 0; i < options_.key_size; ++i)
    hash = hash * 2654435761U + static_cast<std::uint32_t>(decoded[position + i]);
  return hash % options_.table_size;
}

/// Positions that are looked at one by one: before the first draft's history ended, then behind it;
/// each part from its end, and only behind what the table has.
std::vector<std::size_t> NgramMap::unentered(std::size_t length) const {
  const std::size_t tail = options_.key_size + options_.value_size + 1;
  std::vector<std::size_t> positions;
  if (begin_ > tail)
    for (std::size_t at = begin_ - tail; at > entered_; --at) positions.push_back(at);
  for (std::size_t at = length - tail; at > begin_ && at > entered_; --at) positions.push_back(at);
  return positions;
}

/// 0: not found; position 0 is never found.
std::size_t NgramMap::find(const Context& decoded, const std::vector<Token>& key) const {
  if (options_.table_size > 0) {
    Context padded = key;
    const auto known = table_.find(slot(padded, 0));
    const std::size_t tail = options_.key_size + options_.value_size + 1;
    if (known != table_.end() && known->second < decoded.size() - tail &&
        stands_at(decoded, known->second, key))
      return known->second;
  }
  for (const std::size_t at : unentered(decoded.size()))
    if (stands_at(decoded, at, key)) return at;
  return 0;
}

void NgramMap::enter(const Context& decoded) {
  if (options_.table_size == 0) return;
  for (const std::size_t at : unentered(decoded.size())) table_.emplace(slot(decoded, at), at);
  entered_ = std::max(entered_, decoded.size() - options_.key_size - options_.value_size - 1);
}

std::size_t NgramMap::key_number(const Context& decoded, std::size_t position,
                                 const std::vector<Token>& key) {
  for (std::size_t number = 0; number < keys_.size(); ++number)
    if (stands_at(decoded, keys_[number].position, key)) return number;
  Key added;
  added.position = position;
  for (Value& value : added.values) value.accepted_count = static_cast<int>(options_.value_size);
  keys_.push_back(added);
  return keys_.size() - 1;
}

/// From where it stopped last time, inclusively, so an occurrence there is counted twice.
void NgramMap::count_values(const Context& decoded, Key& known, const std::vector<Token>& key,
                            std::size_t position) const {
  for (std::size_t at = known.counted_to; at <= position; ++at) {
    if (!stands_at(decoded, at, key)) continue;
    const std::size_t behind = at + options_.key_size;
    const std::vector<Token> value = part(decoded, behind, options_.value_size);
    for (Value& candidate : known.values) {
      if (candidate.position == 0) candidate = {behind, 0, static_cast<int>(options_.value_size)};
      if (!stands_at(decoded, candidate.position, value)) continue;
      ++candidate.count;
      break;
    }
  }
  known.counted_to = position;
}

std::vector<Token> NgramMap::ask(const Context& history) {
  last_.reset();
  const Context decoded = without_last(history);
  if (decoded.size() < 2 * options_.key_size + options_.value_size) return {};
  const std::vector<Token> key =
      part(history, history.size() - options_.key_size, options_.key_size);
  const std::size_t position = find(decoded, key);
  enter(decoded);
  if (position == 0) return {};

  const std::size_t number = key_number(decoded, position, key);
  Key& known = keys_[number];
  ++known.asked_count;
  std::size_t winner = 0;
  if (options_.counts_values) {
    if (known.asked_count < options_.hits_min) return {};
    count_values(decoded, known, key, position);
    int others = 0;
    for (std::size_t v = 0; v < kValueSlots; ++v)
      if (known.values[v].count > known.values[winner].count) winner = v;
    for (std::size_t v = 0; v < kValueSlots; ++v)
      if (v != winner) others += known.values[v].count;
    if (others > 0 && known.values[winner].count < 2 * others) return {};
  }
  last_ = {number, winner};
  const int accepted_count = known.values[winner].accepted_count;
  const auto count = static_cast<std::size_t>(std::max(0, accepted_count));
  return part(decoded, position + options_.key_size, std::min(options_.value_size, count));
}

void NgramMap::accepted(int count) {
  if (last_ && options_.learns_accepted)
    keys_[last_->first].values[last_->second].accepted_count = count;
}

std::vector<Token> ngram_map(const Question& question, const NgramMapOptions& options) {
  std::optional<NgramMap> map;
  std::vector<Token> found;
  for (const LookupEvent& event : question.events) {
    if (event.request != question.request()) continue;
    if (!map) map.emplace(options, event.history);
    if (event.kind == LookupEvent::Kind::kAsked)
      found = map->ask(event.history);
    else
      map->accepted(event.accepted_count);
  }
  return found;
}

}  // namespace draftproof::reference::draft
