#include "tools/report/summary.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "oracle/explain.h"

namespace draftproof::tools::report {
namespace {

bool has_several_rules(const Run& run) {
  return std::any_of(run.checks.begin(), run.checks.end(), [&](const CheckResult& check) {
    return check.rule != run.checks.front().rule;
  });
}

std::string names_of(const std::vector<oracle::Claim>& claims) {
  std::vector<std::string_view> names;
  for (const auto claim : claims) names.push_back(oracle::to_string(claim));
  return fmt::format("{}", fmt::join(names, ", "));
}

std::string plural(std::size_t count, std::string_view noun) {
  return fmt::format("{} {}{}", count, noun, count == 1 ? "" : "s");
}

}  // namespace

std::string verdict_word(const CheckResult& check) {
  if (!check.internal_error.empty()) return "error";
  if (check.verdict.kind == oracle::VerdictKind::kViolated) return "VIOLATED";
  return std::string(oracle::to_string(check.verdict.kind));
}

std::string verdict_cell(const CheckResult& check) {
  std::string cell = verdict_word(check);
  const std::string_view label = oracle::to_string(check.verdict.label);
  if (!label.empty()) cell += ": " + std::string(label);
  if (!check.accepted.empty()) cell += " (accepted)";
  return cell;
}

std::string e_value_text(double log_e_value) {
  if (std::isinf(log_e_value)) return log_e_value > 0 ? "a proof" : "0";
  const double digits = log_e_value / std::log(10.0);
  if (digits > 300) return fmt::format("10^{:.0f}", digits);
  return fmt::format("{:.2g}", std::exp(log_e_value));
}

std::string evidence_of(const CheckResult& check) {
  const oracle::Verdict& verdict = check.verdict;
  if (!check.internal_error.empty()) return check.internal_error;
  if (!check.world_error.empty()) return check.world_error;
  if (!verdict.log_e_value) return verdict.evidence;
  std::string text = std::isinf(*verdict.log_e_value) && *verdict.log_e_value > 0
                         ? e_value_text(*verdict.log_e_value)
                         : "e-value " + e_value_text(*verdict.log_e_value);
  if (verdict.log_alarm && std::isfinite(*verdict.log_e_value))
    text += fmt::format(" (alarm at {})", e_value_text(*verdict.log_alarm));
  return verdict.evidence.empty() ? text : text + "; " + verdict.evidence;
}

std::string effect_of(const CheckResult& check) {
  const oracle::Verdict& verdict = check.verdict;
  if (verdict.bound) return "TV <= " + *verdict.bound;
  if (!verdict.effect) return verdict.smallest_visible_effect;
  const oracle::Interval& bounds = verdict.effect->total_variation_bounds;
  if (verdict.kind == oracle::VerdictKind::kViolated) {
    std::string text = fmt::format("TV {:.3g} ({:.3g} to {:.3g})", verdict.effect->total_variation,
                                   bounds.low, bounds.high);
    if (const auto divergence = verdict.effect->divergence)
      text += std::isinf(*divergence) ? ", KL infinite: outside the support"
                                      : fmt::format(", KL {:.3g}", *divergence);
    return text;
  }
  std::string text = fmt::format("TV <= {:.3g}", bounds.high);
  if (!verdict.smallest_visible_effect.empty())
    text += "; seen from " + verdict.smallest_visible_effect;
  return text;
}

std::size_t verdict_column(const Run& run) {
  return !run.checks.empty() && has_several_rules(run) ? 4 : 3;
}

Table table_of(const Run& run, bool with_wrapping) {
  const bool with_rule = verdict_column(run) == 4;
  const std::size_t wide = with_wrapping ? 38 : 0;
  const std::size_t narrow = with_wrapping ? 30 : 0;
  std::vector<Column> columns = {{"property"}, {"claim"}};
  if (with_rule) columns.push_back({"rule"});
  columns.insert(columns.end(), {{"trials", Align::kRight},
                                 {"verdict"},
                                 {"evidence", Align::kLeft, wide},
                                 {"effect or bound", Align::kLeft, narrow},
                                 {"seconds", Align::kRight}});
  Table table(std::move(columns));
  for (const CheckResult& check : run.checks) {
    const oracle::Verdict& verdict = check.verdict;
    std::vector<std::string> cells = {verdict.property,
                                      std::string(oracle::to_string(verdict.claim))};
    if (with_rule) cells.push_back(check.rule);
    cells.insert(cells.end(), {grouped(verdict.trials), verdict_cell(check), evidence_of(check),
                               effect_of(check), fmt::format("{:.1f}", verdict.seconds)});
    table.add(std::move(cells));
  }
  return table;
}

std::string refutation_line(const Run& run) {
  const auto verdicts = verdicts_of(run);
  const oracle::Refutation refuted = oracle::refutation(verdicts);
  if (refuted.refuted.empty()) return "";
  std::string line = oracle::headline(verdicts) + ".";
  std::set<oracle::Claim> fallen(refuted.refuted.begin(), refuted.refuted.end());
  fallen.insert(refuted.also_refuted.begin(), refuted.also_refuted.end());
  std::vector<oracle::Claim> standing;
  for (const auto claim : oracle::all_claims()) {
    const bool is_checked = std::any_of(verdicts.begin(), verdicts.end(), [&](const auto& verdict) {
      return verdict.claim == claim && verdict.kind == oracle::VerdictKind::kUpheld;
    });
    if (is_checked && !fallen.contains(claim)) standing.push_back(claim);
  }
  if (!standing.empty()) line += "   " + names_of(standing) + ": no violation seen.";
  return line;
}

std::string closing_line(const Run& run) {
  std::size_t counts[3] = {};
  std::size_t errors = 0;
  for (const CheckResult& check : run.checks) {
    if (!check.internal_error.empty()) {
      ++errors;
    } else {
      ++counts[static_cast<int>(check.verdict.kind)];
    }
  }
  std::vector<std::string> parts;
  const auto part = [&](std::size_t count, std::string_view word) {
    if (count != 0) parts.push_back(fmt::format("{} {}", count, word));
  };
  part(counts[2], "violated");
  part(errors, "with an internal error");
  part(counts[1], "inconclusive");
  part(counts[0], "upheld");
  if (run.finished.is_interrupted) parts.push_back("interrupted");
  if (run.started.check_count > run.checks.size()) {
    parts.push_back(fmt::format("{} not run", run.started.check_count - run.checks.size()));
  }
  return fmt::format(
      "{}: {}. {:.1f} s, exit {}.", plural(run.checks.size(), "check"),
      parts.empty() ? "nothing was shown" : fmt::format("{}", fmt::join(parts, ", ")),
      run.finished.seconds, run.finished.exit_code);
}

const CheckResult* first_witness(const Run& run) {
  for (const CheckResult& check : run.checks) {
    if (check.verdict.witness) return &check;
  }
  return nullptr;
}

std::vector<std::pair<std::string, std::string>> argument_of(const oracle::Witness& witness) {
  std::vector<std::pair<std::string, std::string>> argument;
  const auto step = [&](const char* label, const std::string& text) {
    if (!text.empty()) argument.emplace_back(label, text);
  };
  step("Let", witness.let);
  step("Expected", witness.expected);
  step("Observed", witness.observed);
  step("Because", witness.because);
  step("Replay", witness.replay);
  return argument;
}

std::vector<std::string> remarks_of(const Run& run) {
  std::vector<std::string> remarks;
  std::set<std::string> notes;
  const auto remark = [&](std::string line) {
    if (std::find(remarks.begin(), remarks.end(), line) == remarks.end()) {
      remarks.push_back(std::move(line));
    }
  };
  for (const CheckResult& check : run.checks) {
    if (!check.verdict.assumption.empty()) remark("assumption: " + check.verdict.assumption);
  }
  for (const CheckResult& check : run.checks) {
    // Many settings say alike things: once for each that differs, with the setting that said it.
    for (const std::string& note : check.verdict.notes) {
      if (!notes.insert(check.verdict.property + ": " + note).second) continue;
      const std::string in = check.verdict.setting.empty() ? "" : " in " + check.verdict.setting;
      remark("note: " + check.verdict.property + in + ": " + note);
    }
    if (!check.accepted.empty()) remark("accepted: " + check.id + ": " + check.accepted);
  }
  for (const CheckExempted& exempted : run.exempted) {
    remark("not applicable: " + exempted.id + ": " + exempted.reason);
  }
  for (const std::string& warning : run.warnings) remark("warning: " + warning);
  return remarks;
}

}  // namespace draftproof::tools::report
