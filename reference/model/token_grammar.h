// Grammars of a vocabulary: a byte automaton read in whole tokens. A token is allowed where its
// whole text leads to a state from which the text can still be finished *with tokens of this
// vocabulary*: a text that only bytes could finish is a dead end, and a decoder that is masked into
// one either stops with a text outside the grammar or has no token left. The end of sequence is
// allowed exactly where the text is finished; behind it nothing but itself is, so that no mask is
// ever empty.
#pragma once

#include "reference/model/byte_automaton.h"
#include "reference/model/grammar.h"
#include "reference/model/spelling.h"

namespace draftproof::reference::model {

/// Entries of the table, states times tokens; more are refused.
inline constexpr std::size_t kTransitionsMax = std::size_t{1} << 23;

/// Special tokens other than `end_token` are allowed nowhere. The last state is the one behind
/// `end_token`. Throws Error(kInput) at "grammar" with a remedy when `end_token` is not special,
/// when no sequence of tokens spells a text that is accepted, and above kTransitionsMax.
Grammar token_grammar(const ByteAutomaton& automaton, const Spelling& spelling, Token end_token);

}  // namespace draftproof::reference::model
