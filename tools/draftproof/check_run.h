// Check run: jobs from start to report. What check and demo share.
#pragma once

#include "tools/draftproof/check_plan.h"
#include "tools/draftproof/exit_code.h"
#include "tools/draftproof/settings.h"

namespace draftproof::tools {

/// What a run is called and replayed by.
struct RunHead {
  std::string subject;
  std::string device;
  std::string replay_arguments;  ///< behind "draftproof replay ID"
};

/// Runs the plan's jobs, keeps witnesses and report files, prints to streams.out as
/// settings.output says. Does not return when interrupted checks do not end.
ExitCode run_and_report(const CheckPlan& plan, const RunHead& head, const CheckSettings& settings,
                        const Streams& streams);

/// The compiler and the machine, for reports.
report::Environment environment_of(const std::string& device);

}  // namespace draftproof::tools
