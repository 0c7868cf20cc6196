// Pieces of the list of methods that several files share.
#pragma once

#include <vector>

#include "reference/draft/method.h"

namespace draftproof::reference::draft {

/// Drafted tokens an iteration, of every method on the list that does not choose their number.
inline constexpr int kDraftCount = 2;

/// The toy's prompt; a lookup needs something to look at, so toys without one get one of 8 tokens.
/// Throws Error(kInput) for a vocabulary of one token.
Context prompt_of(const model::Toy& toy);
/// What all methods that read a hidden state have in common.
Method hidden_method();
/// Heads that guess tokens further ahead.
std::vector<Method> medusa_methods();
/// Multi-token prediction, and targets with recurrent state.
std::vector<Method> predicting_methods();
/// Control of draft length, and reasons not to draft.
std::vector<Method> length_methods();
std::vector<Method> gate_methods();

}  // namespace draftproof::reference::draft
