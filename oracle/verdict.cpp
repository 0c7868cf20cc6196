// Merging verdicts by dominance and naming what a violation refutes (the ladder is in claim.h):
// the weakest refuted claims, and everything that stands on them.
#include "oracle/verdict.h"

#include <algorithm>

#include "reference/error.h"

namespace draftproof::oracle {
namespace {

bool contains(const std::vector<Claim>& claims, Claim claim) {
  return std::find(claims.begin(), claims.end(), claim) != claims.end();
}

}  // namespace

std::string_view to_string(VerdictKind kind) {
  switch (kind) {
    case VerdictKind::kUpheld:
      return "upheld";
    case VerdictKind::kInconclusive:
      return "inconclusive";
    case VerdictKind::kViolated:
      return "violated";
  }
  DRAFTPROOF_CHECK(false, "verdict kind " + std::to_string(static_cast<int>(kind)));
  return "";
}

std::string_view to_string(Label label) {
  switch (label) {
    case Label::kNone:
      return "";
    case Label::kLossy:
      return "LOSSY";
    case Label::kLossyByDesign:
      return "LOSSY BY DESIGN";
    case Label::kInefficient:
      return "LOSSLESS BUT INEFFICIENT";
    case Label::kNotReproducible:
      return "NOT REPRODUCIBLE";
    case Label::kUnsafe:
      return "UNSAFE";
    case Label::kNotExercised:
      return "NOT EXERCISED";
    case Label::kNearTie:
      return "NEAR TIE";
  }
  DRAFTPROOF_CHECK(false, "label " + std::to_string(static_cast<int>(label)));
  return "";
}

VerdictKind merged(const std::vector<Verdict>& verdicts) {
  if (verdicts.empty()) return VerdictKind::kInconclusive;
  VerdictKind kind = VerdictKind::kUpheld;
  for (const Verdict& verdict : verdicts) kind = std::max(kind, verdict.kind);
  return kind;
}

Refutation refutation(const std::vector<Verdict>& verdicts) {
  std::vector<Claim> violated;
  for (const Verdict& verdict : verdicts)
    if (verdict.kind == VerdictKind::kViolated && !contains(violated, verdict.claim))
      violated.push_back(verdict.claim);

  std::vector<Claim> falls;
  for (Claim claim : violated)
    for (Claim above : also_refuted(claim))
      if (!contains(falls, above)) falls.push_back(above);

  Refutation result;
  for (Claim claim : all_claims()) {
    if (contains(falls, claim))
      result.also_refuted.push_back(claim);
    else if (contains(violated, claim))
      result.refuted.push_back(claim);
  }
  return result;
}

}  // namespace draftproof::oracle
