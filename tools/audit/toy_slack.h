// Toy slack: what a run grants an engine's arithmetic before a difference from the law of a written
// toy is a fault (tools/toys/toy_tolerance.h says where the numbers come from).
#pragma once

#include <string>

#include "properties/audits/matrix.h"
#include "tools/audit/run_record.h"

namespace draftproof::tools::audit {

/// The lowest temperature above 0 that is asked for, 1 at most: slack of logits is divided by it.
double lowest_temperature(const properties::audits::Matrix& matrix);

/// Fills tolerance and near-tie bound of `record` and tells of them. `manifest`: a file of `toy
/// write`; `engine`: as told, empty: not known, so that the coarsest one measured counts;
/// `cache_dtype`: f32, f16 or bf16. Throws Error(kInput) at the manifest.
void grant_toy_slack(const std::string& manifest, const std::string& engine,
                     const std::string& cache_dtype, RunRecord& record);

}  // namespace draftproof::tools::audit
