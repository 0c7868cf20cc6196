#include "tools/report/markdown.h"

#include <fmt/format.h>

#include <algorithm>

#include "oracle/explain.h"
#include "tools/report/audit_table.h"
#include "tools/report/checklist.h"
#include "tools/report/summary.h"

namespace draftproof::tools::report {

namespace {

std::string heading_of(const Run& run) {
  const RunStarted& started = run.started;
  if (!is_audit(run))
    return fmt::format("**draftproof {}**: check of `{}` on {}, battery {}, seed {}\n\n",
                       started.environment.version, started.subject, started.environment.device,
                       started.budget.battery, started.budget.seed);
  std::string out = fmt::format("**draftproof {}**: audit {}, seed {}, false alarms {:g}\n\n",
                                started.environment.version, started.run_id, started.budget.seed,
                                started.budget.false_alarms);
  for (const Fact& fact : started.facts) out += fmt::format("- {}: {}\n", fact.name, fact.value);
  return out + "\n";
}

/// Every check, folded away where they are many.
std::string tables_of(const Run& run) {
  if (run.checks.empty()) return "";
  if (!is_audit(run)) return table_of(run, false).markdown() + "\n";
  const std::string shown = audit_table_of(run, false, false).markdown();
  const std::string all = audit_table_of(run, false, true).markdown();
  if (shown == all) return all + "\n";
  return shown + "\n<details><summary>Every check</summary>\n\n" + all + "\n</details>\n\n";
}

}  // namespace

std::string markdown_of(const Run& run) {
  std::string out = heading_of(run) + tables_of(run);
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
  for (const Section& section : run.sections)
    out += "\n### " + section.title + "\n\n" + section.markdown;
  out += "\n" + closing_line(run) + "\n\n<details><summary>Reviewer's checklist</summary>\n\n";
  Table table({{"a reviewer asks whether"}, {"answer"}});
  for (const ChecklistPoint& point : checklist())
    table.add({point.question, answer_of(point, run)});
  return out + table.markdown() + "\n</details>\n";
}

}  // namespace draftproof::tools::report
