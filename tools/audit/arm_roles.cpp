#include "tools/audit/arm_roles.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string_view>

#include "properties/json_nesting.h"
#include "tools/audit/verdict_report.h"

namespace draftproof::tools::audit {
namespace {

using oracle::VerdictKind;
using properties::Arm;
using properties::audits::Evidence;

constexpr std::array<std::string_view, 8> kOnTheBaseline = {
    "baseline_law",         "baseline_against_itself", "two_sample_law",
    "greedy_margin_parity", "same_seed_identity",      "seed_repeats",
    "declared_distance",    "task_score_drop"};
/// What is true of an arm whether it drafts or not.
constexpr std::array<std::string_view, 3> kWithoutDrafts = {
    "baseline_law", "baseline_against_itself", "well_formed"};

template <typename Names>
bool has(const Names& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

/// By its own words, as identity_of() keeps them.
std::optional<bool> says_it_drafts(const std::string& identity) {
  const auto json = properties::json_or_discarded<nlohmann::json>(identity);
  if (!json.is_object()) return std::nullopt;
  const auto found = json.find("is_speculative");
  if (found == json.end() || !found->is_boolean()) return std::nullopt;
  return found->get<bool>();
}

/// The counters of all answers together; absent: no answer has any.
std::optional<std::int64_t> drafted(const Evidence& evidence, Arm arm) {
  std::optional<std::int64_t> sum;
  for (const std::string& id : evidence.case_ids())
    for (const auto& entry : evidence.of(id, arm))
      if (const auto& counters = entry.second.completion.counters)
        sum = sum.value_or(0) + counters->drafted;
  return sum;
}

/// The verdict on the speculative arm's own counts.
oracle::Verdict counts_alone(const properties::audits::Matrix& matrix, const Evidence& evidence,
                             properties::audits::JudgeSettings judge, const std::string& setting) {
  Evidence alone;
  for (const std::string& id : evidence.case_ids())
    for (std::uint32_t repeat : {0U, 1U})
      for (const auto& entry : evidence.of(id, Arm::kSpeculative, repeat)) alone.add(entry.second);
  judge.audits = {"counter_identities"};
  for (std::size_t i = 0; i < matrix.settings.size(); ++i) {
    if (matrix.settings[i].id != setting) continue;
    const auto verdicts = properties::audits::judge_setting(matrix, alone, judge, i);
    if (!verdicts.empty()) return verdicts.front();
  }
  return {};
}

}  // namespace

RoleFaults role_faults(const RunRecord& record, const Evidence& evidence) {
  RoleFaults faults;
  if (says_it_drafts(record.baseline) == true && drafted(evidence, Arm::kBaseline) != 0)
    faults.baseline =
        "the baseline arm makes drafts, by its own words: start it without any speculative option, "
        "or exchange the arms";
  if (says_it_drafts(record.speculative) == false &&
      drafted(evidence, Arm::kSpeculative).value_or(0) == 0)
    faults.speculative =
        "the speculative arm makes no drafts, by its own words: start it with its speculative "
        "options, or exchange the arms";
  return faults;
}

void hold_open(const RoleFaults& faults, const properties::audits::Matrix& matrix,
               const Evidence& evidence, const properties::audits::JudgeSettings& judge,
               std::vector<report::CheckResult>& checks) {
  for (report::CheckResult& check : checks) {
    oracle::Verdict& verdict = check.verdict;
    const std::string& audit = verdict.property;
    const bool is_violated = verdict.kind == VerdictKind::kViolated;
    if (!faults.baseline.empty() && audit == "counter_identities" && is_violated) {
      auto alone = counts_alone(matrix, evidence, judge, verdict.setting);
      // Drafts that are counted where drafts are made are no lie.
      if (alone.kind != VerdictKind::kViolated) take_back(verdict, faults.baseline);
    } else if (!faults.baseline.empty() && has(kOnTheBaseline, audit)) {
      take_back(verdict, faults.baseline);
    }
    if (faults.speculative.empty() || verdict.kind != VerdictKind::kUpheld) continue;
    if (has(kWithoutDrafts, audit)) continue;
    verdict.kind = VerdictKind::kInconclusive;
    verdict.label = oracle::Label::kNotExercised;
    verdict.evidence = faults.speculative + "; " + verdict.evidence;
    verdict.smallest_visible_effect.clear();
  }
}

}  // namespace draftproof::tools::audit
