// The rules, one a file, near relatives in one: each answers with what it is called, where it is
// from, its function and its closed form.
#pragma once

#include "reference/law/rule.h"

namespace draftproof::reference::law::rules {

LawRule chain_rule();
LawRule greedy_rule();

LawRule block_rule();
LawRule match_rule();
LawRule shared_noise_rule();
LawRule hsd_rule();
LawRule typical_sampled_rule();
LawRule relaxed_rule();
LawRule thresholds_rule();
LawRule synthetic_rule();
LawRule judge_rule();
LawRule entropy_relaxed_rule();
LawRule fly_rule();
LawRule ensemble_rule();
LawRule cascade_rule();
LawRule at_least_draft_rule();
LawRule always_accept_rule();
LawRule temperature_mismatch_rule();

LawRule tree_greedy_rule();
LawRule target_only_rule();
LawRule with_replacement_rule();
LawRule without_replacement_rule();
LawRule k_seq_rule();
LawRule greedy_multi_draft_rule();
LawRule traversal_rule();
LawRule lookahead_rule();
LawRule medusa_typical_rule();

}  // namespace draftproof::reference::law::rules
