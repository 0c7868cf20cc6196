// Output laws: enumeration, extension, iteration, and distances.
#include "reference/law/output_law.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "reference/error.h"

namespace draftproof::reference::law {
namespace {

template <class Scalar>
EmissionLaw<Scalar> law_of(const Iteration<Scalar>& iteration, const RuleFunction<Scalar>& rule) {
  EmissionLaw<Scalar> law;
  Emission emission;
  for_each_branch<Scalar>([&](Chooser<Scalar>& chooser) { emission = rule(iteration, chooser); },
                          [&](const Scalar& probability) { law[emission] += probability; });
  return law;
}

/// Adds to `law` every way to extend `sequence` to `length` tokens by plain draws.
template <class Scalar>
void extend(const TinyCase<Scalar>& tiny_case, std::vector<Token>& sequence, const Scalar& reach,
            std::size_t length, SequenceLaw<Scalar>& law) {
  if (sequence.size() == length) {
    law[sequence] += reach;
    return;
  }
  DRAFTPROOF_CHECK(sequence.size() < tiny_case.target.size(), "the target table is too short");
  const LawRow<Scalar>& row =
      tiny_case.target[sequence.size()][context_index(tiny_case.vocab_size, sequence)];
  for (Token token = 0; token < tiny_case.vocab_size; ++token) {
    if (row[token] == 0) continue;
    sequence.push_back(token);
    extend(tiny_case, sequence, Scalar(reach * row[token]), length, law);
    sequence.pop_back();
  }
}

template <class Key, class Scalar>
Scalar value_at(const std::map<Key, Scalar>& law, const Key& key) {
  const auto found = law.find(key);
  return found == law.end() ? Scalar(0) : found->second;
}

template <class Scalar>
Scalar distance(const Scalar& first, const Scalar& second) {
  return first < second ? Scalar(second - first) : Scalar(first - second);
}

template <class Key, class Scalar>
Scalar half_of_differences(const std::map<Key, Scalar>& first,
                           const std::map<Key, Scalar>& second) {
  Scalar sum = 0;
  for (const auto& [key, probability] : first) sum += distance(probability, value_at(second, key));
  for (const auto& [key, probability] : second)
    if (!first.contains(key)) sum += probability;
  return sum / 2;
}

}  // namespace

template <class Scalar>
EmissionLaw<Scalar> emission_law(const TinyCase<Scalar>& tiny_case,
                                 const RuleFunction<Scalar>& rule) {
  return law_of(Iteration<Scalar>(tiny_case, {}, tiny_case.draft_count), rule);
}

template <class Scalar>
SequenceLaw<Scalar> extended_law(const TinyCase<Scalar>& tiny_case,
                                 const EmissionLaw<Scalar>& law) {
  SequenceLaw<Scalar> extended;
  const auto length = static_cast<std::size_t>(tiny_case.draft_count) + 1;
  for (const auto& [emission, probability] : law) {
    std::vector<Token> sequence = emission.tokens;
    DRAFTPROOF_CHECK(sequence.size() <= length, std::to_string(sequence.size()));
    extend(tiny_case, sequence, probability, length, extended);
  }
  return extended;
}

template <class Scalar>
SequenceLaw<Scalar> sequence_law(const TinyCase<Scalar>& tiny_case,
                                 const RuleFunction<Scalar>& rule, int length) {
  // Emission only adds tokens, so contexts can be finished in the order of their length.
  std::vector<SequenceLaw<Scalar>> reached(static_cast<std::size_t>(length) + 1);
  reached[0][{}] = 1;
  for (int n = 0; n < length; ++n) {
    for (const auto& [context, reach] : reached[n]) {
      const int draft_count = std::min(tiny_case.draft_count, length - 1 - n);
      for (const auto& [emission, probability] :
           law_of(Iteration<Scalar>(tiny_case, context, draft_count), rule)) {
        std::vector<Token> longer = context;
        longer.insert(longer.end(), emission.tokens.begin(), emission.tokens.end());
        DRAFTPROOF_CHECK(longer.size() > context.size() && longer.size() < reached.size(),
                         std::to_string(longer.size()));
        reached[longer.size()][longer] += reach * probability;
      }
    }
  }
  return reached[length];
}

template <class Scalar>
SequenceLaw<Scalar> target_law(const TinyCase<Scalar>& tiny_case, int length) {
  SequenceLaw<Scalar> law;
  std::vector<Token> sequence;
  extend(tiny_case, sequence, Scalar(1), static_cast<std::size_t>(length), law);
  return law;
}

template <class Scalar>
LawRow<Scalar> marginal(const SequenceLaw<Scalar>& law, int vocab_size, int index) {
  LawRow<Scalar> row(static_cast<std::size_t>(vocab_size), Scalar(0));
  for (const auto& [sequence, probability] : law) row[sequence.at(index)] += probability;
  return row;
}

template <class Scalar>
Scalar total_variation(const SequenceLaw<Scalar>& first, const SequenceLaw<Scalar>& second) {
  return half_of_differences(first, second);
}

template <class Scalar>
Scalar total_variation(const EmissionLaw<Scalar>& first, const EmissionLaw<Scalar>& second) {
  return half_of_differences(first, second);
}

template <class Scalar>
double kl_divergence(const SequenceLaw<Scalar>& first, const SequenceLaw<Scalar>& second) {
  double sum = 0;
  for (const auto& [sequence, probability] : first) {
    const Scalar other = value_at(second, sequence);
    if (other == 0) return std::numeric_limits<double>::infinity();
    // The ratio is formed before rounding, so that equal laws give exactly 0.
    sum += static_cast<double>(probability) *
           std::log(static_cast<double>(Scalar(probability / other)));
  }
  return sum;
}

template <class Scalar>
std::vector<PositionAcceptance<Scalar>> acceptance_by_position(const EmissionLaw<Scalar>& law,
                                                               int draft_count) {
  std::vector<PositionAcceptance<Scalar>> positions(static_cast<std::size_t>(draft_count),
                                                    {Scalar(0), Scalar(0)});
  for (const auto& [emission, probability] : law) {
    for (int i = 0; i < draft_count; ++i) {
      if (emission.accepted_count >= i) positions[i].reached += probability;
      if (emission.accepted_count > i) positions[i].accepted += probability;
    }
  }
  return positions;
}

template <class Scalar>
Scalar draft_acceptance(const EmissionLaw<Scalar>& law, int draft_count) {
  DRAFTPROOF_CHECK(draft_count > 0, std::to_string(draft_count));
  return (expected_emitted(law) - 1) / draft_count;
}

template <class Scalar>
Scalar expected_emitted(const EmissionLaw<Scalar>& law) {
  Scalar sum = 0;
  for (const auto& [emission, probability] : law)
    sum += probability * (emission.accepted_count + 1);
  return sum;
}

#define DRAFTPROOF_INSTANTIATE(Scalar)                                                             \
  template EmissionLaw<Scalar> emission_law(const TinyCase<Scalar>&, const RuleFunction<Scalar>&); \
  template SequenceLaw<Scalar> extended_law(const TinyCase<Scalar>&, const EmissionLaw<Scalar>&);  \
  template SequenceLaw<Scalar> sequence_law(const TinyCase<Scalar>&, const RuleFunction<Scalar>&,  \
                                            int);                                                  \
  template SequenceLaw<Scalar> target_law(const TinyCase<Scalar>&, int);                           \
  template LawRow<Scalar> marginal(const SequenceLaw<Scalar>&, int, int);                          \
  template Scalar total_variation(const SequenceLaw<Scalar>&, const SequenceLaw<Scalar>&);         \
  template Scalar total_variation(const EmissionLaw<Scalar>&, const EmissionLaw<Scalar>&);         \
  template double kl_divergence(const SequenceLaw<Scalar>&, const SequenceLaw<Scalar>&);           \
  template std::vector<PositionAcceptance<Scalar>> acceptance_by_position(                         \
      const EmissionLaw<Scalar>&, int);                                                            \
  template Scalar draft_acceptance(const EmissionLaw<Scalar>&, int);                               \
  template Scalar expected_emitted(const EmissionLaw<Scalar>&)
DRAFTPROOF_INSTANTIATE(Exact);
DRAFTPROOF_INSTANTIATE(double);
#undef DRAFTPROOF_INSTANTIATE

}  // namespace draftproof::reference::law
