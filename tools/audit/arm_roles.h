// Arm roles: what servers say of their own speculation, held against the arm that they stand for.
// The doctor refuses such a pair; who skips it, or whose server counts no drafts, is told here: a
// baseline that drafts is no ground to compare with, and an arm without drafts shows nothing.
#pragma once

#include <string>
#include <vector>

#include "tools/audit/run_record.h"
#include "tools/report/report.h"

namespace draftproof::tools::audit {

/// Why an arm is not what it stands for, by its own words; empty: nothing speaks against it.
/// Counters of drafts that came with the answers outrank words.
struct RoleFaults {
  std::string baseline, speculative;
};
RoleFaults role_faults(const RunRecord& record, const properties::audits::Evidence& evidence);

/// Nothing is upheld of an arm that drafts nothing, and nothing is said by what rests on a baseline
/// that drafts. A violation of the speculative arm's own stays.
void hold_open(const RoleFaults& faults, const properties::audits::Matrix& matrix,
               const properties::audits::Evidence& evidence,
               const properties::audits::JudgeSettings& judge,
               std::vector<report::CheckResult>& checks);

}  // namespace draftproof::tools::audit
