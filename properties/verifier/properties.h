// The properties of verifiers, one per file of this folder.
#pragma once

#include "properties/property.h"

namespace draftproof::properties::verifier {

Property emitted_law_is_target_law();
Property kernel_equals_reference();
Property nothing_outside_the_support();
Property target_at_least_draft_is_accepted();
Property identity_draft_accepts_all();
Property hostile_draft_rejects_all();
Property nothing_after_the_first_rejection_matters();
Property batch_order_does_not_matter();
Property companions_do_not_matter();
Property padding_does_not_matter();
Property block_size_does_not_matter();
Property schedule_does_not_matter();
Property inputs_unchanged();
Property unjudgeable_rows_give_a_status();
Property emitted_is_accepted_plus_one();
Property greedy_limits();
Property memory_safe();
Property race_free();

}  // namespace draftproof::properties::verifier
