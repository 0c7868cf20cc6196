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
  std::vector<std::size_t> looks;  ///< how many answers are there at each look; grows
  std::uint64_t failed = 0;        ///< requests without an answer
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

/// Evidence, alarm and kind of a law check from the largest e-value at any look: violated, else
/// upheld where `visible` (a total variation, of `visible_of`) is below 1, else inconclusive.
/// Witness, label and effect are the caller's.
void conclude(const CheckContext& context, const LawSample& sample, double log_e_value,
              double visible, const std::string& visible_of, const std::string& of,
              oracle::Verdict& verdict);

/// For a sample that has an obstacle or nothing in it: says so in `verdict`, true.
bool is_nothing(const LawSample& sample, oracle::Verdict& verdict);

}  // namespace draftproof::properties::audits
