#include "tools/draftproof/check_plan.h"

#include <algorithm>

namespace draftproof::tools {

std::vector<properties::Property> selected_properties(const std::vector<std::string>& ids) {
  for (const std::string& id : ids) properties::property(id);  // throws for an unknown id
  std::vector<properties::Property> selected;
  for (const properties::Property& property : properties::catalog()) {
    const bool is_named = std::find(ids.begin(), ids.end(), property.id) != ids.end();
    if (ids.empty() || is_named) selected.push_back(property);
  }
  return selected;
}

report::CheckResult blank_result(const properties::Property& property, const SubjectChoice& choice,
                                 const std::string& rule) {
  report::CheckResult blank;
  blank.id = property.id + "/" + rule;
  blank.rule = rule;
  blank.device = choice.device;
  blank.statement = property.statement;
  blank.citation = property.citation;
  blank.verdict.claim = property.claim;
  blank.verdict.property = property.id;
  blank.verdict.subject = choice.name;
  return blank;
}

CheckPlan plan_checks(const SubjectChoice& choice,
                      const std::vector<properties::Property>& properties,
                      const properties::Settings& settings) {
  CheckPlan plan;
  for (const std::string& rule : choice.rules) {
    const SubjectInstance probe = choice.make(rule);
    for (const properties::Property& property : properties) {
      const report::CheckResult blank = blank_result(property, choice, rule);
      const std::string reason =
          property.exemption ? property.exemption(probe.verifier->traits()) : "";
      if (!reason.empty()) {
        plan.exempted.push_back({blank.id, reason});
        continue;
      }
      plan.jobs.push_back({blank, [=](const CheckContext& context) {
                             const SubjectInstance instance = choice.make(rule);
                             properties::Settings own = settings;
                             own.stopped = context.stopped;
                             own.progress = context.progress;
                             report::CheckResult result = blank;
                             result.verdict = property.check(instance.subject(), own);
                             result.verdict.property = property.id;
                             result.verdict.subject = choice.name;
                             return std::vector{result};
                           }});
    }
  }
  return plan;
}

}  // namespace draftproof::tools
