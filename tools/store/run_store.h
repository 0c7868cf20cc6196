// Run store: DIR/RUN/{report.json, junit.xml, log.jsonl, report.md} and DIR/latest.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "tools/report/report.h"

namespace draftproof::tools::store {

/// "20260117-141203-7f3a": UTC time and four digits that keep runs of one second apart.
std::string make_run_id();

enum class ReportFormat { kJson, kJunit, kJsonLines, kMarkdown, kGithub };

/// Throws Error(kInput) that lists the formats.
ReportFormat report_format(std::string_view name);

/// Writes one run's files whole or not at all, then points DIR/latest at them.
class RunStore {
 public:
  RunStore(std::filesystem::path report_dir, std::string run_id)
      : report_dir_(std::move(report_dir)), run_id_(std::move(run_id)) {}

  /// Keeps the line for log.jsonl.
  void log(const std::string& line) { log_ += line; }
  /// Writes `format`'s file of the run; kGithub has none. Throws Error(kEnvironment).
  void write(const report::Run& run, ReportFormat format) const;
  void point_latest() const;
  std::filesystem::path folder() const { return report_dir_ / run_id_; }

 private:
  std::filesystem::path report_dir_;
  std::string run_id_;
  std::string log_;
};

}  // namespace draftproof::tools::store
