// Laws: the rows of a case as integer masses, by the reference's shaping alone. Properties state
// what they expect in these laws and never ask a verifier, not even the reference, for an answer.
#pragma once

#include <cstddef>

#include "reference/mass.h"
#include "reference/proposal.h"

namespace draftproof::properties {

reference::MassRow target_law(const reference::Batch& batch, const reference::Request& request,
                              std::size_t row);
/// Precondition: the drafted token is a token id.
reference::MassRow draft_law(const reference::Batch& batch, const reference::Request& request,
                             std::size_t row);

/// Drafted tokens before the first placeholder.
int draft_count(const reference::Request& request);

/// True for a token id of the batch; a placeholder is none.
bool is_token(const reference::Batch& batch, reference::Token token);

}  // namespace draftproof::properties
