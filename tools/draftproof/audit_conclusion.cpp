#include "tools/draftproof/audit_conclusion.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <ostream>

#include "reference/error.h"
#include "tools/audit/approximate_checks.h"
#include "tools/audit/arm_roles.h"
#include "tools/audit/speed.h"
#include "tools/draftproof/check_run.h"
#include "tools/draftproof/interrupt.h"
#include "tools/draftproof/run_output.h"
#include "tools/report/json.h"

namespace draftproof::tools {
namespace {

namespace fs = std::filesystem;

report::RunStarted started_of(const Conclusion& conclusion, std::size_t check_count) {
  report::RunStarted started;
  started.kind = "audit";
  started.run_id = conclusion.run_id;
  started.subject = conclusion.subject;
  started.command_line = conclusion.command_line;
  started.environment = environment_of("an engine");
  started.budget = {conclusion.record.matrix.seed, "audit", conclusion.judge.false_alarms,
                    conclusion.time_limit_s, 1};
  if (conclusion.record.approximate && audit::has_score_budget(*conclusion.record.approximate))
    started.budget.false_alarms *= 2;  // scores have the other half
  started.check_count = check_count;
  started.facts = audit::run_facts(conclusion.record, conclusion.evidence);
  return started;
}

ExitCode code_of(const Conclusion& conclusion, const audit::GateResult& gate) {
  if (conclusion.is_interrupted) return ExitCode::kInterrupted;
  // What cannot be judged at all is not waved through by --allow-inconclusive.
  if (!conclusion.changed.empty()) return ExitCode::kInconclusive;
  if (gate.code == ExitCode::kViolated) return gate.code;
  const bool is_open = gate.code == ExitCode::kInconclusive || conclusion.is_cut;
  if (!is_open) return ExitCode::kUpheld;
  return conclusion.allows_inconclusive && !conclusion.is_cut ? ExitCode::kUpheld
                                                              : ExitCode::kInconclusive;
}

void keep_findings(const Conclusion& conclusion, const fs::path& folder,
                   const std::vector<report::CheckResult>& checks, const Streams& streams) {
  if (!conclusion.keeps_findings) return;
  try {
    audit::write_findings(folder, checks, conclusion.evidence, conclusion.curl);
  } catch (const Error& error) {
    streams.err << "warning: no finding is kept: " << error.what() << "\n";
  }
}

double seconds_now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

/// A quarter of the time that was given, a minute at most.
double reduction_time(const Conclusion& conclusion) {
  constexpr double kMost = 60;
  return std::min(kMost, conclusion.time_limit_s.value_or(4 * kMost) / 4);
}

void look_closer(const Conclusion& conclusion, const fs::path& folder,
                 std::vector<report::CheckResult>& checks) {
  audit::AftermathOrder order{.matrix = conclusion.record.matrix,
                              .evidence = conclusion.evidence,
                              .judge = conclusion.judge};
  if (!conclusion.is_interrupted) order.ask = conclusion.ask;
  order.curl_of = conclusion.curl;
  order.time_limit_s = reduction_time(conclusion);
  order.now = seconds_now;
  order.is_interrupted = is_interrupted;
  if (conclusion.keeps_findings) order.folder = folder;
  if (!conclusion.record.toy.empty()) order.judge_options = "--toy " + conclusion.record.toy;
  // Scores are of all settings together: there is no request to localise them to.
  const auto scores = std::stable_partition(checks.begin(), checks.end(), [&](const auto& check) {
    return std::any_of(order.matrix.settings.begin(), order.matrix.settings.end(),
                       [&](const auto& each) { return each.id == check.verdict.setting; });
  });
  std::vector<report::CheckResult> apart(scores, checks.end());
  checks.erase(scores, checks.end());
  audit::add_aftermath(order, checks);
  checks.insert(checks.end(), apart.begin(), apart.end());
}

/// What a mode that is declared lossy costs in scores, behind the audits.
void add_scores(const Conclusion& conclusion, const audit::RoleFaults& faults,
                std::vector<report::CheckResult>& checks) {
  const auto& gate = conclusion.record.approximate;
  if (!gate) return;
  audit::ApproximateOrder order{.gate = *gate,
                                .matrix = conclusion.record.matrix,
                                .evidence = conclusion.evidence,
                                .judge = conclusion.judge,
                                .false_alarms = conclusion.judge.false_alarms};
  order.folder = fs::path(conclusion.report_dir) / conclusion.run_id / "scores";
  order.why_not_started = conclusion.is_interrupted ? "interrupted" : conclusion.why_not_scored;
  auto scores = audit::approximate_checks(order);
  // Scores of arms that are no pair settle nothing.
  audit::hold_open(faults, order.matrix, order.evidence, order.judge, scores);
  audit::settle_by_scores(*gate, scores, checks);
  checks.insert(checks.end(), scores.begin(), scores.end());
}

/// Upheld laws that are bounded less tightly than was asked for: a pass has a size.
std::string coarseness_of(const std::vector<report::CheckResult>& checks, double effect_tv) {
  std::size_t coarse = 0;
  double widest = 0;
  for (const report::CheckResult& check : checks) {
    const auto& verdict = check.verdict;
    if (verdict.kind != oracle::VerdictKind::kUpheld || !verdict.effect) continue;
    if (verdict.effect->total_variation_bounds.high <= effect_tv) continue;
    ++coarse;
    widest = std::max(widest, verdict.effect->total_variation_bounds.high);
  }
  if (coarse == 0) return "";
  return fmt::format(
      "{} upheld {} of a law could not certify a total variation of {:.3g} (--effect-tv), at worst "
      "{:.3g}: more --trials, or a larger --battery, narrow {}",
      coarse, coarse == 1 ? "check" : "checks", effect_tv, widest, coarse == 1 ? "it" : "them");
}

}  // namespace

ExitCode conclude(const Conclusion& conclusion, const Streams& streams) {
  auto checks = audit::check_results(conclusion.record.matrix, conclusion.evidence,
                                     conclusion.judge, conclusion.settings);
  const auto faults = audit::role_faults(conclusion.record, conclusion.evidence);
  add_scores(conclusion, faults, checks);
  audit::hold_open(faults, conclusion.record.matrix, conclusion.evidence, conclusion.judge, checks);
  if (!conclusion.changed.empty()) audit::take_back(checks, conclusion.changed);
  const audit::GateResult gate = audit::judge_gate(conclusion.gate, audit::today(), checks);
  const ExitCode code = code_of(conclusion, gate);

  store::RunStore runs(conclusion.report_dir, conclusion.run_id);
  look_closer(conclusion, runs.folder(), checks);
  report::Fanout reporters;
  reporters.add(std::make_unique<report::JsonLinesReporter>([&](const std::string& line) {
    runs.log(line);
    if (conclusion.output.format == OutputFormat::kJsonLines) streams.out << line << std::flush;
  }));
  reporters.add(std::make_unique<report::Collector>([&](const report::Run& run) {
    print_run(run, conclusion.output, streams.out);
    keep_run(run, conclusion.formats, runs, conclusion.output, streams);
  }));
  reporters.on(started_of(conclusion, checks.size()));
  for (const auto& exempted : audit::exemptions(conclusion.record.matrix, conclusion.judge))
    reporters.on(exempted);
  for (std::size_t i = 0; i < checks.size(); ++i) reporters.on(report::CheckFinished{i, checks[i]});
  if (auto speed = audit::speed_section(conclusion.record.matrix, conclusion.evidence,
                                        conclusion.record.traffic, conclusion.judge.target,
                                        conclusion.judge.draft))
    reporters.on(*speed);
  for (const std::string& warning : conclusion.warnings) reporters.on(report::Warning{warning});
  for (const std::string& fault : {faults.baseline, faults.speculative})
    if (!fault.empty()) reporters.on(report::Warning{fault});
  if (const std::string coarse = coarseness_of(checks, conclusion.judge.effect_tv); !coarse.empty())
    reporters.on(report::Warning{coarse});
  if (code != ExitCode::kUpheld)
    for (const std::string& reason : gate.reasons) reporters.on(report::Warning{"gate: " + reason});
  reporters.on(report::RunFinished{static_cast<int>(code), conclusion.is_interrupted,
                                   conclusion.allows_inconclusive, conclusion.seconds});
  keep_findings(conclusion, runs.folder(), checks, streams);
  return code;
}

std::vector<audit::KnownFinding> known_findings(const std::string& named,
                                                const std::string& folder) {
  if (!named.empty()) return audit::read_known(named);
  const fs::path beside = fs::path(folder) / "known.toml";
  std::error_code error;
  if (!fs::exists(beside, error)) return {};
  return audit::read_known(beside);
}

}  // namespace draftproof::tools
