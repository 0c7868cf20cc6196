// Settings of `audit`, `judge` and `report`, the options that fill them, and the commands: audit
// collects and judges, judge judges what lies in files, report renders a run again or holds it
// against an earlier one.
#pragma once

#include <string>
#include <vector>

#include "tools/draftproof/audit_settings.h"
#include "tools/draftproof/exit_code.h"
#include "tools/draftproof/output_options.h"
#include "tools/draftproof/settings.h"

namespace draftproof::tools {

struct AuditRunSettings {
  AuditSettings audit;
  bool collects_only = false;
  bool is_unproven = false;  ///< --skip-doctor
  std::string resume;        ///< a run's id or folder, or "latest"
  std::string shard;         ///< "2/8", "auto/8"
  std::string known;         ///< empty: known.toml beside the configuration, when there is one
  OutputTexts output;
  std::vector<std::string> command_line;
};

struct JudgeRunSettings {
  std::vector<std::string> files;
  std::string toy, contract;  ///< of the law; empty: as the run says
  std::string score_command;  ///< empty: that of the file is not started
  std::string false_alarms;   ///< as typed; empty: the run's, or 1e-6
  std::string show;           ///< a case, whose transcripts are printed instead
  std::string known;
  bool allows_inconclusive = false;
  std::string reports = "none";
  std::string report_dir = "draftproof-report";
  OutputTexts output;
  std::vector<std::string> command_line;
};

struct ReportSettings {
  std::string run;
  std::string formats;   ///< --format: files into the run's folder
  std::string baseline;  ///< an earlier run
  std::string report_dir = "draftproof-report";
  OutputTexts output;
  std::vector<std::string> command_line;
};

void add_audit(CLI::App& app, AuditRunSettings& settings);
void add_judge(CLI::App& app, JudgeRunSettings& settings);
void add_report(CLI::App& app, ReportSettings& settings);

ExitCode audit_command(const AuditRunSettings& settings, const Streams& streams);
ExitCode judge_command(const JudgeRunSettings& settings, const Streams& streams);
ExitCode report_command(const ReportSettings& settings, const Streams& streams);

}  // namespace draftproof::tools
