// Law sample: the answers of one arm as draws of a law, in the one order that laws are looked at:
// look by look, case by case, trial by trial. And how a law's verdict is told.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "properties/audits/check.h"

namespace draftproof::properties::audits {

/// An answer that came. Its tokens are draws of their laws, one after the other.
struct Answer {
  const AuditCase* audit_case = nullptr;
  const Transcript* transcript = nullptr;
  std::span<const reference::Token> tokens;
};

struct LawSample {
  std::vector<Answer> answers;
  std::vector<std::size_t> looks;            ///< how many answers are there at each look; grows
  std::uint64_t failed = 0;                  ///< requests without an answer
  std::optional<std::uint64_t> judged = {};  ///< of the answers; absent: all of them
  /// Why no law can be told from these answers; empty: it can.
  std::string obstacle;

  std::uint64_t token_count() const;
};

/// Answers end before max_tokens at a token that stops them; where that token is not among those
/// that came, what came is no sample of the law (all answers that are not long yet have escaped the
/// end), which is then the obstacle.
LawSample law_sample(const CheckContext& context, Arm arm, std::optional<Seeding> seeding = {});

/// "0.45"; from a thousand on "10^9.3".
std::string e_value_words(double log_e_value);
/// "... e-value 10^9.3;\na lossless engine ever comes to x with probability 1/x at most".
std::string against_words(double log_e_value);

/// A check that would have seen nothing finer upholds nothing. Of a known law, up to half of the
/// mass the departure that is hardest to see leaves every token some of its share (oracle/power.h);
/// beyond it whole tokens have to be gone, and what sees only that sees no fault but ruin. Two
/// samples are held to the same.
inline constexpr double kCoarsestOfAnswers = 0.5;
/// Places take all tokens together, of which drafts need not have touched more than every second
/// one: what is off by a half where they have is off by a quarter there.
inline constexpr double kCoarsestOfPlaces = 0.25;

/// Whether the speculative arm goes so much farther from the known law than the baseline does that
/// the law is not to blame. One that is not the engine's lets the evidence of both grow alike, and
/// either may reach the alarm first: the baseline's counts twice. A token of probability zero is a
/// proof as long as the baseline is nearer to its law than to the alarm.
bool is_beyond_baseline(double log_e_value, double baseline_log_e_value, double log_alarm);

/// Takes a conviction back that is not: inconclusive, says by what of the baseline: "e-value 10^4".
void blame_the_law(const std::string& ground, oracle::Verdict& verdict);

/// What a law check would have seen.
struct Sight {
  double total_variation = 1;  ///< the least, spread in the way that is hardest to see
  std::string of;              ///< "of tokens 2 and 3", "at token 2"
  double coarsest = kCoarsestOfAnswers;
};

/// Upheld with the size of what would have been seen, where that is at most `coarsest` or what the
/// run asks for (effect_tv); else inconclusive, with the reason.
void uphold_what_is_seen(const CheckContext& context, const Sight& sight, oracle::Verdict& verdict);

/// Evidence, alarm and kind of a law check from the largest e-value at any look: violated, else
/// what `sight` allows. Witness, label and effect are the caller's.
void conclude(const CheckContext& context, const LawSample& sample, double log_e_value,
              const Sight& sight, const std::string& of, oracle::Verdict& verdict);

/// For a sample that has an obstacle or nothing in it: says so in `verdict`, true.
bool is_nothing(const LawSample& sample, oracle::Verdict& verdict);

}  // namespace draftproof::properties::audits
