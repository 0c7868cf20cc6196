// Audit table: the checks of an audit, which are many: audits in settings. A few are shown one a
// row; of a wide matrix an audit is one row that counts its settings, and every check that is not
// upheld has one of its own below it.
#pragma once

#include "tools/report/report.h"
#include "tools/report/table.h"

namespace draftproof::tools::report {

/// True for runs that this table is of.
bool is_audit(const Run& run);

/// `with_all`: one row a check, however many there are.
Table audit_table_of(const Run& run, bool with_wrapping, bool with_all);

/// Index of its verdict column.
inline constexpr std::size_t kAuditVerdictColumn = 4;

/// "baseline      llama.cpp b6012 at ...", a line a fact, names aligned.
std::string facts_of(const Run& run);

}  // namespace draftproof::tools::report
