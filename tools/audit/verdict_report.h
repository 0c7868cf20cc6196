// Verdict report: the verdicts of a recorded run as the checks of a report, with what a reader
// needs to know of the run: what was audited, against what, what was left out and why.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "tools/audit/run_record.h"
#include "tools/report/report.h"

namespace draftproof::tools::audit {

/// One check a verdict, "AUDIT/SETTING", in the order of checks_of(); `settings` are indices, none:
/// all of the matrix.
std::vector<report::CheckResult> check_results(const properties::audits::Matrix& matrix,
                                               const properties::audits::Evidence& evidence,
                                               const properties::audits::JudgeSettings& judge,
                                               const std::vector<std::size_t>& settings);

/// Audits that say nothing of this run, and why: "AUDIT/all settings".
std::vector<report::CheckExempted> exemptions(const properties::audits::Matrix& matrix,
                                              const properties::audits::JudgeSettings& judge);

/// Target, arms and size of the run, then what was told of it.
std::vector<report::Fact> run_facts(const RunRecord& record,
                                    const properties::audits::Evidence& evidence);

/// A verdict that has no ground: inconclusive, and `why` in place of its evidence.
void take_back(oracle::Verdict& verdict, const std::string& why);
/// Nothing that came may be judged: `why` takes the place of every violation and every upheld line.
void take_back(std::vector<report::CheckResult>& checks, const std::string& why);

/// Writes FOLDER/cases/AUDIT-SETTING.json for each violation: its witness, the requests that show
/// it, the answers of both arms. `curl` gives a request as one line; may be empty. Throws
/// Error(kEnvironment).
using CurlOf = std::function<std::string(properties::Arm, const properties::SamplingRequest&)>;
void write_findings(const std::filesystem::path& folder,
                    const std::vector<report::CheckResult>& checks,
                    const properties::audits::Evidence& evidence, const CurlOf& curl);

}  // namespace draftproof::tools::audit
