// Output laws: extension and distances.
#include "reference/law/output_law.h"

#include <cmath>
#include <limits>

#include "reference/error.h"

namespace draftproof::reference::law {
namespace {

/// Adds to `law` every way to extend `sequence` to `length` tokens by plain draws.
void extend(const model::ToyModel& target, const Context& prompt, std::vector<Token>& sequence,
            const Exact& reach, std::size_t length, SequenceLaw& law) {
  if (sequence.size() == length) {
    law[sequence] += reach;
    return;
  }
  Context context = prompt;
  context.insert(context.end(), sequence.begin(), sequence.end());
  const LawRow& row = target.row(context);
  for (Token token = 0; token < target.vocab_size(); ++token) {
    if (row[token] == 0) continue;
    sequence.push_back(token);
    extend(target, prompt, sequence, Exact(reach * row[token]), length, law);
    sequence.pop_back();
  }
}

template <class Key>
Exact value_at(const std::map<Key, Exact>& law, const Key& key) {
  const auto found = law.find(key);
  return found == law.end() ? Exact(0) : found->second;
}

template <class Key>
Exact half_of_differences(const std::map<Key, Exact>& first, const std::map<Key, Exact>& second) {
  Exact sum = 0;
  for (const auto& [key, probability] : first) sum += abs(probability - value_at(second, key));
  for (const auto& [key, probability] : second)
    if (!first.contains(key)) sum += probability;
  return sum / 2;
}

}  // namespace

SequenceLaw extended_law(const model::ToyModel& target, const EmissionLaw& law, int length,
                         const Context& prompt) {
  SequenceLaw extended;
  for (const auto& [emission, probability] : law) {
    std::vector<Token> sequence = emission.tokens;
    DRAFTPROOF_CHECK(sequence.size() <= static_cast<std::size_t>(length),
                     std::to_string(sequence.size()));
    extend(target, prompt, sequence, probability, static_cast<std::size_t>(length), extended);
  }
  return extended;
}

LawRow marginal(const SequenceLaw& law, int vocab_size, int index) {
  LawRow row(static_cast<std::size_t>(vocab_size));
  for (const auto& [sequence, probability] : law) row[sequence.at(index)] += probability;
  return row;
}

Exact total_variation(const SequenceLaw& first, const SequenceLaw& second) {
  return half_of_differences(first, second);
}

Exact total_variation(const EmissionLaw& first, const EmissionLaw& second) {
  return half_of_differences(first, second);
}

double kl_divergence(const SequenceLaw& first, const SequenceLaw& second) {
  double sum = 0;
  for (const auto& [sequence, probability] : first) {
    const Exact other = value_at(second, sequence);
    if (other == 0) return std::numeric_limits<double>::infinity();
    // The ratio is formed before rounding, so that equal laws give exactly 0.
    sum += static_cast<double>(probability) *
           std::log(static_cast<double>(Exact(probability / other)));
  }
  return sum;
}

std::vector<PositionAcceptance> acceptance_by_position(const EmissionLaw& law, int draft_count) {
  std::vector<PositionAcceptance> positions(static_cast<std::size_t>(draft_count));
  for (const auto& [emission, probability] : law) {
    for (int i = 0; i < draft_count; ++i) {
      if (emission.accepted_count >= i) positions[i].reached += probability;
      if (emission.accepted_count > i) positions[i].accepted += probability;
    }
  }
  return positions;
}

Exact draft_acceptance(const EmissionLaw& law, int draft_count) {
  DRAFTPROOF_CHECK(draft_count > 0, std::to_string(draft_count));
  Exact accepted = 0;
  for (const auto& [emission, probability] : law) accepted += probability * emission.accepted_count;
  return accepted / draft_count;
}

Exact expected_emitted(const EmissionLaw& law) {
  Exact sum = 0;
  for (const auto& [emission, probability] : law)
    sum += probability * static_cast<int>(emission.tokens.size());
  return sum;
}

}  // namespace draftproof::reference::law
