// Steps: what drafters and scorers are told before and after one iteration, and the memory they
// keep between iterations.
#pragma once

#include <cstdint>
#include <vector>

#include "reference/law/draft_tree.h"
#include "reference/law/rule.h"

namespace draftproof::reference::law {

/// What a drafter or scorer keeps between iterations, as plain numbers, so that two states are the
/// same state iff they are equal. Everything that may influence a later iteration has to be here.
using Memory = std::vector<std::int64_t>;

/// An iteration before it drafts.
struct StepBegin {
  const Context& context;  ///< prompt and everything emitted
  int draft_count;         ///< how many tokens may be drafted, at most
  int request;             ///< index in the batch
};

/// An iteration after its verification.
struct StepEnd {
  const Context& before;  ///< the context it began with
  const DraftTree& draft;
  const Decision& decision;
  const Context& after;  ///< the context it ends with
  int request;
};

}  // namespace draftproof::reference::law
