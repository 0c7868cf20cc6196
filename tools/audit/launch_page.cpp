// What was read of a launch line, as a page.
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "tools/audit/launch_line.h"
#include "tools/report/table.h"

namespace draftproof::tools::audit {
namespace {

std::string word_of(Standing standing) {
  switch (standing) {
    case Standing::kHolds:
      return "has it";
    case Standing::kLimited:
      return "mind";
    case Standing::kNotKnown:
      return "not known here";
    case Standing::kFails:
      break;
  }
  return "LACKS IT";
}

std::string json_page(const LaunchReport& report) {
  nlohmann::json findings = nlohmann::json::array();
  for (const LaunchFinding& each : report.findings)
    findings.push_back({{"option", each.option},
                        {"standing", to_string(each.standing)},
                        {"says", each.says},
                        {"now", each.now}});
  const nlohmann::json page = {{"schema_version", "draftproof/launch/1"},
                               {"engine", report.engine},
                               {"version", report.version},
                               {"source", report.source},
                               {"starts_speculation", report.starts_speculation},
                               {"other_options", report.other_options},
                               {"findings", std::move(findings)},
                               {"exit_code", exit_code_of(report)}};
  return page.dump(2) + "\n";
}

}  // namespace

std::string page_of(const LaunchReport& report, DoctorForm form) {
  if (form == DoctorForm::kJson) return json_page(report);
  report::Table table({{"option"},
                       {report.engine + (report.version.empty() ? "" : " " + report.version)},
                       {"what that means", report::Align::kLeft, 64},
                       {"write", report::Align::kLeft, 48}});
  for (const LaunchFinding& each : report.findings)
    table.add({each.option, word_of(each.standing), each.says, each.now});
  std::string page;
  if (!report.findings.empty())
    page = (form == DoctorForm::kMarkdown ? table.markdown() : table.text()) + "\n";
  page += report.starts_speculation
              ? "by its options this line speculates: the speculative arm\n"
              : "no option of this line starts speculation: the baseline arm\n";
  if (report.other_options > 0)
    page += fmt::format("{} other options are not about speculation, and were not looked at\n",
                        report.other_options);
  return page + "read: " + report.source + "\n";
}

}  // namespace draftproof::tools::audit
