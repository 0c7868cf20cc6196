// Drafters that see the whole block at once. DFlash (Chen et al. 2026, arXiv:2602.06036;
// z-lab/dflash, 2026-04): mask positions are denoised in one pass over the target's features, so
// the row at an offset knows what was fed and nothing of the block: a product, whose rows are their
// own conditionals. DSpark (deepseek-ai/DeepSpec, 2026-06) corrects that row by a bias from the
// token drawn before it, which makes a left-to-right law of it: the corrected row is what has to be
// reported. Domino (TensorRT-LLM domino.py @10ea199) carries a small recurrent state along the
// draft and takes argmax. PARD (An et al. 2025, arXiv:2504.18583) is one pass of a draft model that
// reads tokens only.
#pragma once

#include "reference/draft/hidden_toy.h"

namespace draftproof::reference::draft {

/// DFlash: the toy's draft behind the hidden state, the pending token and `offset` + 1 masks (0).
PointLaw base_law(const model::Toy& toy);
/// PARD: the toy's draft behind all tokens and `offset` + 1 masks.
PointLaw parallel_model_law(const model::Toy& toy);

/// DSpark: base(x) (1 + bias(x | token before)), over its sum; the bias is the toy's draft behind
/// that token alone.
PointLaw markov_law(const model::Toy& toy);
/// The same cut to its `count` largest tokens (vLLM dspark_draft_topk, 2026-08), over its sum.
PointLaw largest_only(PointLaw law, int count);
/// Domino: base(x) (1 + bias(x | state)), the state of T6 fed with what was drafted.
PointLaw causal_law(const model::Toy& toy);

/// DSpark's confidence at an offset: the largest probability of the toy's draft behind the hidden
/// state and the token before. It never sees the token at the offset.
Exact confidence(const model::Toy& toy, const ChainPoint& point);
/// True where the confidence is below `threshold`.
std::function<bool(const ChainPoint&)> stops_unconfident(const model::Toy& toy, Exact threshold);

}  // namespace draftproof::reference::draft
