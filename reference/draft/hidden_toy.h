// Toys with a hidden state (T7): a target whose rows depend on a state h(c) that drafters may read
// besides the tokens. Here h(c) is the last two tokens, which is the least that tells an index by
// one too few, a rejected branch and a state that was only predicted apart from the right one.
#pragma once

#include "reference/draft/functions.h"
#include "reference/model/toys.h"

namespace draftproof::reference::draft {

/// A hidden state; fewer than two tokens at the beginning.
using Hidden = Context;
Hidden hidden_of(const Context& context);

/// Derived from a toy: its models read through hidden states.
struct HiddenToy {
  model::ToyModelPtr target;  ///< row(c): the toy target's row behind h(c)
  model::ToyModelPtr draft;   ///< likewise; what heads are made of
  Context prompt;             ///< the toy's; token 0 where that is empty
};
HiddenToy hidden_toy(const model::Toy& toy);

/// The toy's prompt, or token 0 where it is empty: between iterations the last token is pending,
/// emitted but not fed yet, and drafters read the state before it.
Context pending_prompt(const model::Toy& toy);

/// All but the pending token. Precondition: not empty.
Context fed(const Context& context);

/// A drafter that is told the target's hidden state behind what was fed: its memory is that state.
/// `draft` reads it; `kept` answers which state is handed over behind an iteration.
using HiddenKept = std::function<Hidden(const law::StepEnd&, const Hidden& before)>;
/// The state behind the deepest accepted node.
Hidden kept_hidden(const law::StepEnd& end, const Hidden& before);

/// As chain_functions(), with this memory.
DraftFunctions hidden_chain(ChainLaws laws, HiddenKept kept = kept_hidden);
/// `functions` with this memory.
DraftFunctions with_hidden(DraftFunctions functions, HiddenKept kept = kept_hidden);

/// The state in a memory.
Hidden hidden_in(const law::Memory& memory);
law::Memory memory_of(const Hidden& hidden);

}  // namespace draftproof::reference::draft
