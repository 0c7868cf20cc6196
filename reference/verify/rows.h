// Rows: the laws a rule reads at one position of a request, shaped or taken as final.
#pragma once

#include <cstddef>

#include "reference/mass.h"
#include "reference/outcome.h"
#include "reference/proposal.h"

namespace draftproof::reference::verify {

/// The law of target row `index` (0 .. draft length; the last one is for the bonus): shaped logits,
/// or probabilities as they come. May carry a status.
MassRow target_law(const Batch& batch, const Request& request, std::size_t index);

/// The law that drafted token `index` claims to come from: shaped logits, probabilities, or all
/// mass on the token itself. Precondition: the token is in [0, vocab_size). May carry a status.
MassRow draft_law(const Batch& batch, const Request& request, std::size_t index);

/// What keeps target row `index` from being judged greedily: NaN, +inf, all -inf; of probabilities
/// kBadProbability, kEmptyRow. Never kRange.
Status greedy_status(const Batch& batch, const Request& request, std::size_t index);

/// True when `token` is a token id of the batch; kPlaceholder is none.
bool is_token(const Batch& batch, Token token);

/// Ends `outcome` with a status at target row `index` and no further token.
RequestOutcome stopped(RequestOutcome outcome, Status status, std::size_t index);

}  // namespace draftproof::reference::verify
