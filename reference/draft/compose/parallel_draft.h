// Parallel draft and verification: PEARL (Liu et al., ICLR 2025, arXiv:2408.11850; TensorRT-LLM
// _torch/speculative/pearl.py @0935b08). While the target verifies a draft, the draft model goes on
// behind it as if all of it were kept; when it is, what it drafted meanwhile is the next draft. For
// that the target may not add a token of its own behind a draft that was kept whole: no bonus.
// Greedy only. Verifying the first token while the others are still being drafted saves time, not
// tokens, and does not appear here.
#pragma once

#include "reference/draft/compose/combined.h"
#include "reference/law/rule.h"
#include "reference/model/toy_model.h"

namespace draftproof::reference::draft {

/// Tokens drafted while one verification takes place: the speed ratio, rounded half up, at least 1.
/// Precondition: both are positive.
int parallel_draft_count(const Exact& draft_speed, const Exact& target_speed);

/// Chains of draft_count largest tokens; what was drafted ahead where the draft was kept whole.
/// Memory: between draft and verification the tokens ahead, behind it the same or nothing.
DrafterPtr parallel_drafter(model::ToyModelPtr draft);

/// The greedy rule without a bonus token, except where nothing was drafted.
law::RuleFunction greedy_without_bonus();

}  // namespace draftproof::reference::draft
