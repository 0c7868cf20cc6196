// JUnit: what build servers read. One <testcase> per check; violated is exactly one <failure>
// (servers keep one), inconclusive is <skipped>, or <failure> when the gate counts it as one, an
// internal error is <error>. Numbers travel in <properties>.
#pragma once

#include <string>

#include "tools/report/report.h"

namespace draftproof::tools::report {

std::string junit_of(const Run& run);

}  // namespace draftproof::tools::report
