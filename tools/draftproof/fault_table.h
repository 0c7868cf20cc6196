// Fault tables: the fault matrix, and which faults a user's own rows can show.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "fixtures/faults/exercise.h"
#include "fixtures/faults/matrix.h"
#include "tools/draftproof/law_plan.h"

namespace draftproof::tools {

/// "lossy", "lossless but inefficient" or "beyond laws of ideal coins".
std::string_view effect_name(fixtures::FaultEffect effect);

std::string faults_text(const std::vector<fixtures::FaultRow>& rows, bool is_markdown);
/// Schema "draftproof/faults/1".
std::string faults_json(const std::vector<fixtures::FaultRow>& rows);

/// What the rows of a plan can show, over its tokens (or its draft and one more): the faults that
/// they show with their distance, those that they do not, and those not tried, each with the
/// reason. Throws Error(kInput) for a method, whose draft is its own.
std::string exercise_page(const LawPlan& plan);

}  // namespace draftproof::tools
