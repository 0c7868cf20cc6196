// Histories: the tokens before one row, in the three parts that engines treat differently. The
// prompt counts for some penalties only; the drafted tokens before a row of a verification are
// part of its history although nothing has committed them yet (an engine that forgets them shapes
// another law: TGI up to 2.x, SGLang's "relaxed" penalties; vllm-project/vllm#33251 counts one of
// them twice).
#pragma once

#include <span>
#include <vector>

#include "reference/token.h"

namespace draftproof::reference {

/// Everything before one row, oldest first: prompt, then committed, then drafted. Ids are in
/// [0, vocab_size) of the row; whoever uses a history checks that.
struct History {
  std::vector<Token> prompt;
  std::vector<Token> committed;  ///< emitted before this iteration
  std::vector<Token> drafted;    ///< of this iteration, before the row

  friend bool operator==(const History&, const History&) = default;
};

/// `history` with `tokens` drafted behind it.
inline History behind(History history, std::span<const Token> tokens) {
  history.drafted.insert(history.drafted.end(), tokens.begin(), tokens.end());
  return history;
}

/// `history` with its drafted tokens committed: what a serial decoder that emitted them would have.
inline History committed(History history) {
  history.committed.insert(history.committed.end(), history.drafted.begin(), history.drafted.end());
  history.drafted.clear();
  return history;
}

/// Committed and drafted tokens: everything behind the prompt.
inline std::vector<Token> output_of(const History& history) { return committed(history).committed; }

}  // namespace draftproof::reference
