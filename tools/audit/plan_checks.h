// Plan checks: which checks a matrix has, on how many samples, and what each could see at the
// least.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "tools/audit/plan.h"

namespace draftproof::tools::audit {

/// Cells of the next token where neither vocabulary nor top_k says: what a text's law has of
/// tokens that are met at all.
inline constexpr std::size_t kTextCells = 1000;

struct PlannedChecks {
  std::vector<PlannedCheck> checks;
  std::vector<std::string> silent;  ///< audits that speak of nothing here, and why
  std::size_t budget_shares = 0;    ///< checks that can raise a false alarm
  std::optional<double> log_alarm;  ///< of each of these
};

/// Of the audits. `judge` has what is known of the engine, and the budget that they share.
PlannedChecks planned_checks(const AuditConfig& config, const PlanGround& ground,
                             const properties::audits::JudgeSettings& judge);

/// What approximate_checks() will judge, out of `false_alarms` together. Precondition: there is
/// [gate.approximate]. Throws Error(kInput) as read_score_logs.
std::vector<PlannedCheck> score_checks(const AuditConfig& config, double false_alarms);

}  // namespace draftproof::tools::audit
