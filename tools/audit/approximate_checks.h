// Approximate checks: a mode that is declared lossy, held to what its users see: scores of a task
// and the share of answers that are valid ([gate.approximate] task_score_drop, schema_valid). Each
// is LOSSY BY DESIGN: upheld where the bound keeps the budget, violated where it is beyond it
// whatever the sample, open otherwise. They have a share of the run's false alarms of their own.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "properties/audits/judge.h"
#include "tools/audit/config.h"
#include "tools/report/report.h"

namespace draftproof::tools::audit {

struct ApproximateOrder {
  const ApproximateGate& gate;
  const properties::audits::Matrix& matrix;
  const properties::audits::Evidence& evidence;
  const properties::audits::JudgeSettings& judge;
  double false_alarms = 1e-6;         ///< of these checks together
  std::filesystem::path folder = {};  ///< what the score command reads and says
  double time_limit_s = 3600;         ///< of the score command, an arm
  /// Not empty: the score command is not started (it came with a file, or nobody waits).
  std::string why_not_started = {};
};

/// Whether budgets are given that these checks judge by.
bool has_score_budget(const ApproximateGate& gate);

/// Throws Error(kInput) where budgets are given and no mode is declared or told: nothing is lossy
/// by design then, and budgets would excuse a fault. Also reads score_logs once, and throws as they
/// do.
void need_lossy_mode(const ApproximateGate& gate, const properties::audits::JudgeSettings& judge);

/// "task_score_drop/METRIC" each, "schema_valid/all". What the score command or a log lacks is that
/// check's world_error.
std::vector<report::CheckResult> approximate_checks(const ApproximateOrder& order);

/// Where no distance (tv) is declared, the scores are the budget: what is violated as LOSSY BY
/// DESIGN is upheld where they are, else open, and violated by them alone.
void settle_by_scores(const ApproximateGate& gate, const std::vector<report::CheckResult>& scores,
                      std::vector<report::CheckResult>& checks);

}  // namespace draftproof::tools::audit
