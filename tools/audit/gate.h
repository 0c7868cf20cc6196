// Gate: what a run of audits comes to, as an exit code and the reasons for it.
//
//   1    a check is violated and known.toml does not accept it, or known.toml accepts what is gone
//   2    a claim that is asked for is not shown: a check of it is inconclusive, or none is there
//   0    every claim asked for is upheld
// Claims asked for are those of [gate] require; where none is named, those of the ladder (what is
// emitted) that have a check: side claims (seeds, logprobs, counters) may stay open, and count as
// soon as they are violated. A check that was NOT EXERCISED speaks neither for nor against its
// claim, which needs another one then.
#pragma once

#include <string>
#include <vector>

#include "tools/audit/known_findings.h"
#include "tools/draftproof/exit_code.h"

namespace draftproof::tools::audit {

struct GateSettings {
  std::vector<std::string> required_claims;  ///< of oracle::all_claims()
  bool inconclusive_is_failure = true;
  std::vector<KnownFinding> known;
};

struct GateResult {
  ExitCode code = ExitCode::kUpheld;
  std::vector<std::string> reasons;  ///< a line each; empty at 0
};

/// Marks accepted findings in `checks`.
GateResult judge_gate(const GateSettings& settings, const std::string& today,
                      std::vector<report::CheckResult>& checks);

}  // namespace draftproof::tools::audit
