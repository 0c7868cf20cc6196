// report: renders a run again, or holds it against an earlier one.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <ostream>

#include "reference/error.h"
#include "tools/audit/recorded_run.h"
#include "tools/draftproof/audit_conclusion.h"
#include "tools/draftproof/judge_settings.h"
#include "tools/draftproof/run_output.h"
#include "tools/store/atomic_file.h"

namespace draftproof::tools {
namespace {

namespace fs = std::filesystem;

/// A run by its folder, a file in it, or its name below the report folder.
fs::path folder_of(const std::string& named, const std::string& report_dir,
                   const std::string& place) {
  std::error_code error;
  for (const fs::path& path : {fs::path(named), fs::path(report_dir) / named}) {
    if (fs::is_directory(path, error)) return fs::weakly_canonical(path, error);
    if (fs::exists(path, error)) return fs::weakly_canonical(path, error).parent_path();
  }
  throw Error(ErrorKind::kInput,
              fmt::format("no run {}: neither a folder nor a run in {}", named, report_dir), place);
}

/// Verdicts by check, as the run's report.json has them.
std::map<std::string, std::string> verdicts_of(const fs::path& folder) {
  const fs::path file = folder / "report.json";
  std::map<std::string, std::string> verdicts;
  try {
    const auto report = nlohmann::json::parse(store::read_file(file));
    for (const auto& check : report.at("checks"))
      verdicts[check.at("id")] = check.at("verdict").get<std::string>();
  } catch (const nlohmann::json::exception&) {
    throw Error(ErrorKind::kInput, "is no report of draftproof; render it again with --format json",
                file.string());
  }
  return verdicts;
}

ExitCode compare(const fs::path& before_folder, const fs::path& now_folder,
                 const Streams& streams) {
  const auto before = verdicts_of(before_folder);
  const auto now = verdicts_of(now_folder);
  std::map<std::string, std::vector<std::string>> lines;
  ExitCode code = ExitCode::kUpheld;
  const auto worsen = [&](ExitCode to) {
    if (code == ExitCode::kUpheld || to == ExitCode::kViolated) code = to;
  };
  for (const auto& [id, verdict] : now) {
    const auto earlier = before.find(id);
    const std::string was = earlier == before.end() ? "not checked" : earlier->second;
    if (was == verdict) continue;
    lines[verdict].push_back(fmt::format("{}: {}, was {}", id, verdict, was));
    if (verdict == "violated") worsen(ExitCode::kViolated);
    if (verdict == "inconclusive" && was == "upheld") worsen(ExitCode::kInconclusive);
  }
  for (const auto& [id, verdict] : before) {
    if (now.contains(id)) continue;
    lines["not checked"].push_back(fmt::format("{}: not checked, was {}", id, verdict));
    if (verdict == "upheld") worsen(ExitCode::kInconclusive);
  }
  streams.out << fmt::format("{} against {}\n", now_folder.filename().string(),
                             before_folder.filename().string());
  std::size_t changed = 0;
  for (const char* verdict : {"violated", "inconclusive", "not checked", "upheld"}) {
    for (const std::string& line : lines[verdict]) streams.out << "  " << line << "\n";
    changed += lines[verdict].size();
  }
  streams.out << fmt::format("{} of {} checks changed. exit {}.\n", changed, now.size(),
                             static_cast<int>(code));
  return code;
}

}  // namespace

ExitCode report_command(const ReportSettings& settings, const Streams& streams) {
  const fs::path folder = folder_of(settings.run, settings.report_dir, "report");
  if (!settings.baseline.empty())
    return compare(folder_of(settings.baseline, settings.report_dir, "--baseline"), folder,
                   streams);
  audit::RecordedRun run = audit::read_run({(folder / "run.sqlite").string()});
  audit::ToyLaw law;
  auto judge = audit::judge_settings(run.record, law, folder.string(), folder.string());
  judge.replay =
      fmt::format("draftproof judge {} --show {{case}}", (folder / "run.sqlite").string());
  Conclusion conclusion{.record = run.record,
                        .evidence = run.evidence,
                        .judge = judge,
                        .gate = {run.record.required_claims, run.record.inconclusive_is_failure,
                                 known_findings("", "")},
                        .run_id = folder.filename().string(),
                        .subject = judge.speculative.name,
                        .command_line = settings.command_line,
                        .changed = run.changed,
                        .allows_inconclusive = !run.record.inconclusive_is_failure,
                        .output = output_settings(settings.output, streams),
                        .formats = formats_of(settings.formats),
                        .report_dir = folder.parent_path().string(),
                        .keeps_findings = false};
  return conclude(conclusion, streams);
}

}  // namespace draftproof::tools
