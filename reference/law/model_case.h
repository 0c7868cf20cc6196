// Model cases: a target and a draft model with the shape of the draft. The smallest thing that a
// rule has a law on; the closed forms of rules are functions of it.
#pragma once

#include <cstdint>
#include <vector>

#include "reference/model/toy_model.h"

namespace draftproof::reference::law {

/// What a drafter reports of a token: the row it was drawn from, or all mass on the token.
enum class DraftReport : std::uint8_t { kLawDrawn, kOneHot };

/// How the children of one node come from the draft's row behind it.
enum class SiblingDraw : std::uint8_t {
  kIndependent,         ///< each from the row; tokens may repeat
  kWithoutReplacement,  ///< each from the row restricted to tokens not drawn yet, renormalised,
                        ///< which is also what is reported; fewer when the support is used up
  kLargest,             ///< the row's largest, lower ids first among equals; reported one-hot
  kLargestThenDrawn,    ///< all but the last as kLargest, the last as kWithoutReplacement
};

struct ModelCase {
  model::ToyModelPtr target;
  model::ToyModelPtr draft;
  std::vector<int> parents;  ///< of node i; -1: a child of the base context. A chain: i - 1
  SiblingDraw siblings = SiblingDraw::kIndependent;
  DraftReport report = DraftReport::kLawDrawn;

  int vocab_size() const { return target->vocab_size(); }
  int draft_count() const { return static_cast<int>(parents.size()); }
};

/// Parents of a chain of `count` nodes.
std::vector<int> chain_parents(int count);
/// Parents of the tree whose nodes of depth d each have widths[d] children, level by level.
/// {2, 1}: two children, each with one child.
std::vector<int> tree_parents(const std::vector<int>& widths);

/// A chain of `draft_count` tokens. Throws Error(kInput) when vocabularies differ or it is
/// negative.
ModelCase chain_case(model::ToyModelPtr target, model::ToyModelPtr draft, int draft_count);

}  // namespace draftproof::reference::law
