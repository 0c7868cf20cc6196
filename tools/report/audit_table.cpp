#include "tools/report/audit_table.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "tools/report/summary.h"

namespace draftproof::tools::report {
namespace {

/// More checks than this are shown by audit.
constexpr std::size_t kChecksShown = 24;

using Checks = std::vector<const CheckResult*>;

/// Checks of one audit, in the order in which audits come first.
std::vector<Checks> by_audit(const Run& run) {
  std::vector<Checks> groups;
  for (const CheckResult& check : run.checks) {
    const auto found = std::find_if(groups.begin(), groups.end(), [&](const Checks& group) {
      return group.front()->verdict.property == check.verdict.property;
    });
    if (found == groups.end()) {
      groups.push_back({&check});
    } else {
      found->push_back(&check);
    }
  }
  return groups;
}

std::vector<std::string> row_of(const CheckResult& check) {
  const oracle::Verdict& verdict = check.verdict;
  return {
      verdict.property,        verdict.setting,     std::string(oracle::to_string(verdict.claim)),
      grouped(verdict.trials), verdict_cell(check), evidence_of(check),
      effect_of(check)};
}

/// What is upheld everywhere travels with the least that would have been seen: the largest bound.
std::string widest_effect(const Checks& checks) {
  const CheckResult* widest = nullptr;
  double high = -1;
  for (const CheckResult* check : checks) {
    if (check->verdict.kind != oracle::VerdictKind::kUpheld) continue;
    const double bound =
        check->verdict.effect ? check->verdict.effect->total_variation_bounds.high : 0;
    if (bound <= high) continue;
    high = bound;
    widest = check;
  }
  return widest == nullptr ? "" : effect_of(*widest);
}

std::vector<std::string> row_of(const Checks& checks) {
  std::array<std::size_t, 3> counts{};
  std::uint64_t trials = 0;
  std::vector<oracle::Verdict> verdicts;
  const CheckResult* strongest = nullptr;
  for (const CheckResult* check : checks) {
    ++counts[static_cast<std::size_t>(check->verdict.kind)];
    trials += check->verdict.trials;
    verdicts.push_back(check->verdict);
    const auto& evidence = check->verdict.log_e_value;
    if (evidence && (strongest == nullptr || *evidence > *strongest->verdict.log_e_value))
      strongest = check;
  }
  std::vector<std::string> parts;
  constexpr std::array<const char*, 3> kWords = {"upheld", "inconclusive", "violated"};
  for (const std::size_t i : {2u, 1u, 0u})
    if (counts[i] != 0) parts.push_back(fmt::format("{} {}", counts[i], kWords[i]));
  const auto kind = oracle::merged(verdicts);
  const bool is_violated = kind == oracle::VerdictKind::kViolated;
  std::string evidence = fmt::format("{}", fmt::join(parts, ", "));
  if (strongest != nullptr && strongest->verdict.log_alarm &&
      std::isfinite(*strongest->verdict.log_e_value))
    evidence += fmt::format("; largest e-value {} (alarm at {})",
                            e_value_text(*strongest->verdict.log_e_value),
                            e_value_text(*strongest->verdict.log_alarm));
  return {checks.front()->verdict.property,
          fmt::format("{} settings", checks.size()),
          std::string(oracle::to_string(checks.front()->verdict.claim)),
          grouped(trials),
          is_violated ? "VIOLATED" : std::string(oracle::to_string(kind)),
          std::move(evidence),
          is_violated ? "" : widest_effect(checks)};
}

}  // namespace

bool is_audit(const Run& run) { return run.started.kind == "audit"; }

Table audit_table_of(const Run& run, bool with_wrapping, bool with_all) {
  const std::size_t wide = with_wrapping ? 40 : 0;
  const std::size_t narrow = with_wrapping ? 30 : 0;
  Table table({{"audit"},
               {"setting"},
               {"claim"},
               {"trials", Align::kRight},
               {"verdict", Align::kLeft, with_wrapping ? std::size_t{18} : 0},
               {"evidence", Align::kLeft, wide},
               {"effect", Align::kLeft, narrow}});
  const bool by_check = with_all || run.checks.size() <= kChecksShown;
  for (const Checks& checks : by_audit(run)) {
    if (!by_check && checks.size() > 1) table.add(row_of(checks));
    for (const CheckResult* check : checks) {
      const bool is_upheld = check->verdict.kind == oracle::VerdictKind::kUpheld;
      if (by_check || checks.size() == 1 || !is_upheld) table.add(row_of(*check));
    }
  }
  return table;
}

std::string facts_of(const Run& run) {
  std::size_t width = 0;
  for (const Fact& fact : run.started.facts) width = std::max(width, fact.name.size());
  std::string out;
  for (const Fact& fact : run.started.facts)
    out += fmt::format("{:<{}}  {}\n", fact.name, width, fact.value);
  return out;
}

}  // namespace draftproof::tools::report
