// Audit conclusion: from transcripts to the report and the exit code, alike for an audit that was
// collected just now and for files that are judged.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "tools/audit/aftermath.h"
#include "tools/audit/gate.h"
#include "tools/audit/verdict_report.h"
#include "tools/draftproof/settings.h"
#include "tools/store/run_store.h"

namespace draftproof::tools {

struct Conclusion {
  const audit::RunRecord& record;
  const properties::audits::Evidence& evidence;
  const properties::audits::JudgeSettings& judge;
  audit::GateSettings gate;
  std::vector<std::size_t> settings = {};  ///< of a shard; none: all
  std::string run_id;
  std::string subject;
  std::vector<std::string> command_line = {};
  std::vector<std::string> warnings = {};
  std::string changed = {};     ///< why nothing may be judged; empty: it may
  bool is_cut = false;          ///< collecting ended before its time: 2 at least
  bool is_interrupted = false;  ///< 130
  bool allows_inconclusive = false;
  std::optional<double> time_limit_s = {};
  double seconds = 0;
  audit::CurlOf curl = {};
  /// Both arms again, to reduce what is violated; empty: nobody is there.
  audit::AskTogether ask = {};
  OutputSettings output;
  std::vector<store::ReportFormat> formats = {};
  std::string report_dir;
  bool keeps_findings = false;  ///< FOLDER/cases of the run
  /// Why the score command is not started; empty: it is.
  std::string why_not_scored = {};
};

ExitCode conclude(const Conclusion& conclusion, const Streams& streams);

/// The entries of `named`, else of known.toml in `folder` when there is one. Throws as read_known.
std::vector<audit::KnownFinding> known_findings(const std::string& named,
                                                const std::string& folder);

}  // namespace draftproof::tools
