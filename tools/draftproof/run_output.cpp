#include "tools/draftproof/run_output.h"

#include <cstdlib>
#include <fstream>
#include <ostream>
#include <sstream>

#include "reference/error.h"
#include "tools/report/github.h"
#include "tools/report/json.h"
#include "tools/report/markdown.h"
#include "tools/report/text.h"

namespace draftproof::tools {
namespace {

/// Annotations for the job's page, and the table for its summary.
void annotate(const report::Run& run, const OutputSettings& output, const Streams& streams) {
  // A program reads stdout when it is JSON; the runner reads both streams.
  const bool is_for_people =
      output.format == OutputFormat::kText || output.format == OutputFormat::kMarkdown;
  (is_for_people ? streams.out : streams.err) << report::github_annotations_of(run) << std::flush;
  const char* summary = std::getenv("GITHUB_STEP_SUMMARY");
  if (summary == nullptr || *summary == '\0') return;
  std::ofstream file(summary, std::ios::app);
  file << report::markdown_of(run);
  if (!file.flush()) {
    streams.err << "warning: GITHUB_STEP_SUMMARY: cannot write " << summary << "\n";
  }
}

}  // namespace

std::vector<store::ReportFormat> formats_of(const std::string& list) {
  std::vector<store::ReportFormat> formats;
  std::istringstream names(list);
  for (std::string name; std::getline(names, name, ',');) {
    if (name == "none" || name.empty()) continue;
    formats.push_back(store::report_format(name));
  }
  return formats;
}

void print_run(const report::Run& run, const OutputSettings& output, std::ostream& out) {
  switch (output.format) {
    case OutputFormat::kText:
      out << report::text_of(run, {output.with_color, output.verbosity});
      break;
    case OutputFormat::kMarkdown:
      out << report::markdown_of(run);
      break;
    case OutputFormat::kJson:
      out << report::json_of(run);
      break;
    case OutputFormat::kJsonLines:
      break;  // written as the events happened
  }
  out.flush();
}

bool keep_run(const report::Run& run, const std::vector<store::ReportFormat>& formats,
              const store::RunStore& runs, const OutputSettings& output, const Streams& streams) {
  if (formats.empty()) return false;
  try {
    bool has_file = false;
    for (const store::ReportFormat format : formats) {
      if (format == store::ReportFormat::kGithub) {
        annotate(run, output, streams);
        continue;
      }
      runs.write(run, format);
      has_file = true;
    }
    if (!has_file) return false;
    runs.point_latest();
    if (output.verbosity >= 0) {
      streams.err << "report: " << runs.folder().string() << "\n";
    }
    return true;
  } catch (const Error& error) {
    streams.err << "warning: no report is kept: " << error.what() << "\n";
    return false;
  }
}

}  // namespace draftproof::tools
