// plan: what an audit would do, before any traffic.
#include "tools/audit/plan.h"

#include <ostream>

#include "reference/error.h"
#include "tools/draftproof/plan_settings.h"

namespace draftproof::tools {

ExitCode plan_command(const PlanSettings& settings, const Streams& streams) {
  const audit::LoadedConfig loaded = settings_of_flags(settings.audit);
  if (settings.audit.prints_config) {
    streams.out << audit::page_of(loaded.lines);
    return ExitCode::kUpheld;
  }
  const audit::AuditConfig& config = loaded.config;
  const audit::AuditPlan plan = audit::plan_of(config, audit::assumed_ground(config));
  if (plan.checks.empty())
    throw Error(ErrorKind::kInput,
                "no check is left: none of these audits speaks of any of these settings", "plan");
  streams.out << audit::page_of(plan, settings.format == "json" ? audit::PlanForm::kJson
                                      : settings.format == "md" ? audit::PlanForm::kMarkdown
                                                                : audit::PlanForm::kText);
  return ExitCode::kUpheld;
}

}  // namespace draftproof::tools
