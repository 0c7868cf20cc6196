// Traces: a rule position by position, as numbers that a reader can follow. Computed from the
// emission law of the rule itself, so that a trace of a wrong rule shows what it does, not what it
// should do.
#pragma once

#include <optional>
#include <vector>

#include "reference/law/output_law.h"

namespace draftproof::reference::law {

/// One position of the verification behind one accepted prefix.
struct TraceStep {
  Context accepted;  ///< the drafted tokens kept so far
  Exact reached;     ///< probability of getting here, > 0
  LawRow target;     ///< the target's row here
  LawRow draft;      ///< the drafter's row here; empty behind the last drafted token
  LawRow last;       ///< law of the token that ends the iteration here, given that one does:
                     ///< recovered, or bonus when draft is empty; empty if none ever does
  Exact kept = 0;    ///< probability, given reached, that the drafted token is kept
  std::vector<std::optional<Exact>> kept_by_token;  ///< given that x was drafted; absent: never is
};

/// All steps that are reached, shorter prefixes first, prefixes of one length in id order.
/// Precondition: `tiny` is a chain and `law` is what a rule makes of it at the empty context.
std::vector<TraceStep> trace(const ModelCase& tiny, const EmissionLaw& law);

}  // namespace draftproof::reference::law
