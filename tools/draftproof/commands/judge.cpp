// judge: judges what lies in files: transcripts of anybody's engine, run stores, shards of one run.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <chrono>
#include <cmath>
#include <ostream>

#include "reference/error.h"
#include "tools/audit/approximate_checks.h"
#include "tools/audit/recorded_run.h"
#include "tools/audit/toy_slack.h"
#include "tools/draftproof/audit_conclusion.h"
#include "tools/draftproof/judge_settings.h"
#include "tools/draftproof/run_output.h"

namespace draftproof::tools {
namespace {

using audit::RecordedRun;
using properties::Arm;

double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

ExitCode show(const RecordedRun& run, const std::string& case_id, const Streams& streams) {
  std::size_t shown = 0;
  for (const Arm arm : {Arm::kBaseline, Arm::kSpeculative})
    for (std::uint32_t repeat : {0u, 1u})
      for (const auto& [trial, transcript] : run.evidence.of(case_id, arm, repeat)) {
        streams.out << properties::line_of(transcript) << "\n";
        ++shown;
      }
  if (shown > 0) return ExitCode::kUpheld;
  throw Error(ErrorKind::kInput,
              fmt::format("there is no case \"{}\"; known: {}", case_id,
                          fmt::join(run.evidence.case_ids(), ", ")),
              "--show");
}

/// What is typed outranks what the run says of itself.
void apply(const JudgeRunSettings& settings, audit::RunRecord& record) {
  if (!settings.toy.empty()) record.toy = settings.toy;
  // Lines do not say whose arithmetic is in them.
  if (settings.toy.ends_with(".json") && record.judge.tolerance == 0)
    audit::grant_toy_slack(settings.toy, "", "f32", record);
  if (!settings.contract.empty()) record.judge.contract = settings.contract;
  const bool is_scored = record.approximate && audit::has_score_budget(*record.approximate);
  if (!settings.score_command.empty()) {
    if (!is_scored || !record.approximate->task_score_drop)
      throw Error(ErrorKind::kInput,
                  "this run declared no task_score_drop ([gate.approximate]) to judge scores by",
                  "--score-command");
    record.approximate->score_command = settings.score_command;
  }
  if (settings.false_alarms.empty()) return;
  char* end = nullptr;
  const double typed = std::strtod(settings.false_alarms.c_str(), &end);
  if (*end != '\0' || !(typed > 0) || typed > 0.5)
    throw Error(ErrorKind::kInput,
                "\"" + settings.false_alarms + "\" is no probability between 0 and 0.5",
                "--false-alarms");
  record.judge.false_alarms = is_scored ? typed / 2 : typed;
}

}  // namespace

ExitCode judge_command(const JudgeRunSettings& settings, const Streams& streams) {
  const double begin = now();
  const auto formats = formats_of(settings.reports);
  auto known = known_findings(settings.known, "");
  RecordedRun run = audit::read_run(settings.files);
  if (!settings.show.empty()) return show(run, settings.show, streams);
  apply(settings, run.record);
  audit::ToyLaw law;
  // What is typed outranks the copy that the run kept.
  const std::string kept = settings.toy.empty() ? run.folder.string() : "";
  auto judge = audit::judge_settings(run.record, law, kept, run.files.front());
  if (law.target && judge.speculative.vocab_size < law.target->vocab_size())
    judge.speculative.vocab_size = judge.baseline.vocab_size = law.target->vocab_size();
  judge.replay = fmt::format("draftproof judge {} --show {{case}}", fmt::join(run.files, " "));
  if (properties::audits::checks_of(run.record.matrix, judge).empty())
    throw Error(ErrorKind::kInput, "no check is left: no audit speaks of these transcripts",
                run.files.front());
  Conclusion conclusion{
      .record = run.record,
      .evidence = run.evidence,
      .judge = judge,
      .gate = {run.record.required_claims, run.record.inconclusive_is_failure, std::move(known)},
      .run_id = store::make_run_id(),
      .subject = judge.speculative.name,
      .command_line = settings.command_line,
      .changed = run.changed,
      .allows_inconclusive = settings.allows_inconclusive,
      .output = output_settings(settings.output, streams),
      .formats = formats,
      .report_dir = settings.report_dir,
      .keeps_findings = !formats.empty()};
  if (settings.score_command.empty())
    conclusion.why_not_scored =
        "a command that came with a file is not started; name it with --score-command";
  conclusion.seconds = now() - begin;
  return conclude(conclusion, streams);
}

}  // namespace draftproof::tools
