// Drafting on features: EAGLE, Li et al., "EAGLE: speculative sampling requires rethinking feature
// uncertainty" (ICML 2024, arXiv:2401.15077). A small head predicts the next feature from the last
// one and the token drawn from it, and the target's own output layer turns features into rows. At
// the first drafted token the feature is the target's; behind it features are predictions, which
// have to be exchanged for the target's once those are known: the memory is the target's feature
// behind what was fed.
#pragma once

#include "reference/draft/hidden_toy.h"

namespace draftproof::reference::draft {

/// The feature behind `token` as the head predicts it: the newest token is right, the one before it
/// is replaced by the sum of both in the feature, modulo the vocabulary.
Hidden predicted_feature(int vocab_size, const Hidden& feature, Token token);
/// Predicted along the pending token of `context` and `drafted` behind it.
Hidden predicted_along(int vocab_size, const Hidden& feature, const Context& context,
                       const std::vector<Token>& drafted);

/// The row of the next drafted token: the toy's draft behind the predicted feature.
PointLaw feature_law(const HiddenToy& toy);

/// EAGLE-1: nodes of `parents`, siblings drawn without replacement and reported as drawn.
DraftFunctions eagle_tree(const HiddenToy& toy, const std::vector<int>& parents);

/// EAGLE-2 (Li et al., EMNLP 2024, arXiv:2406.16858) as cnets.topK_genrate of SafeAILab/EAGLE
/// (2026-02): in every level the `level_width` nodes of the largest products of head probabilities
/// are grown by their `level_width` largest children, `depth` levels deep; of all nodes the
/// `node_count` largest are kept. Products never grow along a path and ties go to the earlier node,
/// so what is kept is closed under parents. One-hot.
struct DynamicTree {
  int depth = 2;
  int level_width = 2;
  int node_count = 3;
};
DraftFunctions dynamic_tree(const HiddenToy& toy, const DynamicTree& shape);

}  // namespace draftproof::reference::draft
