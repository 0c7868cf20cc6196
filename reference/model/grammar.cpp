// Grammars as transition tables; what engines do wrong with their state is told in grammar.h.
#include "reference/model/grammar.h"

#include <string>

#include "reference/error.h"

namespace draftproof::reference::model {
namespace {

[[noreturn]] void refuse(const std::string& message) {
  throw Error(ErrorKind::kInput, message, "grammar");
}

}  // namespace

Grammar::Grammar(std::vector<std::vector<State>> next, State start)
    : next_(std::move(next)), start_(start) {
  const auto is_state = [&](State state) {
    return state >= 0 && static_cast<std::size_t>(state) < next_.size();
  };
  if (next_.empty()) refuse("no state; give one row of transitions a state");
  if (vocab_size() == 0) refuse("no token; give one transition a token");
  if (!is_state(start_)) refuse("starts in state " + std::to_string(start_) + ", which has no row");
  for (std::size_t state = 0; state < next_.size(); ++state) {
    const std::string where = "state " + std::to_string(state);
    if (next_[state].size() != vocab_size())
      refuse(where + " has " + std::to_string(next_[state].size()) + " transitions, state 0 has " +
             std::to_string(vocab_size()) + "; give every state one a token");
    for (const State to : next_[state])
      if (to != kRefused && !is_state(to))
        refuse(where + " leads to " + std::to_string(to) +
               ", which has no row; -1 refuses a token");
  }
}

Grammar::State Grammar::next(State state, Token token) const {
  DRAFTPROOF_CHECK(state >= 0 && static_cast<std::size_t>(state) < next_.size(),
                   std::to_string(state));
  DRAFTPROOF_CHECK(token >= 0 && static_cast<std::size_t>(token) < vocab_size(),
                   std::to_string(token));
  return next_[static_cast<std::size_t>(state)][static_cast<std::size_t>(token)];
}

std::vector<bool> Grammar::allowed(State state) const {
  std::vector<bool> mask;
  for (std::size_t token = 0; token < vocab_size(); ++token)
    mask.push_back(allows(state, static_cast<Token>(token)));
  return mask;
}

std::optional<Grammar::State> Grammar::behind(State state, std::span<const Token> tokens) const {
  for (const Token token : tokens) {
    state = next(state, token);
    if (state == kRefused) return std::nullopt;
  }
  return state;
}

std::vector<bool> Grammar::mask_at(State state) const {
  return state == kRefused ? std::vector<bool>(vocab_size(), true) : allowed(state);
}

}  // namespace draftproof::reference::model
