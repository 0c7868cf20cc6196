// Conditional law: the answers of one arm against the law that each token must have given those
// before it (oracle/conditional.h), at doubling looks. What next_token_law says of the arm that
// drafts and baseline_law of the one that does not.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "oracle/conditional.h"
#include "oracle/verdict.h"
#include "properties/audits/law_sample.h"

namespace draftproof::properties::audits {

/// One token of an answer that its law cannot give.
struct ImpossibleToken {
  Answer answer;
  std::size_t position = 0;
};

struct ConditionalFinding {
  oracle::ConditionalEvidence evidence;
  double log_e_value = 0;  ///< the largest at any look
  std::size_t look_count = 0;
  /// Tokens behind which a filter cuts closer than the slack of the engine's arithmetic: left out.
  std::uint64_t near_ties = 0;
  std::optional<ImpossibleToken> impossible;  ///< the first
};

/// Precondition: context.settings.target is known.
ConditionalFinding conditional_finding(const CheckContext& context, const LawSample& sample);

/// How rarely places of the law itself lie as unevenly as these: Pearson's chi-squared test of each
/// of three orders, Bonferroni, less what the tolerance may do. It is sharper than e-values, which
/// pay for every bet, and of one look: a reason to convict nobody, never one to convict.
double place_p_value(const CheckContext& context, const ConditionalFinding& finding);

/// Whether one of the first `length` tokens of an answer stands where a filter cuts so close.
/// Precondition: context.settings.target is known.
bool has_near_ties(const CheckContext& context, const LawSample& sample, std::size_t length);

/// What effects of place checks are of. All contexts go into sixteen places: a fault that moves
/// some contexts one way and some the other is farther apart in each of them than it is here.
inline constexpr const char* kPlacesOfTokens = "places of tokens in their laws";

/// Evidence, kind and effect of a check on places, of `answers` that were judged of the sample:
/// "12 tokens of 3 answers".
void conclude(const CheckContext& context, const LawSample& sample,
              const ConditionalFinding& finding, const std::string& answers,
              oracle::Verdict& verdict);

/// Goes through the sample again for what departs most: a token behind a prefix, or the likeliest
/// tokens of one position.
oracle::Witness conditional_witness(const CheckContext& context, const LawSample& sample,
                                    const ConditionalFinding& finding);

/// What the engine's steps say about where tokens came from (accepted, recovered, bonus), each kind
/// against its laws: a description for whoever looks for the cause, no evidence, since a right
/// engine's recovered tokens do not have the target's law either. Empty without steps.
std::vector<std::string> origin_notes(const CheckContext& context, const LawSample& sample);

}  // namespace draftproof::properties::audits
