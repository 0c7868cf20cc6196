// Launch line: reads the command line of an engine, and says which of its options this version of
// the engine lacks, how they are spelt now, what happens otherwise, and which give the law up.
#pragma once

#include <string>
#include <vector>

#include "tools/audit/doctor.h"
#include "tools/audit/launch_flags.h"

namespace draftproof::tools::audit {

struct LaunchFinding {
  std::string option;  ///< as typed, without its value
  Standing standing = Standing::kNotKnown;
  std::string says;
  std::string now;  ///< what to write in its place; empty: nothing
};

struct LaunchReport {
  std::string engine;
  std::string version;  ///< as told; empty: the newest that was read
  std::string source;   ///< the snapshot that answered
  std::vector<LaunchFinding> findings;
  bool starts_speculation = false;  ///< by its options
  std::size_t other_options = 0;    ///< that are not about speculation, and not looked at
};

/// Words of a shell's line: quotes and backslashes, no expansion. Throws Error(kInput) at
/// "--command" for a quote that does not end.
std::vector<std::string> words_of(const std::string& line);

/// `engine` empty: by the program's name. `version` empty: the newest snapshot. Throws
/// Error(kInput) at "--command" for a program that is no engine known here, at "--engine-version"
/// for no version.
LaunchReport read_launch_line(const std::string& line, const std::string& engine,
                              const std::string& version);

/// 3: an option is lacking. 2: the law is given up, no draft may be made, or nothing is known of an
/// option about speculation. 0 otherwise.
int exit_code_of(const LaunchReport& report);

std::string page_of(const LaunchReport& report, DoctorForm form);

}  // namespace draftproof::tools::audit
