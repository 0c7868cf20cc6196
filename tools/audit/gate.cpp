#include "tools/audit/gate.h"

#include <fmt/format.h>

#include <algorithm>

namespace draftproof::tools::audit {
namespace {

using oracle::Claim;
using oracle::VerdictKind;

struct Standing {
  std::size_t upheld = 0, open = 0, not_exercised = 0, violated = 0;
};

/// By the checks of the claim itself, and what is upheld of stronger ones, which imply it.
Standing standing_of(Claim claim, const std::vector<report::CheckResult>& checks) {
  Standing standing;
  const std::vector<Claim> stronger = oracle::also_refuted(claim);
  for (const report::CheckResult& check : checks) {
    const oracle::Verdict& verdict = check.verdict;
    const bool is_upheld = verdict.kind == VerdictKind::kUpheld;
    const bool is_stronger =
        std::find(stronger.begin(), stronger.end(), verdict.claim) != stronger.end();
    if (verdict.claim != claim && !(is_stronger && is_upheld)) continue;
    if (is_upheld) {
      ++standing.upheld;
    } else if (verdict.kind == VerdictKind::kViolated) {
      ++standing.violated;
    } else if (verdict.label == oracle::Label::kNotExercised) {
      ++standing.not_exercised;
    } else {
      ++standing.open;
    }
  }
  return standing;
}

/// What is emitted; where no check speaks of any of it, every claim counts.
bool is_of_the_ladder(Claim claim) {
  return claim == Claim::kWellFormed || claim == Claim::kSupportSafe ||
         claim == Claim::kGreedyExact || claim == Claim::kMarginalLossless ||
         claim == Claim::kSequenceLossless;
}

std::vector<Claim> asked(const GateSettings& settings,
                         const std::vector<report::CheckResult>& checks) {
  std::vector<Claim> claims;
  const bool has_ladder = std::any_of(checks.begin(), checks.end(), [](const auto& check) {
    return is_of_the_ladder(check.verdict.claim);
  });
  for (const Claim claim : oracle::all_claims()) {
    if (settings.required_claims.empty() && has_ladder && !is_of_the_ladder(claim)) continue;
    const auto& names = settings.required_claims;
    const bool is_asked =
        names.empty()
            ? std::any_of(checks.begin(), checks.end(),
                          [&](const auto& check) { return check.verdict.claim == claim; })
            : std::find(names.begin(), names.end(), oracle::to_string(claim)) != names.end();
    if (is_asked) claims.push_back(claim);
  }
  return claims;
}

std::string open_reason(Claim claim, const Standing& standing) {
  const auto name = oracle::to_string(claim);
  if (standing.open > 0)
    return fmt::format("{}: {} of its checks {} inconclusive", name, standing.open,
                       standing.open == 1 ? "is" : "are");
  if (standing.not_exercised > 0)
    return fmt::format("{}: not exercised: nothing that was asked could have shown it", name);
  return fmt::format("{}: no check speaks of it; let a setting or an audit do so", name);
}

}  // namespace

GateResult judge_gate(const GateSettings& settings, const std::string& today,
                      std::vector<report::CheckResult>& checks) {
  GateResult result;
  const KnownOutcome known = accept(settings.known, today, checks);
  for (const auto* lines : {&known.expired, &known.gone})
    result.reasons.insert(result.reasons.end(), lines->begin(), lines->end());
  std::size_t violated = 0;
  for (const report::CheckResult& check : checks)
    if (check.verdict.kind == VerdictKind::kViolated && check.accepted.empty()) ++violated;
  if (violated > 0 || !known.gone.empty()) {
    result.code = ExitCode::kViolated;
    if (violated > 0)
      result.reasons.push_back(
          fmt::format("{} {} violated", violated, violated == 1 ? "check is" : "checks are"));
    return result;
  }
  std::vector<std::string> open;
  for (const Claim claim : asked(settings, checks)) {
    const Standing standing = standing_of(claim, checks);
    if (standing.open > 0 || standing.upheld + standing.violated == 0)
      open.push_back(open_reason(claim, standing));
  }
  if (checks.empty()) open.push_back("no check: there is nothing that was judged");
  if (open.empty() || !settings.inconclusive_is_failure) return result;
  result.code = ExitCode::kInconclusive;
  result.reasons.insert(result.reasons.end(), open.begin(), open.end());
  return result;
}

}  // namespace draftproof::tools::audit
