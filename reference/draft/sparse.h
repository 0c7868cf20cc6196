// Sparse attention on either side. As a draft it is the target itself on a part of its context
// (MagicDec, Sadhukhan et al., ICLR 2025, arXiv:2408.11049; TriForce, Sun et al., COLM 2024,
// arXiv:2404.11912), verified on the whole of it: lossless against the dense target. As a target it
// asks which table the truth is: the dense one, the sparse one as served without speculation, where
// every query selects for itself, or the one where the D + 1 queries of a verification share the
// first one's selection (SpecSA, 2026, arXiv:2605.19893, offers such classes). Only the second is
// lossless against the engine with speculation off.
#pragma once

#include "reference/draft/hidden_toy.h"

namespace draftproof::reference::draft {

/// Which tokens of a context are seen.
using Seen = std::vector<bool>;
/// The context with token 0 in place of what is not seen.
Context masked(const Context& context, const Seen& seen);
/// A sink and a window: the first token and the last one.
Seen streaming(const Context& context);
/// A query's own selection: the last token, and every one equal to it.
Seen selected(const Context& context);

/// The target's rows on what the streaming window leaves of the context.
PointLaw streaming_law(const model::ToyModelPtr& target);
/// Sparse as served: every row on its own selection.
model::ToyModelPtr sparse_target(const model::Toy& toy);
/// All rows of a verification on the selection of the first, drafted tokens all seen.
std::shared_ptr<const law::Scorer> shared_selection_scorer(const model::Toy& toy);

}  // namespace draftproof::reference::draft
