// Laws: the rows of a case as integer masses, by the reference's shaping alone. Properties state
// what they expect in these laws and never ask a verifier, not even the reference, for an answer.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "reference/coin.h"
#include "reference/mass.h"
#include "reference/outcome.h"
#include "reference/proposal.h"
#include "reference/verifier.h"

namespace draftproof::properties {

reference::MassRow target_law(const reference::Batch& batch, const reference::Request& request,
                              std::size_t row);
/// Precondition: the drafted token is a token id.
reference::MassRow draft_law(const reference::Batch& batch, const reference::Request& request,
                             std::size_t row);

/// What the chain rule's formula (oracle/threshold.h) makes of one request and these coins. Absent
/// when a row on the way cannot be judged, a drafted token has no draft mass, or a coin lies within
/// `margin` of an edge that arithmetic could move.
std::optional<reference::RequestOutcome> outcome_by_formula(const reference::Batch& batch,
                                                            const reference::Request& request,
                                                            const reference::Coins& coins,
                                                            std::uint64_t margin);

/// How far from an edge probes of a subject stay: 0 when it promises the integer masses, else room
/// for fp32 arithmetic: 2^45 coins are 1.9e-6 on the unit interval, masses differ from an ideal
/// softmax by 1.6e-7 and a ratio of two fp32 probabilities by a few times 6e-8.
std::uint64_t margin_for(const reference::VerifierTraits& traits);

/// Drafted tokens before the first placeholder.
int draft_count(const reference::Request& request);

/// True for a token id of the batch; a placeholder is none.
bool is_token(const reference::Batch& batch, reference::Token token);

}  // namespace draftproof::properties
