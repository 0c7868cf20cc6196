// Law rows: the law of one next token as exact rationals indexed by token id, and the tokens that
// it stands behind.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "reference/scalar.h"
#include "reference/token.h"

namespace draftproof::reference {

/// Probabilities, one per token id; they sum to 1 unless a contract says otherwise.
using LawRow = std::vector<Exact>;

/// Tokens from the first on: a prompt, what was emitted, and drafted tokens on a path.
using Context = std::vector<Token>;

/// The first token of the largest probability. Precondition: not empty.
Token first_maximum(const LawRow& row);

/// All probability on `token`.
LawRow one_hot_row(int vocab_size, Token token);

/// The number of a context among those of its length: its base-vocab_size digits, first token most
/// significant. Precondition: tokens are in [0, vocab_size).
std::size_t context_index(int vocab_size, std::span<const Token> context);

}  // namespace draftproof::reference
