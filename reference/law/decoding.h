// Decodings: draft, verify, emit, repeated, over toy models; and their exact laws. Nothing here is
// sampled: every branch of every coin is walked, states that the future cannot tell apart are
// merged, and in rationals "lossless" means that a distance is the number zero.
//
// Cost: one run of drafter and rule per branch of an iteration, times the states that an iteration
// can start in. With vocabulary V, draft length D and horizon L a chain has up to V^D (D + V)
// branches from each of up to V^L contexts; coins that recur and memory multiply the states.
#pragma once

#include <memory>
#include <optional>

#include "reference/draft/drafter.h"
#include "reference/law/coin_scheme.h"
#include "reference/law/output_law.h"
#include "reference/law/rule.h"
#include "reference/law/scorer.h"

namespace draftproof::reference::law {

/// When a request ends. What is emitted behind its end is discarded.
struct Limits {
  std::optional<Token> eos;               ///< ends the request, itself emitted
  std::vector<std::vector<Token>> stops;  ///< the request ends with the first that is complete
  std::optional<int> token_count_max;     ///< so many at most, 1 or more; drafts shrink to fit

  /// How many of `tokens` are emitted before the request ends, and whether it does.
  struct Cut {
    std::size_t count = 0;
    bool is_end = false;
  };
  Cut cut(const std::vector<Token>& tokens) const;
};

/// A draft and its rows, put together from those of a whole batch.
struct Gathered {
  DraftTree draft;
  std::vector<LawRow> target;
};

/// How an engine finds the rows of the request that is number `row` among the running ones; `batch`
/// is what each of them has.
using GatherFunction = std::function<Gathered(const std::vector<Verification>& batch, int row)>;

/// How an engine finds a request's end behind an iteration: `tokens` are all that were emitted, the
/// last `emitted_count` by this iteration.
using EndFunction = std::function<Limits::Cut(const std::vector<Token>& tokens, int emitted_count)>;

/// One request: who drafts, who scores, which rule decides, and what it should have been.
struct Decoding {
  model::ToyModelPtr target;  ///< the truth: the law that plain decoding of this model has
  std::shared_ptr<const Scorer> scorer;
  std::shared_ptr<const draft::Drafter> drafter;
  RuleFunction rule;
  int draft_count = 1;
  CoinScheme coins = coin_scheme("fresh");
  Context prompt = {};
  Limits limits = {};
  GatherFunction gather = {};  ///< empty: every request is verified on its own draft and rows
  EndFunction end = {};        ///< empty: limits.cut(), which is what is due
};

/// The case with its own target, drafted by its draft model.
Decoding decoding_of(const ModelCase& tiny, RuleFunction rule);

/// What a walk cost, and what it may cost.
struct WalkCost {
  std::uint64_t branches = 0;
  std::uint64_t states = 0;
  /// A walk that needs more throws Error(kInput) that says how far it came.
  std::uint64_t branches_max = 50'000'000;
  /// Asked now and then; true: too long has been walked, with the same error. Empty: never.
  std::function<bool()> is_too_long = {};
};

/// One iteration behind the prompt.
EmissionLaw emission_law(const Decoding& decoding, WalkCost* cost = nullptr);

/// The first `horizon` tokens behind the prompt, of iteration after iteration; shorter where the
/// request ended. Precondition: horizon >= 0.
SequenceLaw sequence_law(const Decoding& decoding, int horizon, WalkCost* cost = nullptr);

/// The same of plain decoding: the product of the target's rows along every sequence.
SequenceLaw target_law(const model::ToyModel& target, int horizon, const Context& prompt = {},
                       const Limits& limits = {});

/// Total variation between the two: what a decoding loses over `horizon` tokens.
Exact sequence_distance(const Decoding& decoding, int horizon, WalkCost* cost = nullptr);

/// What was emitted, and by iterations of which lengths.
struct History {
  std::vector<Token> tokens;
  std::vector<int> emitted_counts;  ///< one per iteration, before the cut at the request's end
  friend auto operator<=>(const History&, const History&) = default;
};
using HistoryLaw = std::map<History, Exact>;

/// The joint law of tokens and lengths after `iteration_count` iterations.
HistoryLaw history_law(const Decoding& decoding, int iteration_count, WalkCost* cost = nullptr);

/// Expected number of tokens that the k-th iteration emits, given that it takes place, k = 1 ..
/// iteration_count; absent when none does.
std::vector<std::optional<Exact>> expected_by_iteration(const Decoding& decoding,
                                                        int iteration_count,
                                                        WalkCost* cost = nullptr);

/// The same of every request of a batch: [request][iteration - 1].
std::vector<std::vector<std::optional<Exact>>> expected_of_batch(const std::vector<Decoding>& batch,
                                                                 int iteration_count,
                                                                 WalkCost* cost = nullptr);

/// The joint law of the first `horizon` tokens of several requests that share every iteration, in
/// this order, all with the coin scheme of the first. A request leaves the batch with its last
/// token, or with the one at the horizon.
using BatchLaw = std::map<std::vector<std::vector<Token>>, Exact>;
BatchLaw batch_law(const std::vector<Decoding>& batch, int horizon, WalkCost* cost = nullptr);
/// The product of their target laws: what a lossless batch has.
BatchLaw batch_target_law(const std::vector<Decoding>& batch, int horizon);
Exact total_variation(const BatchLaw& first, const BatchLaw& second);

}  // namespace draftproof::reference::law
