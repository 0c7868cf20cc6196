#include "tools/draftproof/plan_settings.h"

#include <CLI/CLI.hpp>

namespace draftproof::tools {

void add_plan(CLI::App& app, PlanSettings& settings) {
  CLI::App& command =
      *app.add_subcommand("plan", "Say what an audit would do, see and cost; no request is sent");
  add_audit_options(command, settings.audit);
  command.add_option("-o,--output", settings.format, "What stdout carries")
      ->check(CLI::IsMember({"text", "md", "json"}));
}

}  // namespace draftproof::tools
