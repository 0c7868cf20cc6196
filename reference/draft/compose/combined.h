// Combined drafters: several ways to draft, one of them used in each iteration. Which one may
// depend on anything before the iteration's tokens are drawn, or on drafts that are deterministic;
// by drawn tokens only if all report one-hot (theorems E and F of reference/README.md). llama.cpp
// asks its implementations in fixed order and takes the first draft that is not empty (2026-04);
// TensorRT-LLM's sa_config prefers the suffix match where it is long enough.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "reference/draft/drafter.h"

namespace draftproof::reference::draft {

using DrafterPtr = std::shared_ptr<const Drafter>;

/// In order until one drafts something; those behind it are not asked. All learn what was kept.
DrafterPtr first_nonempty(std::vector<DrafterPtr> drafters);

/// The number of the drafter that is used, from what is known before it drafts.
using DrafterChoice = std::function<std::size_t(const law::StepBegin&)>;
DrafterPtr chosen_drafter(std::vector<DrafterPtr> drafters, DrafterChoice choice);

}  // namespace draftproof::reference::draft
