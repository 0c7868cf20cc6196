#include "tools/draftproof/commands/check_calibration.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <nlohmann/json.hpp>
#include <ostream>
#include <thread>

#include "properties/calibration/calibration.h"
#include "reference/error.h"
#include "tools/draftproof/check_runner.h"
#include "tools/draftproof/interrupt.h"
#include "tools/draftproof/version.h"
#include "tools/report/progress.h"
#include "tools/report/table.h"

namespace draftproof::tools {
namespace {

namespace calibration = properties::calibration;
using Clock = std::chrono::steady_clock;

double now() { return std::chrono::duration<double>(Clock::now().time_since_epoch()).count(); }

/// One row of the page; `ran` is false where a check was not reached or failed.
struct CalibrationRow {
  const calibration::Calibration* calibration = nullptr;
  calibration::Finding finding;
  oracle::VerdictKind verdict = oracle::VerdictKind::kInconclusive;
  std::string error;
  double seconds = 0;
  bool ran = false;
};

void refuse_subjects(const CheckSettings& settings) {
  const auto refuse = [](bool is_given, const char* option) {
    if (is_given)
      throw Error(ErrorKind::kInput, "calibration judges draftproof itself; leave this out",
                  option);
  };
  const bool has_others = settings.properties.size() > 1;
  refuse(has_others, has_others ? "a property named beside it" : "");
  refuse(!settings.subject.subject.empty(), "--subject");
  refuse(!settings.subject.rule.empty(), "--rule");
  refuse(!settings.subject.kernels.empty(), "--kernel");
  refuse(!settings.subject.device.empty(), "--device");
  if (settings.reports != CheckSettings{}.reports && settings.reports != "none")
    throw Error(ErrorKind::kInput, "calibration writes no report files; take -o json", "--report");
  if (settings.output.format == OutputFormat::kJsonLines)
    throw Error(ErrorKind::kInput, "calibration has text, md and json", "-o jsonl");
}

std::vector<CheckJob> jobs_of(const CheckSettings& settings, std::vector<CalibrationRow>& rows) {
  std::vector<CheckJob> jobs;
  for (CalibrationRow& row : rows) {
    report::CheckResult blank;
    blank.id = row.calibration->id;
    blank.statement = row.calibration->statement;
    blank.verdict.property = row.calibration->id;
    jobs.push_back({blank, [&settings, &row, blank](const CheckContext& context) {
                      calibration::Settings own;
                      own.battery = settings.battery;
                      own.seed = settings.seed;
                      own.stopped = context.stopped;
                      const double begin = now();
                      row.finding = row.calibration->run(own);
                      row.verdict = calibration::verdict_of(row.finding);
                      row.seconds = now() - begin;
                      row.ran = true;
                      report::CheckResult result = blank;
                      result.verdict.kind = row.verdict;
                      result.verdict.trials = row.finding.runs;
                      result.verdict.seconds = row.seconds;
                      return std::vector<report::CheckResult>{result};
                    }});
  }
  return jobs;
}

/// Keeps what went wrong in a check, for its row.
class Errors final : public report::Reporter {
 public:
  explicit Errors(std::vector<CalibrationRow>& rows, report::Reporter& next)
      : rows_(rows), next_(next) {}
  void on(const report::Event& event) override {
    if (const auto* finished = std::get_if<report::CheckFinished>(&event))
      rows_.at(finished->index).error = finished->result.internal_error;
    next_.on(event);
  }

 private:
  std::vector<CalibrationRow>& rows_;
  report::Reporter& next_;
};

std::string seen_of(const CalibrationRow& row) {
  if (!row.error.empty()) return "internal error: " + row.error;
  return row.ran ? row.finding.seen : "not reached";
}

std::string control_of(const CalibrationRow& row) {
  if (!row.ran) return "";
  return row.finding.control + (row.finding.control_falls ? ": falls" : ": STANDS");
}

std::string page_of(const std::vector<CalibrationRow>& rows, const CheckSettings& settings) {
  const bool is_markdown = settings.output.format == OutputFormat::kMarkdown;
  report::Table table({{"check"},
                       {"what must hold", report::Align::kLeft, 34},
                       {"how"},
                       {"runs", report::Align::kRight},
                       {"verdict"},
                       {"seen", report::Align::kLeft, 40},
                       {"the wrong one beside it", report::Align::kLeft, 34},
                       {"seconds", report::Align::kRight}});
  for (const CalibrationRow& row : rows) {
    const std::string kind(oracle::to_string(row.verdict));
    table.add({row.calibration->id, row.calibration->statement, row.calibration->method,
               report::grouped(row.finding.runs),
               row.verdict == oracle::VerdictKind::kViolated ? "VIOLATED" : kind, seen_of(row),
               control_of(row), fmt::format("{:.1f}", row.seconds)});
  }
  return is_markdown ? table.markdown() : table.text();
}

std::string json_of(const std::vector<CalibrationRow>& rows, const CheckSettings& settings,
                    ExitCode code) {
  nlohmann::ordered_json document;
  document["schema_version"] = "draftproof/calibration/1";
  document["version"] = kVersion;
  document["battery"] = to_string(settings.battery);
  document["seed"] = settings.seed;
  document["exit_code"] = static_cast<int>(code);
  document["checks"] = nlohmann::ordered_json::array();
  for (const CalibrationRow& row : rows) {
    document["checks"].push_back({{"id", row.calibration->id},
                                  {"statement", row.calibration->statement},
                                  {"method", row.calibration->method},
                                  {"verdict", oracle::to_string(row.verdict)},
                                  {"runs", row.finding.runs},
                                  {"seen", seen_of(row)},
                                  {"control", row.finding.control},
                                  {"control_falls", row.finding.control_falls},
                                  {"is_complete", row.ran && row.finding.is_complete},
                                  {"seconds", row.seconds}});
  }
  return document.dump(2) + "\n";
}

ExitCode code_of(const std::vector<CalibrationRow>& rows, const CheckSettings& settings,
                 bool was_interrupted) {
  if (was_interrupted) return ExitCode::kInterrupted;
  oracle::VerdictKind worst = oracle::VerdictKind::kUpheld;
  bool has_error = false;
  for (const CalibrationRow& row : rows) {
    worst = std::max(worst, row.verdict);
    has_error = has_error || !row.error.empty();
  }
  if (worst != oracle::VerdictKind::kViolated && has_error) return ExitCode::kInternalError;
  return exit_code_of(worst, settings.allows_inconclusive);
}

}  // namespace

ExitCode check_calibration(const CheckSettings& settings, const Streams& streams) {
  refuse_subjects(settings);
  std::vector<CalibrationRow> rows;
  for (const auto& each : calibration::calibrations()) {
    rows.emplace_back();
    rows.back().calibration = &each;
  }
  report::ProgressReporter progress(
      settings.output.progress, [&](const std::string& text) { streams.err << text << std::flush; },
      now);
  Errors errors(rows, progress);
  RunnerOptions options;
  options.workers =
      settings.workers != 0 ? settings.workers : std::max(1u, std::thread::hardware_concurrency());
  options.stops_at_violation = settings.stops_at_violation;
  options.interrupted = is_interrupted;
  options.grace_seconds = 3600;  // every check looks at `stopped`
  const double begin = now();
  if (settings.time_limit_seconds)
    options.is_time_up = [end = begin + *settings.time_limit_seconds] { return now() >= end; };
  catch_interrupts();
  errors.on(report::RunStarted{"", "the judge itself", settings.command_line, {}, {}, rows.size()});
  const bool was_interrupted =
      run_checks(jobs_of(settings, rows), options, errors) != RunnerEnd::kComplete;
  const ExitCode code = code_of(rows, settings, was_interrupted);
  errors.on(report::RunFinished{static_cast<int>(code), was_interrupted,
                                settings.allows_inconclusive, now() - begin});
  if (settings.output.format == OutputFormat::kJson) {
    streams.out << json_of(rows, settings, code);
    return code;
  }
  streams.out << page_of(rows, settings)
              << fmt::format("\nbattery {}, seed {}: {:.1f} s, exit {}.\n",
                             to_string(settings.battery), settings.seed, now() - begin,
                             static_cast<int>(code));
  return code;
}

}  // namespace draftproof::tools
