// Lookahead decoding: Fu et al., "Break the sequential dependency of LLM inference using lookahead
// decoding" (ICML 2024, arXiv:2402.02057); reference code of 2025-03 (lade/decoding.py, read at
// 0e9f02d4). A window of guessed trajectories is advanced by the target itself, one level an
// iteration, always by its argmax; the n-grams that the trajectories run through are pooled by
// their first token, and those that begin with the last emitted token are the draft. Deterministic,
// so one-hot; verified level by level (rule "lookahead"), row behind a guess = the row of its slot.
#pragma once

#include <map>
#include <memory>

#include "reference/draft/drafter.h"
#include "reference/model/toy_model.h"

namespace draftproof::reference::draft {

/// The reference's defaults. A guess has level_count - 1 tokens.
struct LookaheadOptions {
  int level_count = 8;       ///< tokens of an n-gram, the one that it is pooled under included
  int window_size = 60;      ///< trajectories
  int guess_count_max = 60;  ///< of one key; who was seen longest ago makes room
  bool pools_text = false;   ///< n-grams of prompt and output are pooled too
};

using Guess = std::vector<Token>;

struct LookaheadState {
  /// Level 0 has window_size - 1 tokens, each of the level_count - 2 levels above it window_size.
  /// Trajectory i: the last token, level 0 up to i - 1, then token i of every level above.
  std::vector<std::vector<Token>> levels;
  std::map<Token, std::vector<Guess>> pool;  ///< seen longest ago first

  friend bool operator==(const LookaheadState&, const LookaheadState&) = default;
};

/// Level 0 copies the prompt cyclically (the reference draws from it at random, which by theorem D
/// is as good), the levels above are filled by argmax; the reference does that over its first
/// level_count - 2 iterations, which draft nothing. Precondition: level_count >= 2,
/// window_size >= 1, guess_count_max >= 1; the prompt is not empty.
LookaheadState initial_state(const model::ToyModel& target, const Context& prompt,
                             const LookaheadOptions& options);

/// One iteration behind `before` that ended in `after`: the window moves on by one level and the
/// pool learns what it runs through.
LookaheadState advanced(const LookaheadState& state, const model::ToyModel& target,
                        const Context& before, const Context& after,
                        const LookaheadOptions& options);

law::Memory memory_of(const LookaheadState& state);
LookaheadState lookahead_state_of(const law::Memory& memory);

/// Drafts every guess of the last token as a chain of its own below the base context, in pool
/// order, cut to draft_count.
std::shared_ptr<const Drafter> lookahead_drafter(model::ToyModelPtr target,
                                                 const LookaheadOptions& options);

}  // namespace draftproof::reference::draft
