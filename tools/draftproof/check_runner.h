// Check runner: runs checks on several threads and reports them in their own order, so that the
// output of a run does not depend on timing.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "tools/report/report.h"

namespace draftproof::tools {

/// What a running check may ask for and must tell.
struct CheckContext {
  /// True when time is up or the user interrupts.
  std::function<bool()> stopped;
  std::function<void(std::uint64_t, std::uint64_t)> progress;
};

/// One unit of work. It owns whatever it runs on, because two of them run at the same time.
struct CheckJob {
  /// The result with everything but the answer: reported when the check cannot give one.
  report::CheckResult blank;
  /// Usually one result; a kernel card gives one per property.
  std::function<std::vector<report::CheckResult>(const CheckContext&)> run;
};

struct RunnerOptions {
  unsigned workers = 1;
  /// Report nothing behind the first violated check, and do not start more.
  bool stops_at_violation = false;
  std::function<bool()> interrupted = [] { return false; };
  std::function<bool()> is_time_up = [] { return false; };
  /// How long an interrupted run waits for checks that do not look at `stopped`.
  double grace_seconds = 3;
};

enum class RunnerEnd {
  kComplete,
  kInterrupted,
  /// Interrupted, and checks are still running on threads that cannot be ended: the process must
  /// leave without joining them.
  kAbandoned,
};

/// Emits CheckStarted, CheckProgress and CheckFinished, the last in the order of `jobs`, always
/// from the calling thread. An exception in a check is that check's result and hides no other.
RunnerEnd run_checks(const std::vector<CheckJob>& jobs, const RunnerOptions& options,
                     report::Reporter& reporter);

}  // namespace draftproof::tools
