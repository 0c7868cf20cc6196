// Grammars: deterministic automata over token ids, the least thing that structured output needs
// from one: which tokens a state allows, and where each of them leads. A grammar has no state of
// its own; the state is a function of the tokens behind the prompt, so that the twin of a
// speculative engine that "rolls its grammar back" is simply asked again. Faults of engines around
// this: rows behind a draft masked by the first row's state, or by a state advanced along the
// argmax (InternLM/lmdeploy#4559), matchers that are not rolled back, bonus rows without a mask
// (vllm-project/vllm#31858, #9423), nodes of a draft tree masked as if they were a chain
// (NVIDIA/TensorRT-LLM#18892).
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "reference/token.h"

namespace draftproof::reference::model {

class Grammar {
 public:
  using State = int;
  /// In a transition table: the token is not allowed.
  static constexpr State kRefused = -1;

  /// next[state][token] is a state or kRefused; `start` is the state before any token. Throws
  /// Error(kInput) when there is no state, a row has another size than the first, the rows are
  /// empty, or an entry or `start` is no state.
  explicit Grammar(std::vector<std::vector<State>> next, State start = 0);

  std::size_t vocab_size() const { return next_.front().size(); }
  State start() const { return start_; }

  /// Precondition for these: `state` is a state, `token` is in [0, vocab_size).
  bool allows(State state, Token token) const { return next(state, token) != kRefused; }
  /// The state behind `token`, or kRefused.
  State next(State state, Token token) const;
  /// One bit a token.
  std::vector<bool> allowed(State state) const;

  /// The state behind `tokens` from `state` (from the start); absent when one of them is refused.
  std::optional<State> behind(State state, std::span<const Token> tokens) const;
  std::optional<State> behind(std::span<const Token> tokens) const {
    return behind(start_, tokens);
  }
  /// The mask of a row at `state`, kRefused included. Behind a refused token everything is allowed:
  /// such a row is never reached, since the refused token has no probability at its own row, and
  /// engines leave it unmasked.
  std::vector<bool> mask_at(State state) const;
  /// The mask of the row behind `tokens`.
  std::vector<bool> mask_behind(std::span<const Token> tokens) const {
    return mask_at(behind(tokens).value_or(kRefused));
  }

 private:
  std::vector<std::vector<State>> next_;
  State start_;
};

}  // namespace draftproof::reference::model
