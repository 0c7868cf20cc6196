// Targets in two stages, for drafts that are the target's own shallow layers. Every token has a
// shallow cell s_t, a function of it and the one before; the target's rows depend on the cells of
// all tokens. LayerSkip (Elhoushi et al., ACL 2024, arXiv:2404.16710; transformers
// assistant_early_exit) runs those layers as they are, so the cells that the draft wrote are the
// ones that verification needs, and may be kept. Drafts that skip layers (Zhang et al., Draft &
// Verify, ACL 2024, arXiv:2309.08168; Xia et al., SWIFT, ICLR 2025, arXiv:2410.06916) write other
// cells: kept, they change the target's rows. It is the one fault of a drafter's state that a law
// shows.
#pragma once

#include "reference/draft/hidden_toy.h"

namespace draftproof::reference::draft {

/// The cell of `token` behind `previous`; both in [0, vocab_size).
using CellOf = Token (*)(int vocab_size, Token previous, Token token);
/// Both tokens, mixed: their sum modulo the vocabulary.
Token shallow_cell(int vocab_size, Token previous, Token token);
/// With the mixing layer left out: the token.
Token skipped_cell(int vocab_size, Token previous, Token token);

/// Cells of all tokens of `context`; before the first stands token 0.
Context cells_of(int vocab_size, const Context& context, CellOf cell);

/// row(c): the toy target's row behind the cells of c.
model::ToyModelPtr layered_target(const model::Toy& toy);

/// The target on cells that it keeps: those of the prompt are its own, those of pending and drafted
/// tokens are the ones that the draft wrote by `written`.
ScorerFunctions cell_scorer(const model::Toy& toy, CellOf written);

/// The early exit's row: the toy's draft behind the last two shallow cells.
PointLaw early_exit_law(const model::Toy& toy);
/// Kangaroo's adapter on the last cell (Liu et al., NeurIPS 2024, arXiv:2404.18911).
PointLaw adapter_law(const model::Toy& toy);
/// With layers skipped: the toy's draft behind the last two cells of a mask; mask 0 leaves the
/// mixing layer out everywhere, mask 1 in front of every second token.
PointLaw skipping_law(const model::Toy& toy, std::function<int(const Context&)> mask_of);

/// True when the largest probability of the row that is about to be drawn from is below
/// `threshold`.
std::function<bool(const ChainPoint&)> stops_unsure(PointLaw law, Exact threshold);
/// True when the token drawn last, which stays in the draft, had less than `threshold`.
std::function<bool(const ChainPoint&)> stops_behind_unlikely(PointLaw law, Exact threshold);

}  // namespace draftproof::reference::draft
