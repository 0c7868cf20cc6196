// check: holds the properties against our kernels, a mutant, or anybody's kernel.
#include <fmt/format.h>

#include <algorithm>
#include <ostream>

#include "reference/error.h"
#include "tools/draftproof/check_run.h"
#include "tools/draftproof/commands/check_calibration.h"
#include "tools/draftproof/commands/check_card.h"
#include "tools/draftproof/commands/commands.h"

namespace draftproof::tools {
namespace {

bool is_card(const SubjectSettings& settings) {
  return settings.kernels.size() == 1 && settings.kernels.front().ends_with(".toml");
}

void refuse_clashes(const CheckSettings& settings) {
  if (settings.subject.kernels.empty()) return;
  if (!settings.subject.subject.empty()) {
    throw Error(ErrorKind::kInput, "a subject is named already; leave one of the two out",
                "--kernel and --subject");
  }
  if (is_card(settings.subject) && !settings.properties.empty()) {
    throw Error(ErrorKind::kInput,
                "a kernel card brings its own checks; leave the property names out",
                settings.properties.front());
  }
}

/// One job: a card's checks share its launches.
CheckPlan plan_card(const CheckSettings& settings, const std::string& device_name) {
  CheckPlan plan;
  report::CheckResult blank;
  blank.id = settings.subject.kernels.front();
  blank.rule = "card";
  blank.device = device_name;
  blank.verdict.property = "kernel_card";
  blank.verdict.subject = blank.id;
  plan.jobs.push_back({blank, [settings, blank](const CheckContext& context) {
                         const auto device = make_device(settings.subject.device);
                         CardCheck card;
                         card.card = settings.subject.kernels.front();
                         card.device = device.get();
                         card.seed = settings.seed;
                         card.battery = settings.battery;
                         card.stopped = context.stopped;
                         card.progress = context.progress;
                         std::vector<report::CheckResult> results;
                         for (oracle::Verdict& verdict : check_card(card)) {
                           report::CheckResult result = blank;
                           result.id = verdict.property + "/card";
                           result.verdict = std::move(verdict);
                           results.push_back(std::move(result));
                         }
                         return results;
                       }});
  return plan;
}

std::string replay_arguments(const CheckSettings& settings, const SubjectChoice& choice) {
  std::string text;
  if (settings.subject.kernels.empty()) {
    text = " --subject " + choice.name;
  } else {
    for (const std::string& file : settings.subject.kernels) text += " --kernel " + file;
  }
  if (!settings.subject.device.empty()) text += " --device " + settings.subject.device;
  if (settings.report_dir != CheckSettings{}.report_dir) {
    text += " --report-dir " + settings.report_dir;
  }
  return text;
}

}  // namespace

ExitCode check(const CheckSettings& settings, const Streams& streams) {
  const auto& names = settings.properties;
  if (std::find(names.begin(), names.end(), kCalibration) != names.end())
    return check_calibration(settings, streams);
  refuse_clashes(settings);
  if (is_card(settings.subject)) {
    const auto device = make_device(settings.subject.device);
    // Everything that can be wrong with a card, its files and its texts, before any check starts.
    load_card(*device, settings.subject.kernels.front(), "");
    return run_and_report(plan_card(settings, device->name()),
                          {settings.subject.kernels.front(), device->name(), ""}, settings,
                          streams);
  }
  const auto selected = selected_properties(settings.properties);
  const SubjectChoice choice = choose_subject(settings.subject);
  for (const std::string& warning : choice.warnings) streams.err << "warning: " << warning << "\n";
  properties::Settings property_settings;
  property_settings.seed = settings.seed;
  property_settings.battery = settings.battery;
  const CheckPlan plan = plan_checks(choice, selected, property_settings);
  if (plan.jobs.empty()) {
    const std::string reason =
        plan.exempted.empty() ? "" : fmt::format(" ({})", plan.exempted.front().reason);
    throw Error(ErrorKind::kInput,
                fmt::format("selects no check of {}{}; see: draftproof list properties",
                            choice.name, reason),
                "the filter");
  }
  // The budget is the run's: every check gets its share.
  property_settings.false_alarms = settings.false_alarms / static_cast<double>(plan.jobs.size());
  return run_and_report(plan_checks(choice, selected, property_settings),
                        {choice.name, choice.device, replay_arguments(settings, choice)}, settings,
                        streams);
}

}  // namespace draftproof::tools
