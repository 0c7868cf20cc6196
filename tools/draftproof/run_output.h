// Run output: a finished run printed to stdout and kept as files, alike for every command that
// judges something.
#pragma once

#include <iosfwd>
#include <string>
#include <vector>

#include "tools/draftproof/settings.h"
#include "tools/report/report.h"
#include "tools/store/run_store.h"

namespace draftproof::tools {

/// "json,junit" or "none". Throws Error(kInput) as store::report_format.
std::vector<store::ReportFormat> formats_of(const std::string& list);

/// As output.format says; JSON lines have been written as the events happened.
void print_run(const report::Run& run, const OutputSettings& output, std::ostream& out);

/// Writes the files of `formats` and points "latest" at them; says where on streams.err, and warns
/// there of what cannot be written. Returns whether files are kept.
bool keep_run(const report::Run& run, const std::vector<store::ReportFormat>& formats,
              const store::RunStore& runs, const OutputSettings& output, const Streams& streams);

}  // namespace draftproof::tools
