// One iteration of a batch: every request drafts, every draft is scored, every request is decided,
// and then all drafters and scorers learn what was kept. Drafts come before decisions, as in an
// engine that verifies a batch in one forward pass, so that no draft sees a decision of its own
// iteration, and rows may be gathered from the whole batch.
#pragma once

#include <functional>
#include <map>
#include <tuple>
#include <vector>

#include "reference/law/decoding.h"

namespace draftproof::reference::law {

/// One request in the middle of its decoding.
struct Progress {
  std::vector<Token> tokens;        ///< emitted behind the prompt, cut at the request's end
  std::vector<int> emitted_counts;  ///< kept only where histories are asked for
  bool is_over = false;             ///< a running request takes part in iterations
  Memory drafter;
  Memory scorer;

  auto key() const { return std::tie(tokens, emitted_counts, is_over, drafter, scorer); }
  friend bool operator<(const Progress& a, const Progress& b) { return a.key() < b.key(); }
};

/// Everything that a later iteration can depend on.
struct State {
  std::vector<Progress> requests;
  Memory shared;
  RevealedCoins coins;  ///< those that may be asked about again

  auto key() const { return std::tie(requests, shared, coins); }
  friend bool operator<(const State& a, const State& b) { return a.key() < b.key(); }
};

using States = std::map<State, Exact>;

/// Before the first iteration.
State initial_state(const std::vector<Decoding>& batch);

/// `prompt`, then `tokens`.
Context behind(const Context& prompt, const std::vector<Token>& tokens);

/// One branch of an iteration.
struct IterationBranch {
  Exact probability;
  /// Per request of the batch, as the rule decided, before any cut; empty for one that is over.
  const std::vector<Emission>& emissions;
  /// What follows: memories committed, tokens appended whole, coins that may be asked about again.
  State next;
};

/// Walks every branch of one iteration of all requests of `state` that are not over. The
/// probabilities sum to exactly 1. Counts branches in `cost` and throws Error(kInput) when there
/// are more than it allows, naming sizes that fit when `horizon` tokens are what is walked for.
void for_each_iteration(const std::vector<Decoding>& batch, const State& state, int horizon,
                        WalkCost& cost, const std::function<void(IterationBranch)>& finished);

/// What all requests of a batch emit in its first iteration, jointly.
using BatchEmissionLaw = std::map<std::vector<Emission>, Exact>;
BatchEmissionLaw batch_emission_law(const std::vector<Decoding>& batch);

}  // namespace draftproof::reference::law
