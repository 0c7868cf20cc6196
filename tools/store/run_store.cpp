#include "tools/store/run_store.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <chrono>
#include <random>

#include "reference/error.h"
#include "tools/report/json.h"
#include "tools/report/junit.h"
#include "tools/report/markdown.h"
#include "tools/store/atomic_file.h"

namespace draftproof::tools::store {

std::string make_run_id() {
  const auto now = std::chrono::system_clock::to_time_t(std::chrono::system_clock::now());
  std::random_device entropy;
  return fmt::format("{:%Y%m%d-%H%M%S}-{:04x}", fmt::gmtime(now), entropy() & 0xffffu);
}

ReportFormat report_format(std::string_view name) {
  if (name == "json") return ReportFormat::kJson;
  if (name == "junit") return ReportFormat::kJunit;
  if (name == "jsonl") return ReportFormat::kJsonLines;
  if (name == "md") return ReportFormat::kMarkdown;
  if (name == "github") return ReportFormat::kGithub;
  throw Error(
      ErrorKind::kInput,
      fmt::format("unknown format \"{}\"; known: json, junit, jsonl, md, github, none", name),
      "--report");
}

void RunStore::write(const report::Run& run, ReportFormat format) const {
  switch (format) {
    case ReportFormat::kJson:
      return write_atomically(folder() / "report.json", report::json_of(run));
    case ReportFormat::kJunit:
      return write_atomically(folder() / "junit.xml", report::junit_of(run));
    case ReportFormat::kJsonLines:
      return write_atomically(folder() / "log.jsonl", log_);
    case ReportFormat::kMarkdown:
      return write_atomically(folder() / "report.md", report::markdown_of(run));
    case ReportFormat::kGithub:
      return;
  }
}

void RunStore::point_latest() const { link_atomically(report_dir_ / "latest", run_id_); }

}  // namespace draftproof::tools::store
