// Known findings: known.toml, the violations that somebody has looked at and accepts for now. Each
// has a reason and a day on which it ends. Strict: an entry whose finding is gone fails until its
// line is removed, so that the file never accepts what nobody has seen.
//
//   [[finding]]
//   id = "next_token_law/t0.7-k8"     # of a check; a '*' at its end stands for anything
//   reason = "vllm-project/vllm#54506, fixed in 0.33"
//   expires = 2027-03-01
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "tools/report/report.h"

namespace draftproof::tools::audit {

struct KnownFinding {
  std::string id;
  std::string reason;
  std::string expires;  ///< "2027-03-01"; the day itself still counts
  std::string place;    ///< "known.toml:3"
};

/// Throws Error(kInput) at "FILE:LINE": no TOML, an unknown or a missing key, no date, an id twice.
std::vector<KnownFinding> read_known(const std::filesystem::path& file);

/// Marks the violated checks that entries accept, and says what is wrong with entries: one line
/// each for those that have expired, and for those whose checks are all upheld or not there.
/// `today`: "2026-11-30".
struct KnownOutcome {
  std::vector<std::string> expired, gone;
};
KnownOutcome accept(const std::vector<KnownFinding>& known, const std::string& today,
                    std::vector<report::CheckResult>& checks);

/// The day by UTC.
std::string today();

}  // namespace draftproof::tools::audit
