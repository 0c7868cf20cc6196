#include "tools/report/markdown.h"

#include <fmt/format.h>

#include <algorithm>

#include "oracle/explain.h"
#include "tools/report/checklist.h"
#include "tools/report/summary.h"

namespace draftproof::tools::report {

std::string markdown_of(const Run& run) {
  const RunStarted& started = run.started;
  std::string out =
      fmt::format("**draftproof {}**: check of `{}` on {}, battery {}, seed {}\n\n",
                  started.environment.version, started.subject, started.environment.device,
                  started.budget.battery, started.budget.seed);
  if (!run.checks.empty()) out += table_of(run, false).markdown() + "\n";
  const std::string refuted = refutation_line(run);
  if (!refuted.empty()) out += "**" + refuted + "**\n\n";
  if (const CheckResult* check = first_witness(run)) {
    for (const auto& [label, text] : argument_of(*check->verdict.witness)) {
      std::string line = text;
      std::replace(line.begin(), line.end(), '\n', ' ');
      out += fmt::format("- **{}** {}\n", label, label == "Replay" ? "`" + line + "`" : line);
    }
    for (const auto& observation : check->verdict.observations) {
      out += "- **Seen** " + oracle::describe(observation) + "\n";
    }
    out += "\n";
  }
  for (const std::string& remark : remarks_of(run)) out += "> " + remark + "\n>\n";
  out += "\n" + closing_line(run) + "\n\n<details><summary>Reviewer's checklist</summary>\n\n";
  Table table({{"a reviewer asks whether"}, {"answer"}});
  for (const ChecklistPoint& point : checklist())
    table.add({point.question, answer_of(point, run)});
  return out + table.markdown() + "\n</details>\n";
}

}  // namespace draftproof::tools::report
