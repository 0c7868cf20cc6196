// GitHub annotations: workflow commands that mark a job's page, one line a finding.
#pragma once

#include <string>

#include "tools/report/report.h"

namespace draftproof::tools::report {

/// "::error title=draftproof::..." for what is violated, "::warning ..." for what is inconclusive.
std::string github_annotations_of(const Run& run);

}  // namespace draftproof::tools::report
