// Check plan: which checks a run has. Properties x rules of the subject, in catalog order.
#pragma once

#include <string>
#include <vector>

#include "properties/property.h"
#include "tools/draftproof/check_runner.h"
#include "tools/draftproof/subjects.h"

namespace draftproof::tools {

struct CheckPlan {
  std::vector<CheckJob> jobs;
  std::vector<report::CheckExempted> exempted;
};

/// The catalog's properties whose ids are in `ids`, in the catalog's order; all when empty. Throws
/// Error(kInput) that lists the ids.
std::vector<properties::Property> selected_properties(const std::vector<std::string>& ids);

/// `settings` without its callbacks, which every running check brings itself.
CheckPlan plan_checks(const SubjectChoice& choice,
                      const std::vector<properties::Property>& properties,
                      const properties::Settings& settings);

/// What a report says of a property before it was checked.
report::CheckResult blank_result(const properties::Property& property, const SubjectChoice& choice,
                                 const std::string& rule);

}  // namespace draftproof::tools
