// Grammars of a vocabulary: what tokens reach from the start, less what they cannot finish.
#include "reference/model/token_grammar.h"

#include <algorithm>
#include <string>
#include <vector>

#include "reference/error.h"

namespace draftproof::reference::model {
namespace {

[[noreturn]] void refuse_tokens(const std::string& message) {
  throw Error(ErrorKind::kInput, message, "grammar");
}

using State = Grammar::State;

/// States that tokens reach, numbered as they are met, with those of the automaton behind them.
struct Reached {
  std::vector<ByteAutomaton::State> states;
  std::vector<std::vector<State>> next;
};

Reached reached(const ByteAutomaton& automaton, const Spelling& spelling) {
  const std::size_t vocab_size = spelling.vocab_size();
  Reached result{.states = {0}, .next = {}};
  std::vector<State> number(automaton.state_count(), Grammar::kRefused);
  number[0] = 0;
  for (std::size_t state = 0; state < result.states.size(); ++state) {
    if ((result.states.size() + 1) > kTransitionsMax / vocab_size)
      refuse_tokens("more than " + std::to_string(kTransitionsMax / vocab_size) +
                    " states over a vocabulary of " + std::to_string(vocab_size) +
                    "; use a smaller grammar or vocabulary");
    std::vector<State>& row = result.next.emplace_back(vocab_size, Grammar::kRefused);
    for (std::size_t i = 0; i < vocab_size; ++i) {
      const auto token = static_cast<Token>(i);
      if (spelling.is_special(token)) continue;
      const auto behind = automaton.behind(result.states[state], spelling.text(token));
      if (behind == ByteAutomaton::kDead) continue;
      State& known = number[static_cast<std::size_t>(behind)];
      if (known == Grammar::kRefused) {
        known = static_cast<State>(result.states.size());
        result.states.push_back(behind);
      }
      row[i] = known;
    }
  }
  return result;
}

/// One bit a state: tokens lead from it to an accepting one.
std::vector<bool> finishable(const ByteAutomaton& automaton, const Reached& from_start) {
  const std::size_t state_count = from_start.states.size();
  std::vector<std::vector<std::size_t>> before(state_count);
  for (std::size_t state = 0; state < state_count; ++state)
    for (const State to : from_start.next[state])
      if (to != Grammar::kRefused) {
        auto& sources = before[static_cast<std::size_t>(to)];
        if (sources.empty() || sources.back() != state) sources.push_back(state);
      }
  std::vector<bool> is_finishable(state_count, false);
  std::vector<std::size_t> open;
  for (std::size_t state = 0; state < state_count; ++state)
    if (automaton.accepts(from_start.states[state])) open.push_back(state);
  while (!open.empty()) {
    const std::size_t state = open.back();
    open.pop_back();
    if (is_finishable[state]) continue;
    is_finishable[state] = true;
    open.insert(open.end(), before[state].begin(), before[state].end());
  }
  return is_finishable;
}

}  // namespace

Grammar token_grammar(const ByteAutomaton& automaton, const Spelling& spelling, Token end_token) {
  const std::string end_name = "the end token " + std::to_string(end_token);
  if (end_token < 0 || static_cast<std::size_t>(end_token) >= spelling.vocab_size())
    refuse_tokens(end_name + " is outside the vocabulary of " +
                  std::to_string(spelling.vocab_size()) + "; ids begin at 0");
  if (!spelling.is_special(end_token))
    refuse_tokens(end_name + " is no special one: its text is '" + spelling.text(end_token) +
                  "'; take a token without a text");
  Reached from_start = reached(automaton, spelling);
  const std::vector<bool> is_finishable = finishable(automaton, from_start);
  if (!is_finishable[0])
    refuse_tokens(
        "no sequence of tokens spells a text of the grammar; spell its characters by tokens of "
        "their own, or take another grammar");

  std::vector<State> number;
  State kept_count = 0;
  for (const bool is_kept : is_finishable)
    number.push_back(is_kept ? kept_count++ : Grammar::kRefused);
  std::vector<std::vector<State>> next;
  for (std::size_t state = 0; state < is_finishable.size(); ++state) {
    if (!is_finishable[state]) continue;
    std::vector<State>& row = next.emplace_back(std::move(from_start.next[state]));
    for (State& to : row)
      if (to != Grammar::kRefused) to = number[static_cast<std::size_t>(to)];
    if (automaton.accepts(from_start.states[state]))
      row[static_cast<std::size_t>(end_token)] = kept_count;
  }
  next.emplace_back(spelling.vocab_size(), Grammar::kRefused)[static_cast<std::size_t>(end_token)] =
      kept_count;
  return Grammar(std::move(next));
}

}  // namespace draftproof::reference::model
