// Penalties: repetition (Keskar et al., "CTRL", 2019, section 4.1, with the sign corrected as every
// engine does), frequency and presence (the OpenAI API's definitions), in fp32, bit for bit. They
// are here because engines agree on the three names and on nothing else: which tokens are counted,
// in which order the three are applied, and how often a result is rounded.
//
// Arithmetic. Every parameter is rounded once to fp32; every operation below is one IEEE fp32
// operation, rounded to nearest even, never contracted, subnormals kept. With c the count of a
// token and r, f, p the rounded parameters, for tokens that are counted (c > 0) only:
//   repetition  kQuotient    z > 0 ? z / r : z * r
//               kReciprocal  z * (z > 0 ? 1 / r : r)         two roundings for z > 0
//   F           kProduct     c * f                           c rounded to fp32 (exact below 2^24)
//               kSummed      f + f + ... (c terms, from 0, left to right)
//   order       kRepetitionFrequencyPresence   z <- repetition(z); z <- z - F; z <- z - p
//               kRepetitionThenSum             z <- repetition(z); z <- z - (F + p)
//               kSumThenRepetition             z <- z - (F + p); z <- repetition(z)
// Repetition and the other two may count different tokens. A parameter that is off (r = 1, f = 0,
// p = 0) takes part in no operation, so that a row without penalties keeps its bits.
// Consequences, tested: -inf stays -inf whatever finite penalty falls on it; -0 keeps its sign
// under repetition; z * r may overflow to -inf (a ban), z / r to +inf (a status of the row);
// subnormal results are kept; a NaN stays one.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "reference/history.h"

namespace draftproof::reference {

/// What one request asks for. Off: repetition 1, frequency 0, presence 0.
struct Penalties {
  double repetition = 1.0;
  double frequency = 0.0;
  double presence = 0.0;
  /// How many of the last tokens count, where the engine knows a window: 0 none, negative all;
  /// absent: the engine's default.
  std::optional<std::int64_t> last_n = {};

  friend bool operator==(const Penalties&, const Penalties&) = default;
};

enum class Counted : std::uint8_t { kOutput, kPromptAndOutput };
enum class RepetitionForm : std::uint8_t { kQuotient, kReciprocal };
enum class FrequencyForm : std::uint8_t { kProduct, kSummed };
enum class PenaltyOrder : std::uint8_t {
  kRepetitionFrequencyPresence,
  kRepetitionThenSum,
  kSumThenRepetition
};
/// kPerRow: a row counts the drafted tokens before it. kFrozen: every row of a verification counts
/// what was committed before it, and nothing of the draft.
enum class DraftCount : std::uint8_t { kPerRow, kFrozen };

/// How one engine computes its penalties.
struct PenaltyRule {
  PenaltyOrder order = PenaltyOrder::kRepetitionFrequencyPresence;
  RepetitionForm repetition = RepetitionForm::kQuotient;
  FrequencyForm frequency = FrequencyForm::kProduct;
  Counted repetition_counts = Counted::kPromptAndOutput;
  Counted frequency_counts = Counted::kOutput;  ///< frequency and presence
  DraftCount drafts = DraftCount::kPerRow;
  std::int64_t last_n = -1;  ///< window where the request names none; negative: everything
  bool has_window = false;   ///< whether a request may name one

  friend bool operator==(const PenaltyRule&, const PenaltyRule&) = default;
};

/// Throws Error(kInput) naming the parameter: repetition is NaN, not above 0 or not finite in fp32
/// (or rounds to 0 there), frequency or presence is NaN or not finite in fp32.
void validate(const Penalties& penalties);

/// True when no logit can change, whatever the history.
bool is_off(const Penalties& penalties);

/// How often each token counts for a penalty over `counted`, under `rule` and the request's window.
/// Precondition: all ids of `history` are in [0, vocab_size).
std::vector<std::int64_t> counts_of(std::size_t vocab_size, const History& history, Counted counted,
                                    const Penalties& penalties, const PenaltyRule& rule);

/// The row with its penalties, by the arithmetic above. Preconditions: `penalties` is valid, ids of
/// `history` are in range.
std::vector<float> penalised(std::vector<float> logits, const Penalties& penalties,
                             const History& history, const PenaltyRule& rule);

/// "repetition, then frequency, then presence", ... for lists.
std::string to_string(PenaltyOrder order);
/// One line on everything in which `rule` may differ from another one.
std::string to_string(const PenaltyRule& rule);

}  // namespace draftproof::reference
