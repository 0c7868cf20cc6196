// Engine trial: a toy engine served over loopback, right or with one state fault, and audited from
// outside. The audits get requests and answers; which fault is on, or none, they are not told.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "fixtures/state_faults/state_fault.h"
#include "oracle/verdict.h"

namespace draftproof::tools {

struct EngineTrial {
  std::vector<oracle::Verdict> verdicts;
  std::uint64_t requests = 0;  ///< completions that were asked for, both arms
  std::int64_t drafted = 0;    ///< by the engine's own count
  std::int64_t accepted = 0;
};

/// The servers run in this process while the audits do. `fault` none: the right engine in the same
/// setting, which is the scene of `setting`. Witnesses say `replay`. Laws are sampled by
/// `sample_count` completions of each of four prompts.
EngineTrial try_engine(const fixtures::StateFault& setting, const fixtures::StateFault* fault,
                       const std::string& replay, std::size_t sample_count = 1024);

}  // namespace draftproof::tools
