// Text: what a person reads in a terminal. Table, what falls, the first witness as an argument,
// what the verdicts rest on, one closing line.
#pragma once

#include <string>

#include "tools/report/report.h"

namespace draftproof::tools::report {

struct TextStyle {
  bool with_color = false;
  int verbosity = 0;  ///< -1: no table, only what falls and the closing line; 1: with cell counts
};

std::string text_of(const Run& run, const TextStyle& style);

/// "Let ... Expected ... Observed ... Because ... Replay ...", wrapped with hanging indent.
std::string text_of(const oracle::Witness& witness);

}  // namespace draftproof::tools::report
