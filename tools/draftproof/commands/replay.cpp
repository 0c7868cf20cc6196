// replay: judges one recorded case again, on another subject or device if asked.
#include "reference/error.h"
#include "tools/draftproof/check_run.h"
#include "tools/draftproof/commands/commands.h"
#include "tools/store/case_store.h"

namespace draftproof::tools {

ExitCode replay(const ReplaySettings& settings, const Streams& streams) {
  const store::LoadedCase loaded = store::load_case(settings.report_dir, settings.name);
  const properties::Case& recorded = loaded.value;
  const properties::Property& property = properties::property(recorded.property);
  SubjectSettings subject = settings.subject;
  if (subject.rule.empty()) subject.rule = recorded.rule;
  const SubjectChoice choice = choose_subject(subject);
  const report::CheckResult blank = blank_result(property, choice, subject.rule);
  CheckPlan plan;
  plan.jobs.push_back({blank, [=](const CheckContext&) {
                         const SubjectInstance instance = choice.make(blank.rule);
                         report::CheckResult result = blank;
                         result.verdict = property.replay(instance.subject(), recorded);
                         result.verdict.property = property.id;
                         result.verdict.subject = choice.name;
                         return std::vector{result};
                       }});
  CheckSettings check;
  check.reports = "none";
  check.report_dir = settings.report_dir;
  check.output = settings.output;
  check.seed = recorded.seed.value_or(0);
  std::string arguments = " --subject " + choice.name;
  if (!subject.device.empty()) arguments += " --device " + subject.device;
  return run_and_report(plan, {choice.name, choice.device, arguments}, check, streams);
}

}  // namespace draftproof::tools
