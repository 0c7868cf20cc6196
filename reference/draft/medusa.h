// Medusa heads: Cai et al., "Medusa: simple LLM inference acceleration framework with multiple
// decoding heads" (2024, arXiv:2401.10774); FasterDecoding/Medusa (2024-04). Head j reads the
// hidden state that the pending token was sampled from and guesses the token j places behind that
// one, knowing none of those between; a fixed sparse tree takes the heads' largest tokens.
// Everything is decided by the hidden state, so the honest report is one-hot: a ratio against head
// rows would be a ratio against a law that nothing was drawn from. Medusa-2 trains the backbone
// with the heads; its truth is then the trained model.
#pragma once

#include "reference/draft/hidden_toy.h"

namespace draftproof::reference::draft {

/// A head's row at the offset of the drafted token.
using HeadLaw = std::function<LawRow(const Hidden&, int offset)>;

/// Head rows: what the toy's draft model says of the token `offset` + 1 places behind the next one,
/// all between summed out.
HeadLaw head_rows(const HiddenToy& toy);

/// A path of ranks a node, parents first: {0, 1} is the second largest token of head 2 behind the
/// largest of head 1.
using Choices = std::vector<std::vector<int>>;
/// {0}, {1}, {0, 0}, {0, 1}, {1, 0}.
Choices sparse_choices();

/// Tokens by falling probability, lower ids first among equals.
std::vector<Token> ranked_tokens(const LawRow& row);

/// The tree of `choices`, one-hot; nodes whose rank the vocabulary does not have are left out.
DraftFunctions medusa_functions(const HeadLaw& head, const Choices& choices,
                                HiddenKept kept = kept_hidden);

/// Medusa-2's backbone: the target after training, three quarters itself and a quarter the draft.
model::ToyModelPtr trained_backbone(const HiddenToy& toy);

}  // namespace draftproof::reference::draft
