#include "tools/report/text.h"

#include <fmt/format.h>

#include "oracle/explain.h"
#include "tools/report/audit_table.h"
#include "tools/report/checklist.h"
#include "tools/report/summary.h"

namespace draftproof::tools::report {
namespace {

constexpr std::size_t kLineWidth = 100;
constexpr std::size_t kLabelWidth = 11;
constexpr std::size_t kObservationsShown = 5;

std::string painted(const std::string& word, const std::string& padded, bool with_color) {
  if (!with_color || word.empty()) return padded;
  const bool is_settled = word.starts_with("upheld");
  const char* code = is_settled ? "32" : word.starts_with("inconclusive") ? "33" : "1;31";
  return fmt::format("\x1b[{}m{}\x1b[0m", code, padded);
}

std::string hanging(const std::string& label, const std::string& text) {
  std::string out;
  std::string lead = label + std::string(kLabelWidth - label.size(), ' ');
  for (const std::string& line : wrapped(text, kLineWidth - kLabelWidth)) {
    out += lead + line + "\n";
    lead = std::string(kLabelWidth, ' ');
  }
  return out;
}

/// A command stays on one line however long it is: a wrapped one cannot be pasted into a shell.
std::string unbroken(const std::string& label, const std::string& command) {
  return label + std::string(kLabelWidth - label.size(), ' ') + command + "\n";
}

std::string heading_of(const Run& run) {
  const RunStarted& started = run.started;
  if (is_audit(run))
    return fmt::format("draftproof {}  audit {}   seed {}   false alarms {:g}\n{}\n",
                       started.environment.version, started.run_id, started.budget.seed,
                       started.budget.false_alarms, facts_of(run));
  return fmt::format("draftproof {}  run {}   subject {}   device {}   battery {}   seed {}\n\n",
                     started.environment.version, started.run_id, started.subject,
                     started.environment.device, started.budget.battery, started.budget.seed);
}

std::string cells_of(const Run& run) {
  std::string out;
  for (const CheckResult& check : run.checks) {
    if (check.verdict.cells.empty()) continue;
    Table table({{check.verdict.property + " (" + check.rule + ")"}, {"cases", Align::kRight}});
    for (const auto& cell : check.verdict.cells) table.add({cell.name, grouped(cell.cases)});
    out += table.text() + "\n";
  }
  return out;
}

std::string checklist_of(const Run& run) {
  Table table({{"a reviewer asks whether"}, {"answer"}});
  for (const ChecklistPoint& point : checklist())
    table.add({point.question, answer_of(point, run)});
  return table.text() + "\n";
}

std::string observations_of(const oracle::Verdict& verdict) {
  std::string out;
  std::size_t shown = 0;
  for (const auto& observation : verdict.observations) {
    const bool is_told =
        verdict.witness && verdict.witness->observed.find(observation.message) != std::string::npos;
    if (is_told) continue;
    if (++shown > kObservationsShown) {
      out += hanging("", fmt::format("and {} more, in the JSON report",
                                     verdict.observations.size() - kObservationsShown));
      break;
    }
    out += hanging(shown == 1 ? "Seen" : "", oracle::describe(observation));
  }
  return out;
}

/// The first witness in full, the others by their replay command.
std::string witnesses_of(const Run& run) {
  const CheckResult* first = first_witness(run);
  if (first == nullptr) return "";
  std::string out = text_of(*first->verdict.witness) + observations_of(first->verdict);
  for (const CheckResult& check : run.checks) {
    if (&check == first || !check.verdict.witness) continue;
    const oracle::Witness& witness = *check.verdict.witness;
    out += witness.replay.empty() ? hanging("Also", check.id + ": " + witness.observed)
                                  : unbroken("Also", check.id + ": " + witness.replay);
  }
  return out + "\n";
}

}  // namespace

std::string text_of(const oracle::Witness& witness) {
  std::string out;
  for (const auto& [label, text] : argument_of(witness))
    out += label == "Replay" ? unbroken(label, text) : hanging(label, text);
  return out;
}

std::string text_of(const Run& run, const TextStyle& style) {
  std::string out;
  if (style.verbosity >= 0) {
    out += heading_of(run);
    if (!run.checks.empty()) {
      const bool is_audited = is_audit(run);
      const std::size_t column = is_audited ? kAuditVerdictColumn : verdict_column(run);
      const Table table =
          is_audited ? audit_table_of(run, true, style.verbosity > 0) : table_of(run, true);
      out += table.text([&](std::size_t i, const auto& word, const auto& padded) {
        return i == column ? painted(word, padded, style.with_color) : padded;
      });
      out += "\n";
    }
  }
  if (style.verbosity > 0) out += cells_of(run) + checklist_of(run);
  const std::string refuted = refutation_line(run);
  if (!refuted.empty()) out += refuted + "\n\n";
  out += witnesses_of(run);
  if (style.verbosity >= 0) {
    const auto remarks = remarks_of(run);
    for (const std::string& remark : remarks) {
      const bool has_command = remark.find(": curl ") != std::string::npos ||
                               remark.find("draftproof ") != std::string::npos;
      const auto lines = has_command ? std::vector{remark} : wrapped(remark, kLineWidth - 2);
      for (std::size_t i = 0; i < lines.size(); ++i) out += (i == 0 ? "" : "  ") + lines[i] + "\n";
    }
    if (!remarks.empty()) out += "\n";
    for (const Section& section : run.sections) out += section.title + "\n\n" + section.text + "\n";
  }
  return out + closing_line(run) + "\n";
}

}  // namespace draftproof::tools::report
