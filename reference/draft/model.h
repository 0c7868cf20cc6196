// An external draft model: a smaller language model that drafts token by token (Leviathan, Kalman,
// Matias 2023; Chen et al. 2023), as a chain or as a tree of siblings. It reads tokens only, so its
// own cache is all the state there is, and a right one is a function of the context.
#pragma once

#include <memory>

#include "reference/draft/drafter.h"
#include "reference/law/model_case.h"

namespace draftproof::reference::draft {

/// Drafts the shape of `tiny` from its draft model: node i from the draft's row behind its parent,
/// at offset depth - 1 and slot = its number among the nodes of that depth. A node whose sibling
/// draw has no token left, and what hangs from it, is left out, as are nodes deeper than asked for.
std::shared_ptr<const Drafter> model_drafter(const law::ModelCase& tiny);

}  // namespace draftproof::reference::draft
