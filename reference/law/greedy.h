// The greedy rule on laws: a drafted token is kept iff it is the first maximum of the target's law.
// Its target is greedy decoding, so compare it with the tables that decoding_greedily() makes.
#pragma once

#include "reference/law/rule.h"

namespace draftproof::reference::law {

template <class Scalar>
Emission greedy(const Iteration<Scalar>& iteration, Chooser<Scalar>& chooser);

/// The case whose target rows are all mass on the first maximum of the given ones.
TinyCase<Exact> decoding_greedily(TinyCase<Exact> tiny_case);

}  // namespace draftproof::reference::law
