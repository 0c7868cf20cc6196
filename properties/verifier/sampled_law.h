// Sampled laws: for rules whose decisions no certificate predicts (exact matching, exponential
// races, ordered candidates). Every emitted token, given the tokens before it, has the target's law
// at that context; a test martingale per context says when it has not (oracle/sequential.h).
#pragma once

#include <cstdint>

#include "properties/course.h"

namespace draftproof::properties::verifier {

/// Draws drafts from their laws, runs the subject, and tests the emitted tokens of every context.
/// The false-alarm rate of the settings is shared by all laws.
void sample_laws(Course& course, std::uint64_t seed);

}  // namespace draftproof::properties::verifier
