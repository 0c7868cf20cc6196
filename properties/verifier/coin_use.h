// Coin use: whether a decision is made by thresholds of the coin that belongs to it. A certificate
// refutes a law only then: a verifier that draws in another order of tokens, or hands coins to
// other positions, answers a probe otherwise and may be lossless all the same.
#pragma once

#include "oracle/certificate.h"
#include "properties/verifier/tree_fixture.h"
#include "reference/verifier.h"

namespace draftproof::properties::verifier {

/// Sweeps the coin of the first decision in which `observed` differs from what the probe expects,
/// and then all coins that do not belong to it. False when the decision is no threshold of its coin
/// (accepted below, tokens in id order), or depends on other coins: then nothing is known of the
/// law. True as well when the outcome is malformed, which no use of coins excuses.
bool decides_by_thresholds(reference::Verifier& verifier, const TreeFixture& fixture,
                           const oracle::Probe& probe, const reference::RequestOutcome& observed);

}  // namespace draftproof::properties::verifier
