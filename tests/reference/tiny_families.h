// Families of tiny cases: tables of small rational laws that differ at every context, so that a
// rule that reads the wrong row shows.
#pragma once

#include <array>
#include <cstdint>

#include "reference/law/tiny_case.h"

namespace draftproof::reference::law {

enum class Family : std::uint8_t {
  kFullMemory,  ///< T1: no zeros, every context its own row
  kWithZeros,   ///< T3: zeros in target and draft, at different tokens
  kEqualRows,   ///< T4: draft = target
  kDisjoint,    ///< T5: no common token, except the only one of a vocabulary of one
};
inline constexpr std::array kFamilies = {Family::kFullMemory, Family::kWithZeros,
                                         Family::kEqualRows, Family::kDisjoint};

/// A weight in 1 .. 9 from (seed, context, token): splitmix64's finaliser over their numbers.
inline std::uint64_t weight_of(std::uint64_t seed, const Context& context, Token token) {
  std::uint64_t x = seed;
  const auto mix = [&](std::uint64_t value) {
    x = (x ^ (value + 0x9e3779b97f4a7c15U)) * 0xbf58476d1ce4e5b9U;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebU;
    x ^= x >> 31;
  };
  mix(context.size());
  for (Token earlier : context) mix(static_cast<std::uint64_t>(earlier));
  mix(static_cast<std::uint64_t>(token) + 100);
  return 1 + x % 9;
}

inline Distribution family_row(Family family, int vocab_size, std::uint64_t seed, bool is_draft,
                               const Context& context) {
  const bool is_equal = family == Family::kEqualRows;
  const std::uint64_t row_seed = is_draft && !is_equal ? seed + 1000 : seed;
  std::vector<Exact> weights;
  for (Token token = 0; token < vocab_size; ++token) {
    const std::uint64_t weight = weight_of(row_seed, context, token);
    bool is_zero = false;
    if (family == Family::kWithZeros) is_zero = weight <= 3;
    if (family == Family::kDisjoint) is_zero = (token % 2 == 1) != is_draft;
    weights.emplace_back(is_zero ? 0 : weight);
  }
  // A row may have lost everything; it then stands on one token, which differs by context.
  Exact sum = 0;
  for (const Exact& weight : weights) sum += weight;
  if (sum == 0) weights[weight_of(row_seed, context, 77) % weights.size()] = 1;
  return normalised(std::move(weights));
}

/// Tables down to contexts of length `depth` >= draft_count.
inline TinyCase<Exact> family_case(Family family, int vocab_size, int draft_count, int depth,
                                   std::uint64_t seed) {
  const auto rows = [=](bool is_draft) {
    return [=](const Context& context) {
      return family_row(family, vocab_size, seed, is_draft, context);
    };
  };
  return table_case(draft_count, depth, rows(false), rows(true));
}

}  // namespace draftproof::reference::law
