// Settings of `draftproof doctor`, the options that fill them, and the command itself.
#pragma once

#include <string>

#include "tools/draftproof/audit_settings.h"
#include "tools/draftproof/exit_code.h"
#include "tools/draftproof/settings.h"

namespace draftproof::tools {

struct DoctorCommandSettings {
  AuditSettings audit;
  std::string url;             ///< of one server alone, or of the baseline
  std::string second_url;      ///< of the server that speculates
  std::string command_line;    ///< --command: an engine's launch line, which is not started
  std::string engine_version;  ///< of --command
  bool writes_alerts = false;
  std::string format = "text";  ///< text, md or json
};

/// Adds the subcommand `doctor`. `settings` must outlive the parser.
void add_doctor(CLI::App& app, DoctorCommandSettings& settings);

/// Exit 0: ready; 2: not all of it was shown; 3: an audit would judge the wrong thing, or nobody
/// answers.
ExitCode doctor_command(const DoctorCommandSettings& settings, const Streams& streams);

}  // namespace draftproof::tools
