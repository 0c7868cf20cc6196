// Cases with trees: the shapes, the laws of siblings and the families that tree rules are held
// against.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "reference/law/decoding.h"
#include "tests/reference/tiny_families.h"

namespace draftproof::reference::law {

inline ModelCase tree_case(Family family, int vocab_size, const std::vector<int>& widths,
                           SiblingDraw siblings, std::uint64_t seed) {
  ModelCase tiny = family_case(family, vocab_size, 0, seed);
  tiny.parents = tree_parents(widths);
  tiny.siblings = siblings;
  return tiny;
}

/// One position with a literal target and draft row and `count` candidates.
inline ModelCase one_position(const LawRow& target, const LawRow& draft, int count,
                              SiblingDraw siblings) {
  const auto everywhere = [](const LawRow& row) {
    return model::function_model(static_cast<int>(row.size()),
                                 [row](const Context&) { return row; });
  };
  return {everywhere(target), everywhere(draft), tree_parents({count}), siblings,
          DraftReport::kLawDrawn};
}

/// The largest number of tokens that an iteration can emit.
inline int emitted_max(const EmissionLaw& law) {
  std::size_t most = 0;
  for (const auto& [emission, probability] : law) most = std::max(most, emission.tokens.size());
  return static_cast<int>(most);
}

/// What one iteration of a rule on a case does: its distance to the law it is held against, and its
/// expected length.
struct Measured {
  Exact distance;
  Exact emitted;
};

inline Measured measured(const ModelCase& tiny, const RuleFunction& rule,
                         DecodedLaw decoded = DecodedLaw::kSampling) {
  const EmissionLaw law = law_of(tiny, rule);
  const auto truth =
      decoded == DecodedLaw::kGreedy ? model::greedy_model(tiny.target) : tiny.target;
  const int length = emitted_max(law);
  return {total_variation(extended_law(*truth, law, length), target_law(*truth, length)),
          expected_emitted(law)};
}

inline std::string described(const ModelCase& tiny) {
  std::string text = "parents";
  for (int parent : tiny.parents) text += " " + std::to_string(parent);
  return text + ", siblings " + std::to_string(static_cast<int>(tiny.siblings)) + ", report " +
         std::to_string(static_cast<int>(tiny.report)) + ", vocabulary " +
         std::to_string(tiny.vocab_size());
}

inline const std::vector<SiblingDraw> kSiblingDraws = {
    SiblingDraw::kIndependent, SiblingDraw::kWithoutReplacement, SiblingDraw::kLargest,
    SiblingDraw::kLargestThenDrawn};

/// The laws of siblings that a rule is right for.
inline const std::vector<SiblingDraw>& siblings_of(const LawRule& rule) {
  return rule.siblings.empty() ? kSiblingDraws : rule.siblings;
}

/// Shapes with two children, with chains, and with both, at most four nodes deep in cost.
inline std::vector<ModelCase> cases_for(const LawRule& rule) {
  const std::vector<std::vector<int>> shapes = {{}, {1}, {2}, {3}, {1, 1}, {2, 1}, {1, 2}};
  std::vector<ModelCase> cases;
  for (SiblingDraw siblings : siblings_of(rule)) {
    for (Family family : kFamilies)
      for (const auto& shape : shapes) cases.push_back(tree_case(family, 3, shape, siblings, 7));
    cases.push_back(tree_case(Family::kFullMemory, 2, {2, 2}, siblings, 3));
    cases.push_back(tree_case(Family::kFullMemory, 2, {1, 1, 1}, siblings, 4));
    cases.push_back(tree_case(Family::kFullMemory, 2, {1, 2, 1}, siblings, 5));
    ModelCase ragged = tree_case(Family::kFullMemory, 3, {}, siblings, 6);
    ragged.parents = {-1, 0, -1};  // an inner node and a leaf beside each other
    cases.push_back(ragged);
  }
  return cases;
}

}  // namespace draftproof::reference::law
