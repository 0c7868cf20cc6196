// Command line: arguments to settings to a command, and every kind of error to its exit code.
#pragma once

#include <string>
#include <vector>

#include "tools/draftproof/settings.h"

namespace draftproof::tools {

/// Runs `draftproof ARGUMENTS` and returns the process's exit code. Every error becomes one line
/// with place and remedy on streams.err. Installs signal handlers when a command checks something.
int run_command_line(const std::vector<std::string>& arguments, const Streams& streams);

}  // namespace draftproof::tools
