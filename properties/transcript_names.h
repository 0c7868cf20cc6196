// Names of the enumerators that transcripts spell out.
#pragma once

#include "properties/engine.h"
#include "properties/names.h"

namespace draftproof::properties {

const Names<Arm>& arm_names();
const Names<CompletionEnd>& completion_end_names();
const Names<FailureCause>& failure_cause_names();
/// Without kNone, which is the absence of a name.
const Names<LogprobKind>& logprob_kind_names();

}  // namespace draftproof::properties
