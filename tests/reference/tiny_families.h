// Families of tiny cases: small rational laws that differ at every context, so that a rule that
// reads the wrong row shows.
#pragma once

#include <array>
#include <cstdint>

#include "reference/law/decoding.h"
#include "reference/model/toys.h"

namespace draftproof::reference::law {

enum class Family : std::uint8_t {
  kFullMemory,  ///< T1: no zeros, every context its own row
  kWithZeros,   ///< T3: zeros in target and draft, at different tokens
  kEqualRows,   ///< T4: draft = target
  kDisjoint,    ///< T5: no common token
};
inline constexpr std::array kFamilies = {Family::kFullMemory, Family::kWithZeros,
                                         Family::kEqualRows, Family::kDisjoint};

inline ModelCase family_case(Family family, int vocab_size, int draft_count, std::uint64_t seed) {
  const bool has_zeros = family == Family::kWithZeros;
  const model::RowFamily target{vocab_size, seed, has_zeros};
  const model::RowFamily draft{vocab_size, seed + 1000, has_zeros};
  if (family == Family::kDisjoint)
    return chain_case(model::parity_model(target, false), model::parity_model(draft, true),
                      draft_count);
  const auto model = model::full_memory_model(target);
  return chain_case(model, family == Family::kEqualRows ? model : model::full_memory_model(draft),
                    draft_count);
}

inline EmissionLaw law_of(const ModelCase& tiny, const RuleFunction& rule) {
  return emission_law(decoding_of(tiny, rule));
}

/// Distance of one iteration, extended by plain draws, from the target.
inline Exact distance_of(const ModelCase& tiny, const RuleFunction& rule) {
  const int length = tiny.draft_count() + 1;
  return total_variation(extended_law(*tiny.target, law_of(tiny, rule), length),
                         target_law(*tiny.target, length));
}

inline RuleFunction chain_rule() { return law_rule("chain").make({}); }

}  // namespace draftproof::reference::law
