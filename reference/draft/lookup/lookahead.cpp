// Lookahead decoding.
#include "reference/draft/lookup/lookahead.h"

#include <algorithm>

#include "reference/error.h"

namespace draftproof::reference::draft {
namespace {

/// A guess that is known already counts as seen again.
void pool_guess(LookaheadState& state, Token key, const Guess& guess, int count_max) {
  std::vector<Guess>& guesses = state.pool[key];
  const auto known = std::find(guesses.begin(), guesses.end(), guess);
  if (known != guesses.end())
    guesses.erase(known);
  else if (static_cast<int>(guesses.size()) == count_max)
    guesses.erase(guesses.begin());
  guesses.push_back(guess);
}

/// The tokens of trajectory `column` up to and including level `top`.
Guess trajectory(const LookaheadState& state, std::size_t column, std::size_t top) {
  const auto level = state.levels.front().begin();
  Guess tokens(level, level + static_cast<std::ptrdiff_t>(column));
  for (std::size_t above = 1; above <= top; ++above) tokens.push_back(state.levels[above][column]);
  return tokens;
}

/// What the target says behind every trajectory up to level `top`.
std::vector<Token> argmaxes(const LookaheadState& state, const model::ToyModel& target,
                            const Context& base, std::size_t top, std::size_t window_size) {
  std::vector<Token> results;
  for (std::size_t column = 0; column < window_size; ++column) {
    Context context = base;
    for (const Token token : trajectory(state, column, top)) context.push_back(token);
    results.push_back(first_maximum(target.row(context)));
  }
  return results;
}

/// The last level_count tokens of `text` up to `end`, pooled; nothing where there are fewer.
void pool_text(LookaheadState& state, const Context& text, std::size_t end,
               const LookaheadOptions& options) {
  const auto count = static_cast<std::size_t>(options.level_count);
  if (end < count) return;
  const auto from = text.begin() + static_cast<std::ptrdiff_t>(end - count);
  pool_guess(state, *from, {from + 1, from + static_cast<std::ptrdiff_t>(count)},
             options.guess_count_max);
}

class LookaheadDrafter final : public Drafter {
 public:
  LookaheadDrafter(model::ToyModelPtr target, const LookaheadOptions& options)
      : target_(std::move(target)), options_(options) {}

  law::Memory initial(const Context& prompt) const override {
    return memory_of(initial_state(*target_, prompt, options_));
  }

  law::DraftTree draft(const law::StepBegin& begin, law::Memory& own, law::Memory&,
                       law::Chooser&) const override {
    const LookaheadState state = lookahead_state_of(own);
    law::DraftTree tree;
    const auto guesses = state.pool.find(begin.context.back());
    if (guesses == state.pool.end()) return tree;
    for (const Guess& guess : guesses->second) {
      int node = -1;
      for (int i = 0; i < begin.draft_count && i < static_cast<int>(guess.size()); ++i)
        node = add_child(tree, node, guess[static_cast<std::size_t>(i)], {});
    }
    return tree;
  }

  void commit(const law::StepEnd& end, law::Memory& own, law::Memory&) const override {
    own = memory_of(advanced(lookahead_state_of(own), *target_, end.before, end.after, options_));
  }

 private:
  model::ToyModelPtr target_;
  LookaheadOptions options_;
};

}  // namespace

LookaheadState initial_state(const model::ToyModel& target, const Context& prompt,
                             const LookaheadOptions& options) {
  DRAFTPROOF_CHECK(options.level_count >= 2 && options.window_size >= 1 &&
                       options.guess_count_max >= 1 && !prompt.empty(),
                   "sizes, and a prompt to begin with");
  LookaheadState state;
  const auto window_size = static_cast<std::size_t>(options.window_size);
  state.levels.emplace_back();
  for (std::size_t column = 0; column + 1 < window_size; ++column)
    state.levels.front().push_back(prompt[column % prompt.size()]);
  for (int level = 1; level < options.level_count - 1; ++level)
    state.levels.push_back(argmaxes(state, target, prompt, state.levels.size() - 1, window_size));
  if (options.pools_text)
    for (std::size_t end = 1; end <= prompt.size(); ++end) pool_text(state, prompt, end, options);
  return state;
}

LookaheadState advanced(const LookaheadState& state, const model::ToyModel& target,
                        const Context& before, const Context& after,
                        const LookaheadOptions& options) {
  LookaheadState next = state;
  const auto window_size = static_cast<std::size_t>(options.window_size);
  const std::size_t top = state.levels.size() - 1;
  const std::vector<Token> results = argmaxes(state, target, before, top, window_size);
  for (std::size_t column = 0; column < window_size; ++column) {
    const Token key = column == 0 ? before.back() : state.levels.front()[column - 1];
    Guess guess;
    for (std::size_t level = 1; level <= top; ++level) guess.push_back(state.levels[level][column]);
    guess.push_back(results[column]);
    pool_guess(next, key, guess, options.guess_count_max);
  }
  next.levels.erase(next.levels.begin());
  next.levels.push_back(results);
  next.levels.front().erase(next.levels.front().begin());
  if (options.pools_text)
    for (std::size_t end = before.size() + 1; end <= after.size(); ++end)
      pool_text(next, after, end, options);
  return next;
}

law::Memory memory_of(const LookaheadState& state) {
  law::Memory memory = {static_cast<std::int64_t>(state.levels.size())};
  const auto add = [&](const std::vector<Token>& tokens) {
    memory.push_back(static_cast<std::int64_t>(tokens.size()));
    memory.insert(memory.end(), tokens.begin(), tokens.end());
  };
  for (const auto& level : state.levels) add(level);
  for (const auto& [key, guesses] : state.pool) {
    memory.push_back(key);
    memory.push_back(static_cast<std::int64_t>(guesses.size()));
    for (const Guess& guess : guesses) add(guess);
  }
  return memory;
}

LookaheadState lookahead_state_of(const law::Memory& memory) {
  LookaheadState state;
  std::size_t at = 0;
  const auto tokens = [&] {
    const auto count = static_cast<std::size_t>(memory.at(at++));
    const auto from = memory.begin() + static_cast<std::ptrdiff_t>(at);
    at += count;
    return std::vector<Token>(from, from + static_cast<std::ptrdiff_t>(count));
  };
  for (std::int64_t count = memory.at(at++); count > 0; --count) state.levels.push_back(tokens());
  while (at < memory.size()) {
    std::vector<Guess>& guesses = state.pool[static_cast<Token>(memory.at(at++))];
    for (std::int64_t count = memory.at(at++); count > 0; --count) guesses.push_back(tokens());
  }
  return state;
}

std::shared_ptr<const Drafter> lookahead_drafter(model::ToyModelPtr target,
                                                 const LookaheadOptions& options) {
  return std::make_shared<LookaheadDrafter>(std::move(target), options);
}

}  // namespace draftproof::reference::draft
