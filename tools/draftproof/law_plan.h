// Law plan: the texts of `draftproof law` as a decoding: whose rows, which drafter, which rule,
// which coins, how far.
#pragma once

#include <optional>
#include <string>

#include "reference/draft/method.h"
#include "reference/law/decoding.h"
#include "reference/model/toys.h"
#include "tools/draftproof/settings.h"

namespace draftproof::tools {

struct LawPlan {
  std::string source;  ///< "rows given", "toy markov", "method medusa over toy markov"
  /// Absent where a method verifies by a rule of its own, which is not one of law_rules().
  std::optional<reference::law::LawRule> rule;
  reference::law::OptionValues options;
  const reference::draft::Method* method = nullptr;  ///< null: the draft model itself drafts
  reference::model::Toy toy;                         ///< what the method was made over
  /// What the draft model drafts; absent for a method.
  std::optional<reference::law::ModelCase> tiny;
  /// Decoding::target is what it is held against: greedy decoding for a rule that decodes so.
  reference::law::Decoding decoding;
  bool rows_depend_on_position_only = false;
  std::string shape_option;  ///< what made the draft as large as it is: "--length"
  int iterations = 1;
  std::optional<int> tokens;
  bool shows_steps = false;
  double seconds_max = 10;  ///< of the processor, for all walks together

  int vocab_size() const { return decoding.target->vocab_size(); }
};

/// Throws Error(kInput) naming option and remedy: unknown names, options that do not go together,
/// laws that do not sum, vocabularies that differ, a walk that is too large (with a size that is
/// not).
LawPlan law_plan(const LawSettings& settings);

/// True when an option asks for more than one iteration of one row of a preset.
bool asks_for_decoding(const LawSettings& settings);

}  // namespace draftproof::tools
