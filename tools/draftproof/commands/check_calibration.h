// check calibration: the judge held to the error rates that it states (properties/calibration).
#pragma once

#include "tools/draftproof/exit_code.h"
#include "tools/draftproof/settings.h"

namespace draftproof::tools {

/// What `draftproof check` takes for the name of all calibration checks.
inline constexpr const char* kCalibration = "calibration";

/// Runs every calibration check of the battery and prints a page or JSON. Of the settings of
/// `check` it takes those that do not speak of a subject or of report files; others are refused
/// with Error(kInput).
ExitCode check_calibration(const CheckSettings& settings, const Streams& streams);

}  // namespace draftproof::tools
