#include "tools/report/checklist.h"

#include <algorithm>

#include "tools/report/audit_table.h"

namespace draftproof::tools::report {

const std::vector<ChecklistPoint>& checklist() {
  static const std::string law = "emitted_law_is_target_law";
  static const std::vector<ChecklistPoint> points = {
      {"vocabulary-compatible", "draft and target agree on what a token id means", {}},
      {"draft-law-kept",
       "the law the draft was drawn from is the one it is judged by",
       {law, "kernel_equals_reference"},
       {"next_token_law", "two_sample_law"}},
      {"acceptance-ratio",
       "a drafted token is kept with probability min(1, target/draft)",
       {law, "target_at_least_draft_is_accepted", "identity_draft_accepts_all"},
       {"next_token_law", "two_sample_law"}},
      {"residual",
       "a rejection draws from the normalised positive part of target - draft",
       {law, "nothing_outside_the_support"},
       {"next_token_law", "two_sample_law", "support_of_filters"}},
      {"nothing-after-rejection",
       "nothing after the first rejection is used",
       {"nothing_after_the_first_rejection_matters"},
       {"joint_law", "next_token_law", "two_sample_law"}},
      {"bonus",
       "a draft that is kept whole is followed by one more token of the target",
       {"emitted_is_accepted_plus_one", law},
       {"counter_identities", "joint_law"}},
      {"law-or-string",
       "preserving the law and repeating a seed's string are told apart",
       {},
       {"same_seed_identity", "seed_repeats"}},
      {"rate-or-length", "acceptance rate and accepted length are told apart", {}},
      {"latencies", "draft, verify, accept and rollback times are measured", {}},
      {"draft-length", "the draft length is chosen per workload", {}},
      {"draft-memory", "the draft's memory is counted", {}},
      {"verify-budget", "verified tokens are budgeted", {}},
      {"temporary-kv", "temporary KV is committed or rolled back", {}},
      {"draft-context",
       "recovered and bonus tokens reach the draft's context",
       {},
       {"draft_efficiency"}},
      {"rollback",
       "grammar, end of sequence and stops are rolled back",
       {},
       {"well_formed", "grammar_validity"}},
      {"batch-and-context", "large batches and long contexts are measured", {}},
      {"short-outputs", "speculation is switched off where outputs are short", {}},
      {"acceptance-per-task", "acceptance is known per task, language and temperature", {}},
      {"parity-and-law",
       "greedy parity and the sampling law both hold",
       {"greedy_limits", law},
       {"greedy_margin_parity", "next_token_law", "two_sample_law"}},
      {"goodput", "goodput is better than without speculation", {}},
  };
  return points;
}

namespace {

/// True when `property` was left out of the run without being exempt: by a filter, by a stop.
bool is_left_out(const std::string& property, const Run& run) {
  const auto has = [&](const std::string& id) { return id.starts_with(property + "/"); };
  return std::none_of(run.checks.begin(), run.checks.end(),
                      [&](const CheckResult& check) { return has(check.id); }) &&
         std::none_of(run.exempted.begin(), run.exempted.end(),
                      [&](const CheckExempted& exempted) { return has(exempted.id); });
}

}  // namespace

std::string answer_of(const ChecklistPoint& point, const Run& run) {
  std::vector<oracle::Verdict> verdicts;
  const auto& ids = is_audit(run) ? point.audits : point.properties;
  for (const CheckResult& check : run.checks) {
    if (std::find(ids.begin(), ids.end(), check.verdict.property) != ids.end()) {
      verdicts.push_back(check.verdict);
    }
  }
  if (verdicts.empty()) return "not exercised";
  oracle::VerdictKind answer = oracle::merged(verdicts);
  const bool is_partial = std::any_of(ids.begin(), ids.end(), [&](const std::string& property) {
    return is_left_out(property, run);
  });
  if (answer == oracle::VerdictKind::kUpheld && is_partial) {
    answer = oracle::VerdictKind::kInconclusive;
  }
  return std::string(oracle::to_string(answer));
}

}  // namespace draftproof::tools::report
