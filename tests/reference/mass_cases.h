// Mass rows at every context of a small tree, for holding the laws of integer rules against the
// papers'.
#pragma once

#include <algorithm>
#include <limits>
#include <random>

#include "reference/law/coin_law.h"
#include "reference/shaping.h"

namespace draftproof::reference::law {

inline MassRow random_row(std::mt19937& random, int vocab_size) {
  std::vector<float> logits;
  std::normal_distribution<float> normal(0, 3);
  for (int v = 0; v < vocab_size; ++v) {
    logits.push_back(normal(random));
    if (random() % 6 == 0) logits.back() = -std::numeric_limits<float>::infinity();
  }
  logits[random() % logits.size()] = 0;
  return shape(logits, {}, preset("default"));
}

/// Rows with few units of mass, where single coins weigh most.
inline MassRow coarse_row(std::mt19937& random, int vocab_size) {
  MassRow row;
  for (int v = 0; v < vocab_size; ++v) row.mass.push_back(random() % 4);
  row.mass[random() % row.mass.size()] += 1;
  for (const Mass mass : row.mass) row.total += mass;
  return row;
}

/// Rows of this kind at every context; one draft row in four is the target row.
template <class RandomRow>
MassCase random_case(std::mt19937& random, int vocab_size, int draft_count,
                     const RandomRow& some_row) {
  MassCase masses{vocab_size, draft_count, {}, {}};
  std::size_t context_count = 1;
  for (int length = 0; length <= draft_count; ++length) {
    masses.target.emplace_back();
    for (std::size_t i = 0; i < context_count; ++i)
      masses.target.back().push_back(some_row(random, vocab_size));
    if (length < draft_count) {
      masses.draft.emplace_back();
      for (std::size_t i = 0; i < context_count; ++i) {
        const bool is_equal = random() % 4 == 0;
        masses.draft.back().push_back(is_equal ? masses.target.back()[i]
                                               : some_row(random, vocab_size));
      }
    }
    context_count *= static_cast<std::size_t>(vocab_size);
  }
  return masses;
}

inline MassCase random_case(std::mt19937& random, int vocab_size, int draft_count) {
  return random_case(random, vocab_size, draft_count, random_row);
}

/// The rows of a case as one-hot drafts of its most likely tokens: mass 1 on one token.
inline MassCase with_one_hot_drafts(MassCase masses) {
  for (auto& rows : masses.draft)
    for (MassRow& row : rows) {
      const auto most = std::max_element(row.mass.begin(), row.mass.end()) - row.mass.begin();
      row.mass.assign(row.mass.size(), 0);
      row.mass[static_cast<std::size_t>(most)] = row.total = 1;
    }
  return masses;
}

}  // namespace draftproof::reference::law
