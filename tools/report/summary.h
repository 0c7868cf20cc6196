// Summary: the sentences and the table that the text and the Markdown rendering share.
#pragma once

#include <string>
#include <vector>

#include "tools/report/report.h"
#include "tools/report/table.h"

namespace draftproof::tools::report {

/// "upheld", "VIOLATED", "inconclusive", or "error" when draftproof itself failed.
std::string verdict_word(const CheckResult& check);

/// verdict_word() and the finding's label: "VIOLATED: LOSSY", "upheld: NEAR TIE"; of a finding that
/// known.toml accepts, that too.
std::string verdict_cell(const CheckResult& check);

/// What the size of the answer is: "TV <= a/b", the measured effect, or the smallest visible one.
std::string effect_of(const CheckResult& check);

/// The e-value beside what alarms, where the check has one, then its own words.
std::string evidence_of(const CheckResult& check);

/// exp(log) for a reader, however large: "3.1e+09", "10^412", "a proof" for +infinity.
std::string e_value_text(double log_e_value);

/// One row per check, in order; a rule column only when the run has several rules.
Table table_of(const Run& run, bool with_wrapping);

/// Index of the verdict column in table_of(run).
std::size_t verdict_column(const Run& run);

/// "NOT support-safe (also not: marginal-lossless, sequence-lossless).", then what was not refuted.
/// Empty when nothing is refuted.
std::string refutation_line(const Run& run);

/// "12 checks: 10 upheld, 2 inconclusive in 3.1 s", with the exit code.
std::string closing_line(const Run& run);

/// The first check with a witness; nullptr when there is none.
const CheckResult* first_witness(const Run& run);

/// Label and text of the witness's argument, in order, empty texts left out.
std::vector<std::pair<std::string, std::string>> argument_of(const oracle::Witness& witness);

/// Distinct lines that belong under the table: assumptions, notes with their property, warnings.
std::vector<std::string> remarks_of(const Run& run);

}  // namespace draftproof::tools::report
