#include "tools/draftproof/check_run.h"

#include <fmt/format.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <ostream>
#include <thread>

#include "reference/error.h"
#include "tools/draftproof/interrupt.h"
#include "tools/draftproof/run_output.h"
#include "tools/draftproof/version.h"
#include "tools/draftproof/witness_keeper.h"
#include "tools/report/json.h"
#include "tools/store/atomic_file.h"
#include "tools/store/run_store.h"

namespace draftproof::tools {
namespace {

using Clock = std::chrono::steady_clock;

double now() { return std::chrono::duration<double>(Clock::now().time_since_epoch()).count(); }

/// Said before the run, which may take hours; it goes on, because verdicts are printed anyway.
void warn_of_unwritable(const std::string& report_dir, std::ostream& err) {
  const std::string reason = store::why_unwritable(report_dir);
  if (reason.empty()) return;
  err << fmt::format(
      "warning: {}: cannot write: {}; no report and no failing case will be kept: choose another "
      "folder with --report-dir\n",
      report_dir, reason);
}

/// What became of all checks: the dominant verdict, unless draftproof itself failed.
class Tally final : public report::Reporter {
 public:
  void on(const report::Event& event) override {
    const auto* finished = std::get_if<report::CheckFinished>(&event);
    if (finished == nullptr) return;
    verdicts_.push_back(finished->result.verdict);
    if (!finished->result.internal_error.empty()) has_internal_error_ = true;
  }
  ExitCode exit_code(const CheckSettings& settings, bool is_interrupted) const {
    if (is_interrupted) return ExitCode::kInterrupted;
    const oracle::VerdictKind verdict = oracle::merged(verdicts_);
    if (verdict != oracle::VerdictKind::kViolated && has_internal_error_) {
      return ExitCode::kInternalError;
    }
    return exit_code_of(verdict, settings.allows_inconclusive);
  }

 private:
  std::vector<oracle::Verdict> verdicts_;
  bool has_internal_error_ = false;
};

/// Hands events to a reporter that lives elsewhere.
class Forward final : public report::Reporter {
 public:
  explicit Forward(report::Reporter& to) : to_(to) {}
  void on(const report::Event& event) override { to_.on(event); }

 private:
  report::Reporter& to_;
};

report::RunStarted started_of(const CheckPlan& plan, const RunHead& head,
                              const CheckSettings& settings, const std::string& run_id,
                              unsigned workers) {
  report::RunStarted started;
  started.run_id = run_id;
  started.subject = head.subject;
  started.command_line = settings.command_line;
  started.environment = environment_of(head.device);
  started.budget = {settings.seed, to_string(settings.battery), settings.false_alarms,
                    settings.time_limit_seconds, workers};
  started.check_count = plan.jobs.size();
  return started;
}

}  // namespace

report::Environment environment_of(const std::string& device) {
  utsname system{};
  ::uname(&system);
  return {kVersion, "g++ " __VERSION__,
          fmt::format("{} {} {}", system.sysname, system.release, system.machine),
          describe_kernels(), device};
}

ExitCode run_and_report(const CheckPlan& plan, const RunHead& head, const CheckSettings& settings,
                        const Streams& streams) {
  const auto formats = formats_of(settings.reports);
  warn_of_unwritable(settings.report_dir, streams.err);
  const std::string run_id = store::make_run_id();
  store::RunStore runs(settings.report_dir, run_id);
  Tally tally;
  report::Fanout reporters;
  reporters.add(std::make_unique<Forward>(tally));
  reporters.add(std::make_unique<report::ProgressReporter>(
      settings.output.progress, [&](const std::string& text) { streams.err << text << std::flush; },
      now));
  reporters.add(std::make_unique<report::JsonLinesReporter>([&](const std::string& line) {
    runs.log(line);
    if (settings.output.format == OutputFormat::kJsonLines) streams.out << line << std::flush;
  }));
  reporters.add(std::make_unique<report::Collector>([&](const report::Run& run) {
    print_run(run, settings.output, streams.out);
    keep_run(run, formats, runs, settings.output, streams);
  }));
  WitnessKeeper keeper(settings.report_dir, head.replay_arguments, reporters);

  RunnerOptions options;
  options.workers =
      settings.workers != 0 ? settings.workers : std::max(1u, std::thread::hardware_concurrency());
  options.stops_at_violation = settings.stops_at_violation;
  options.interrupted = is_interrupted;
  const double begin = now();
  if (settings.time_limit_seconds) {
    options.is_time_up = [end = begin + *settings.time_limit_seconds] { return now() >= end; };
  }
  catch_interrupts();
  keeper.on(started_of(plan, head, settings, run_id, options.workers));
  for (const report::CheckExempted& exempted : plan.exempted) keeper.on(exempted);
  const RunnerEnd end = run_checks(plan.jobs, options, keeper);
  const bool was_interrupted = end != RunnerEnd::kComplete;
  const ExitCode code = tally.exit_code(settings, was_interrupted);
  keeper.on(report::RunFinished{static_cast<int>(code), was_interrupted,
                                settings.allows_inconclusive, now() - begin});
  if (end == RunnerEnd::kAbandoned) {
    // Threads still run that nobody can end, so no destructor may be reached.
    std::_Exit(static_cast<int>(code));
  }
  return code;
}

}  // namespace draftproof::tools
