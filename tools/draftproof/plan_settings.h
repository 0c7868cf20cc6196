// Settings of `draftproof plan`, the options that fill them, and the command itself.
#pragma once

#include <string>

#include "tools/draftproof/audit_settings.h"
#include "tools/draftproof/exit_code.h"
#include "tools/draftproof/settings.h"

namespace draftproof::tools {

struct PlanSettings {
  AuditSettings audit;
  std::string format = "text";  ///< text, md or json
};

/// Adds the subcommand `plan`. `settings` must outlive the parser.
void add_plan(CLI::App& app, PlanSettings& settings);

/// Sends nothing. Exit 0; throws Error for what the user named wrongly, or when no check is left.
ExitCode plan_command(const PlanSettings& settings, const Streams& streams);

}  // namespace draftproof::tools
