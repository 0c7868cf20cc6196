// Report: costs as a table and as JSON (tools/schema/cost.schema.json).
#pragma once

#include <string>

#include "tools/cost/cost.h"

namespace draftproof::tools::cost {

/// The table; what was skipped, and why, stands below it.
std::string cost_page(const Costs& costs, bool is_markdown);
/// One document, indented, with a final newline.
std::string cost_json(const Costs& costs);

}  // namespace draftproof::tools::cost
