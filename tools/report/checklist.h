// Checklist: what a reviewer of a speculative decoder asks, and what a run has to say to each
// point. A point that no check touched is "not exercised", which is never an answer.
#pragma once

#include <string>
#include <vector>

#include "tools/report/report.h"

namespace draftproof::tools::report {

struct ChecklistPoint {
  std::string id;
  std::string question;
  std::vector<std::string> properties;   ///< ids of those that speak to it; empty: none does yet
  std::vector<std::string> audits = {};  ///< the same of runs that audit an engine
};

/// In the order in which a reviewer goes through them.
const std::vector<ChecklistPoint>& checklist();

/// "upheld", "violated", "inconclusive" or "not exercised". A point is upheld only when each of its
/// properties (of an audit: audits) was checked, or says nothing about the subject.
std::string answer_of(const ChecklistPoint& point, const Run& run);

}  // namespace draftproof::tools::report
