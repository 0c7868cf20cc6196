// Family table: every rule and every method with its two truths (the law, the expected length) on
// five toys each, and what is known of it from outside. Nothing in it is remembered: laws are
// walked and formulas evaluated each time.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "reference/law/provenance.h"
#include "reference/law/rule.h"

namespace draftproof::tools {

/// One toy's share of a row.
struct FamilyCell {
  std::string toy;
  reference::Exact distance;  ///< of the law of its tokens from what it is held against
  reference::Exact expected;  ///< emitted tokens of the first iteration, walked
  std::optional<reference::Exact> formula;  ///< the same by the closed form; absent: there is none
};

struct FamilyRow {
  std::string kind;  ///< "rule" or "method"
  std::string name;
  std::string drafted;  ///< what was drafted: "a chain of 2", "a tree of 2,1", or the method's rule
  reference::law::RuleKind promise = reference::law::RuleKind::kLossless;
  std::string conditions;
  std::vector<FamilyCell> cells;
  reference::law::Provenance provenance;

  /// Exactly 0 on every toy.
  bool is_lossless() const;
  /// Every closed form is the walked value; false also where there is no closed form.
  bool formula_agrees() const;
};

/// Tokens over which distances are taken.
inline constexpr int kFamilyTokens = 3;

/// Which rows are wanted.
enum class FamilyPart { kAll, kRules, kMethods };

/// Rules, then methods, on five toys each, or all on the toy of that name. Throws Error(kInput)
/// when there is no such toy, or a method cannot be made over it.
std::vector<FamilyRow> family_rows(FamilyPart part, const std::string& toy = "");

std::string family_text(const std::vector<FamilyRow>& rows, bool is_markdown);
/// Schema "draftproof/family/1".
std::string family_json(const std::vector<FamilyRow>& rows);

}  // namespace draftproof::tools
