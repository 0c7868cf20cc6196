// Runner programs: the texts of runners/*.py, as they were at build time, so that the command needs
// no file of the source tree.
#pragma once

#include <span>
#include <string_view>

namespace draftproof::tools::engines {

struct RunnerProgram {
  std::string_view file_name;
  std::string_view text;
};

std::span<const RunnerProgram> runner_programs();

}  // namespace draftproof::tools::engines
