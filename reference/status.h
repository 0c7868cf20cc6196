// Status words: why a row could not be judged (numerics contract, edge table). A row with a status
// yields no token; the accepted prefix before it stays.
#pragma once

#include <cstdint>
#include <string_view>

namespace draftproof::reference {

/// Where several apply to one row the one listed first wins, so that every path reports the same.
/// The numeric values are the words a kernel writes.
enum class Status : std::uint32_t {
  kOk = 0,
  kNan = 1,               ///< a NaN anywhere in a logit row that is read, filtered or not
  kPositiveInfinity = 2,  ///< +inf in a logit row
  kEmptyRow = 3,          ///< all -inf, or no mass at all
  kRange = 4,             ///< |max * scale| > 2^21 at a scale in use: the row cannot be resolved
  kBadProbability = 5,    ///< a draft probability is NaN or outside [0, 1]
  kDraftTokenRange = 6,   ///< a drafted id outside [0, vocab_size) that is not kPlaceholder
  kDraftMassZero = 7,     ///< the drafted token has no mass in the law it claims to come from
  kMalformedTree = 8,     ///< a drafted token's parent is not a token before it; only devices meet
                          ///< such a tree, since hosts refuse it (reference/proposal.h)
};

/// "ok", "nan", "positive-infinity", ... as reports and case files write them.
std::string_view to_string(Status status);

}  // namespace draftproof::reference
