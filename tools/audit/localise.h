// Localise: where in a run a violated claim sits, read off its transcripts: position in the output,
// behind accepted, recovered and bonus tokens, length of the prompt, requests in flight, first time
// a prompt was asked or later; and which parameter switches it on, read off the verdicts of
// settings that differ in one. A description with numbers, never a verdict: the groups were chosen
// after looking.
//
// What stands behind a token that was accepted, recovered or bonus has the target's law all the
// same: what happened to the token before is part of the past (statistics of conditional.h).
// Whether a token itself was accepted is not, and nothing is grouped by it.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "oracle/verdict.h"
#include "properties/audits/judge.h"

namespace draftproof::tools::audit {

/// Tokens or trials of one group, and how much of the fault they show.
struct FaultGroup {
  std::string name;         ///< "3", "behind a recovered token", "1 to 4"
  std::uint64_t count = 0;  ///< tokens or trials
  double size = 0;          ///< in the table's unit
  oracle::Interval bounds;  ///< 95 %, each group for itself
};

struct FaultTable {
  std::string by;    ///< "position in the output", "what stands before", "prompt length", ...
  std::string unit;  ///< "total variation", "share of tokens", "share of trials"
  std::vector<FaultGroup> groups;
};

struct Localisation {
  std::vector<FaultTable> tables;  ///< those with two groups at least
  /// A line each: what the tables show, and the caution. For the notes of a verdict.
  std::vector<std::string> lines;
};

/// Of a violated verdict of this evidence: properties that are laws by total variation, others by
/// the share of tokens or trials at which they break. Nothing for properties that have no place in
/// an output (counters). Precondition: the verdict's setting is one of the matrix.
Localisation localise(const properties::audits::Matrix& matrix,
                      const properties::audits::Evidence& evidence,
                      const properties::audits::JudgeSettings& settings,
                      const oracle::Verdict& verdict);

/// One parameter in which two settings differ, and that the fault came with.
struct FaultSwitch {
  std::string property;
  std::string parameter;                     ///< "top_k"
  std::string upheld_value, violated_value;  ///< "8", "off"
  std::string upheld_setting, violated_setting;
  std::string visible_effect;  ///< what the upheld verdict would have seen
};
/// "top_k 8 -> off switches it on: upheld in t0.7-k8, violated in t0.7"
std::string to_string(const FaultSwitch& fault_switch);

/// Every pair of settings that differ in one parameter, of which one is upheld and one violated
/// under the same audit; where an audit does not speak of the other setting, under all audits of
/// the law together. In the order of the matrix.
std::vector<FaultSwitch> fault_switches(const properties::audits::Matrix& matrix,
                                        const std::vector<oracle::Verdict>& verdicts);

/// Parameters of a setting by name, as texts that compare: "temperature" -> "0.7", "top_k" ->
/// "off", ..., "concurrency" -> "4".
std::vector<std::pair<std::string, std::string>> parameters_of(
    const properties::audits::Setting& setting);

}  // namespace draftproof::tools::audit
