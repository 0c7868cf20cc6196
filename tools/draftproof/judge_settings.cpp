#include "tools/draftproof/judge_settings.h"

#include <CLI/CLI.hpp>

namespace draftproof::tools {

void add_audit(CLI::App& app, AuditRunSettings& settings) {
  CLI::App& command =
      *app.add_subcommand("audit", "Ask both arms of an engine, judge what comes, and report it");
  add_audit_options(command, settings.audit);
  auto* collect = command.add_flag("--collect-only", settings.collects_only,
                                   "Keep transcripts and judge nothing; see draftproof judge");
  command.add_flag("--skip-doctor", settings.is_unproven,
                   "Do not prove first that the arms are what they should be");
  command.add_option("--resume", settings.resume,
                     "Go on with a run that was cut: its id, its folder, or latest");
  command.add_option("--shard", settings.shard,
                     "2/8: the second of eight parts; auto/8: the part that the scheduler gives");
  command
      .add_option("--known", settings.known,
                  "Findings that are accepted; default: known.toml beside the configuration")
      ->excludes(collect);
  add_run_output(command, settings.output);
}

void add_judge(CLI::App& app, JudgeRunSettings& settings) {
  CLI::App& command = *app.add_subcommand(
      "judge", "Judge transcripts of any engine, run stores, and shards of one run together");
  command
      .add_option("files", settings.files,
                  "Lines of JSON (draftproof/transcript/1), run.sqlite, or a run's folder")
      ->required();
  command.add_option("--toy", settings.toy, "The law is known: a manifest, or a toy of serve");
  command.add_option("--contract", settings.contract, "How it is shaped: draftproof list engines");
  command.add_option("--score-command", settings.score_command,
                     "Prints one number a sample: that of the audit is not started from a file");
  command.add_option("--false-alarms", settings.false_alarms, "Budget of all checks together");
  command.add_option("--show", settings.show,
                     "Print the transcripts of this case as lines, and judge nothing");
  command.add_option("--known", settings.known, "Findings that are accepted: known.toml");
  command.add_flag("--allow-inconclusive", settings.allows_inconclusive,
                   "Exit 0 instead of 2 when nothing is violated");
  command.add_option("--report", settings.reports, "Files: json,junit,jsonl,md,github or none");
  command.add_option("--report-dir", settings.report_dir, "Where they are kept");
  add_run_output(command, settings.output);
}

void add_report(CLI::App& app, ReportSettings& settings) {
  CLI::App& command =
      *app.add_subcommand("report", "Render a run again, or hold it against an earlier one");
  command.add_option("run", settings.run, "A run's id, its folder or file, or latest")->required();
  command.add_option("--format", settings.formats,
                     "Write these files into the run's folder: json,junit,md,jsonl,github");
  command.add_option("--baseline", settings.baseline,
                     "An earlier run: exit 1 when something is violated that was not before");
  command.add_option("--report-dir", settings.report_dir, "Where runs are kept");
  add_run_output(command, settings.output);
}

}  // namespace draftproof::tools
