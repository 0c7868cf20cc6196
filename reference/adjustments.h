// Adjustments: what a request does to a row of logits before it is shaped, beyond what `Sampling`
// says: penalties, logit bias, allowed ids, bad words, minimum length, grammar mask. A noun of its
// own beside `Sampling`, because kernels and batches carry `Sampling` only: a kernel is handed rows
// that are adjusted already (each step is elementwise in fp32), and cannot ignore what it never
// sees.
//
// A step that bans a token writes -inf, whatever stood there (a NaN or +inf of a banned token is no
// status: the mask comes before line 1 of shaping.h). The steps commute but for penalties and bias
// with each other; which goes first is the engine's (`contract.h`).
//   allowed ids    every other id is banned
//   bad words      the last token of a word is banned when the history ends with the others; a word
//                  of one token always is. Which part of the history is looked at is the engine's
//   min tokens     end tokens are banned while fewer than min_tokens stand behind the prompt;
//                  whether drafted ones before the row count is the engine's
//   logit bias     z <- z + fp32(bias), one rounding; a bias of -inf bans
//   grammar mask   what the grammar's state behind the history does not allow is banned
//   penalties      penalties.h
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "reference/history.h"
#include "reference/penalties.h"

namespace draftproof::reference {

struct TokenBias {
  Token token = 0;
  double bias = 0;

  friend bool operator==(const TokenBias&, const TokenBias&) = default;
};

/// Everything off when default.
struct Adjustments {
  Penalties penalties = {};
  std::vector<TokenBias> logit_bias = {};
  std::optional<std::vector<Token>> allowed_ids = {};
  std::vector<std::vector<Token>> bad_words = {};
  std::int64_t min_tokens = 0;
  std::vector<Token> end_tokens = {};  ///< what min_tokens bans
  /// One bit a token, of this row: whoever walks rows asks the grammar behind each history.
  std::optional<std::vector<bool>> grammar_mask = {};

  friend bool operator==(const Adjustments&, const Adjustments&) = default;
};

enum class AdjustmentStep : std::uint8_t {
  kPenalties,
  kLogitBias,
  kAllowedIds,
  kBadWords,
  kMinTokens,
  kGrammarMask
};

/// How an engine carries the steps out.
struct AdjustmentRule {
  std::vector<AdjustmentStep> steps;  ///< in this order; a step that is not listed is not applied
  PenaltyRule penalties;
  Counted bad_words_see = Counted::kOutput;
  DraftCount min_tokens_drafts = DraftCount::kPerRow;  ///< kFrozen: drafted tokens do not count

  friend bool operator==(const AdjustmentRule&, const AdjustmentRule&) = default;
};

/// Throws Error(kInput) naming the parameter: penalties as validate(Penalties); a bias that is NaN,
/// +inf or not finite in fp32 (-inf is a ban), two biases of one token; an id outside
/// [0, vocab_size); an empty bad word; min_tokens > 0 without end tokens, or negative; a mask of
/// another size.
void validate(const Adjustments& adjustments, std::size_t vocab_size);

/// Throws Error(kInput) when an id of `history` is outside [0, vocab_size).
void validate(const History& history, std::size_t vocab_size);

/// The tokens that `step` bans behind `history`: one bit a token, true is banned. All false for
/// kPenalties and kLogitBias.
std::vector<bool> banned_by(AdjustmentStep step, const Adjustments& adjustments,
                            const History& history, const AdjustmentRule& rule,
                            std::size_t vocab_size);

/// `logits` behind one step, or behind all steps of `rule` in their order. Preconditions: both
/// validate() calls pass.
std::vector<float> adjusted(std::vector<float> logits, AdjustmentStep step,
                            const Adjustments& adjustments, const History& history,
                            const AdjustmentRule& rule);
std::vector<float> adjusted(std::vector<float> logits, const Adjustments& adjustments,
                            const History& history, const AdjustmentRule& rule);

/// "penalties", "logit bias", "allowed ids", ...
std::string_view to_string(AdjustmentStep step);

}  // namespace draftproof::reference
