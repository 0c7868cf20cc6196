// The chain rule in real numbers: Leviathan, Kalman, Matias, "Fast inference from transformers via
// speculative decoding" (ICML 2023), algorithm 1 and section 2.3; Chen et al., "Accelerating large
// language model decoding with speculative sampling" (2023), algorithm 2 and theorem 1.
#pragma once

#include "reference/law/rule.h"

namespace draftproof::reference::law {

template <class Scalar>
Emission chain(const Iteration<Scalar>& iteration, Chooser<Scalar>& chooser);

/// draft_count tokens, each drawn from the draft's law behind those before it.
template <class Scalar>
std::vector<Token> draw_draft(const Iteration<Scalar>& iteration, Chooser<Scalar>& chooser);

}  // namespace draftproof::reference::law
