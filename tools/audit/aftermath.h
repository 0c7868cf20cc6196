// Aftermath: what a run says of its violations once they are found: where they sit, which parameter
// they came with, and, where the engine can be asked again, the least requests that still show
// them, as curl lines and as transcripts that `draftproof judge` takes. Adds notes to verdicts and
// changes none.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "tools/audit/reduce.h"
#include "tools/report/report.h"

namespace draftproof::tools::audit {

struct AftermathOrder {
  const properties::audits::Matrix& matrix;
  const properties::audits::Evidence& evidence;
  const properties::audits::JudgeSettings& judge;
  AskTogether ask = {};  ///< empty: nothing is asked again, and nothing reduced
  std::function<std::string(properties::Arm, const properties::SamplingRequest&)> curl_of = {};
  double time_limit_s = 60;          ///< of all reductions together
  std::uint64_t tries_max = 120;     ///< of each
  std::function<double()> now = {};  ///< seconds, monotonic; needed with `ask`
  std::function<bool()> is_interrupted = [] { return false; };
  std::filesystem::path folder = {};  ///< reduced transcripts go to FOLDER/cases; empty: nowhere
  /// What `draftproof judge` needs to know of the target: "--toy NAME"; empty: nothing.
  std::string judge_options = {};
};

/// One reduction an audit: of its first violated setting. Lossy modes that were declared, controls
/// and answers that are rescored are not reduced. Throws nothing that the engine does: what goes
/// wrong is a note.
void add_aftermath(const AftermathOrder& order, std::vector<report::CheckResult>& checks);

}  // namespace draftproof::tools::audit
