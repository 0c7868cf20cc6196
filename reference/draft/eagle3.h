// EAGLE-3: Li et al., "EAGLE-3: scaling up inference acceleration of large language models via
// training-time test" (2025, arXiv:2503.01840); SafeAILab/EAGLE (2026-02). Three tapped layers of
// the target are fused into one input; the head predicts tokens directly, with its own output layer
// over a reduced vocabulary and a table of offsets back (d2t), and feeds itself on its own outputs
// behind the first drafted token. There is one head, and no layer at which it exits.
#pragma once

#include "reference/draft/hidden_toy.h"
#include "reference/draft/vocabulary_map.h"

namespace draftproof::reference::draft {

/// What the tapped layers say of a hidden state, fused: the older token, the sum of both modulo the
/// vocabulary, the newer one.
Context fused_taps(int vocab_size, const Hidden& hidden);
/// The head's own output behind one more token.
Context own_output(int vocab_size, const Context& fused, Token token);

/// The head's row over its own ids.
PointLaw reduced_head_row(const model::Toy& toy);
/// The same over target ids.
PointLaw reduced_head_law(const model::Toy& toy);

/// P-EAGLE (vLLM parallel_drafting, 2026-08): one pass over mask tokens; the row at an offset knows
/// the hidden state and nothing of what is drafted before it, so tokens are drawn independently and
/// each row is its own conditional.
PointLaw parallel_law(const HiddenToy& toy);

}  // namespace draftproof::reference::draft
