// Exit codes: the one place where the process's answer is defined. `draftproof --help` prints it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "oracle/verdict.h"

namespace draftproof::tools {

/// A violation, which has a witness, dominates an internal error, which dominates "inconclusive".
enum class ExitCode : int {
  kUpheld = 0,
  kViolated = 1,
  kInconclusive = 2,
  kCannotStart = 3,
  kInternalError = 4,
  kInterrupted = 130,
};

/// One line: when the code is returned.
std::string_view meaning(ExitCode code);
/// All codes with their meanings, for --help.
std::string exit_code_table();

ExitCode exit_code_of(oracle::VerdictKind verdict, bool inconclusive_is_allowed);

}  // namespace draftproof::tools
