// Random requests that adjust their rows: every contract's order, orders that no engine has, and
// the edges of the arithmetic. Pure functions of the engine that they are given.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <random>
#include <vector>

#include "gpu/adjustment_packing.h"
#include "reference/adjustments.h"
#include "reference/contract.h"
#include "reference/proposal.h"

namespace draftproof::tests {

/// What requests of one batch ask for, under one rule.
struct AdjustedCase {
  reference::AdjustmentRule rule;
  std::vector<gpu::AdjustedRequest> requests;
};

class AdjustedCases {
 public:
  explicit AdjustedCases(std::uint64_t seed) : random_(seed) {}

  /// One contract's rule, or one of no engine.
  reference::AdjustmentRule rule() {
    using namespace reference;
    if (chance(0.6)) return pick(contracts()).adjustments;
    AdjustmentRule rule;
    rule.steps = {AdjustmentStep::kPenalties,  AdjustmentStep::kLogitBias,
                  AdjustmentStep::kAllowedIds, AdjustmentStep::kBadWords,
                  AdjustmentStep::kMinTokens,  AdjustmentStep::kGrammarMask};
    std::shuffle(rule.steps.begin(), rule.steps.end(), random_);
    const std::vector both{Counted::kOutput, Counted::kPromptAndOutput};
    const std::vector drafts{DraftCount::kPerRow, DraftCount::kFrozen};
    rule.penalties = {
        pick(std::vector{PenaltyOrder::kRepetitionFrequencyPresence,
                         PenaltyOrder::kRepetitionThenSum, PenaltyOrder::kSumThenRepetition}),
        pick(std::vector{RepetitionForm::kQuotient, RepetitionForm::kReciprocal}),
        pick(std::vector{FrequencyForm::kProduct, FrequencyForm::kSummed}),
        pick(both),
        pick(both),
        pick(drafts),
        pick(std::vector<std::int64_t>{-1, -1, 0, 1, 3, 8}),
        chance(0.6)};
    rule.bad_words_see = pick(both);
    rule.min_tokens_drafts = pick(drafts);
    return rule;
  }

  /// A request over ids below `vocab_size`, most of them small ones, so that they meet.
  gpu::AdjustedRequest request(std::size_t vocab_size, std::size_t row_count) {
    gpu::AdjustedRequest request;
    request.history.prompt = tokens(vocab_size, below(12));
    request.history.committed = tokens(vocab_size, below(12));
    request.appended_count = chance(0.5) ? 0 : below(5);
    if (chance(0.1)) return request;
    reference::Adjustments& adjustments = request.adjustments;
    if (chance(0.7)) adjustments.penalties = penalties();
    if (chance(0.5)) adjustments.logit_bias = biases(vocab_size);
    if (chance(0.2)) adjustments.allowed_ids = tokens(vocab_size, below(vocab_size + 1));
    if (chance(0.5)) {
      const std::size_t count = 1 + below(4);
      for (std::size_t i = 0; i < count; ++i)
        adjustments.bad_words.push_back(tokens(vocab_size, 1 + below(4)));
    }
    if (chance(0.4)) {
      adjustments.min_tokens = static_cast<std::int64_t>(below(16));
      adjustments.end_tokens = tokens(vocab_size, 1 + below(3));
    }
    if (chance(0.2)) adjustments.grammar_mask = mask(vocab_size);
    if (chance(0.2))
      for (std::size_t i = 0; i < row_count; ++i) request.row_masks.push_back(mask(vocab_size));
    return request;
  }

  std::size_t below(std::size_t bound) { return static_cast<std::size_t>(random_() % bound); }
  bool chance(double probability) {
    return static_cast<double>(random_() >> 11) * 0x1p-53 < probability;
  }
  template <class T>
  T pick(const std::vector<T>& list) {
    return list[below(list.size())];
  }

 private:
  std::vector<reference::Token> tokens(std::size_t vocab_size, std::size_t count) {
    std::vector<reference::Token> list(count);
    const std::size_t few = std::min<std::size_t>(vocab_size, chance(0.5) ? 6 : 2);
    for (auto& token : list)
      token = static_cast<reference::Token>(below(chance(0.7) ? few : vocab_size));
    return list;
  }

  reference::Penalties penalties() {
    const std::vector<double> shares{0,    0,     0.5,  -0.25, 0.1,   1.0 / 3,
                                     -0.7, 1e-40, 1e38, 3e38,  -3e38, 2.7};
    reference::Penalties result;
    result.repetition = pick(std::vector<double>{1, 1.3, 0.7, 2, 1e-38, 3e38, 1 + 1e-12});
    result.frequency = pick(shares);
    result.presence = pick(shares);
    if (chance(0.5)) result.last_n = pick(std::vector<std::int64_t>{-1, 0, 1, 2, 5, 9, 100});
    return result;
  }

  std::vector<reference::TokenBias> biases(std::size_t vocab_size) {
    std::vector<reference::TokenBias> list;
    const std::size_t count = 1 + below(4);
    for (std::size_t i = 0; i < count; ++i) {
      const reference::Token token = tokens(vocab_size, 1)[0];
      if (std::any_of(list.begin(), list.end(), [&](const auto& e) { return e.token == token; }))
        continue;
      list.push_back({token, pick(std::vector<double>{2.5, -1, 0, 1e30, 3e38, -3e38, 1e-45,
                                                      -std::numeric_limits<double>::infinity()})});
    }
    return list;
  }

  std::vector<bool> mask(std::size_t vocab_size) {
    std::vector<bool> bits(vocab_size);
    const double density = pick(std::vector<double>{0.02, 0.5, 0.95});
    for (std::size_t id = 0; id < vocab_size; ++id) bits[id] = chance(density);
    return bits;
  }

  std::mt19937_64 random_;
};

/// The logits of target row `row` of `request` as its adjustments leave them; the drafted tokens on
/// the way to it are `drafted`.
inline reference::Row adjusted_row(const reference::Row& logits,
                                   const gpu::AdjustedRequest& request,
                                   const std::vector<reference::Token>& drafted, std::size_t row,
                                   const reference::AdjustmentRule& rule) {
  reference::Adjustments adjustments = request.adjustments;
  if (!request.row_masks.empty()) adjustments.grammar_mask = request.row_masks[row];
  reference::History history = request.history;
  history.drafted = drafted;
  return reference::adjusted(logits, adjustments, history, rule);
}

}  // namespace draftproof::tests
