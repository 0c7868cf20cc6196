// Multi-token prediction: DeepSeek-AI, "DeepSeek-V3 technical report" (2024, arXiv:2412.19437),
// section 2.2. Module k takes the hidden state of module k - 1 and the next token, and shares the
// target's output layer. Serving engines apply one module over and over, or several once each;
// their drafts are argmax unless asked otherwise, hence one-hot.
#pragma once

#include "reference/draft/hidden_toy.h"

namespace draftproof::reference::draft {

/// The row of the next drafted token: the toy's draft behind the module's number and the hidden
/// state that the modules computed. One module is number 0 at every offset; of several, the last
/// serves all offsets behind it.
PointLaw mtp_law(const model::Toy& toy, int module_count);

/// A head on a recurrent target: it reads the state behind what was fed, carries it along the
/// pending and the drafted tokens itself, and drafts from the toy's draft behind the state's bits.
DraftFunctions recurrent_mtp(const model::Toy& toy);

}  // namespace draftproof::reference::draft
