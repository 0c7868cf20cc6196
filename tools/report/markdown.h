// Markdown: the same report as a block that can be pasted into an issue or a job summary.
#pragma once

#include <string>

#include "tools/report/report.h"

namespace draftproof::tools::report {

std::string markdown_of(const Run& run);

}  // namespace draftproof::tools::report
