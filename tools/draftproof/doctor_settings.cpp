#include "tools/draftproof/doctor_settings.h"

#include <CLI/CLI.hpp>

namespace draftproof::tools {

void add_doctor(CLI::App& app, DoctorCommandSettings& settings) {
  CLI::App& command = *app.add_subcommand(
      "doctor", "Examine engines, or a launch line, before anything is judged of them");
  command.add_option("URL", settings.url, "One server alone, or the baseline of two");
  command.add_option("URL2", settings.second_url, "The server that speculates");
  add_audit_flags(command, settings.audit);
  command.add_option("--command", settings.command_line,
                     "An engine's launch line: which options does this version lack?");
  command.add_option("--engine-version", settings.engine_version, "Of --command: 11549, 0.32.0");
  command.add_flag("--alerts", settings.writes_alerts, "Write Prometheus rules, and stop");
  command.add_option("-o,--output", settings.format, "What stdout carries")
      ->check(CLI::IsMember({"text", "md", "json"}));
}

}  // namespace draftproof::tools
