// Contract comparison: engines' contracts on one row of a user's logits. What each step of each
// engine makes of the row, the laws side by side, how far apart they are and which parameter parts
// them. `draftproof law` with several presets, or with anything beyond plain shaping.
#pragma once

#include <string>
#include <vector>

#include "reference/contract_distance.h"
#include "tools/draftproof/settings.h"

namespace draftproof::tools {

struct ContractReport {
  std::vector<float> logits;
  reference::History history;
  reference::ContractComparison comparison;
  /// One list a contract; empty where the engine refuses.
  std::vector<std::vector<reference::StepLaw>> steps;
};

/// True for several presets, a preset that is a contract only, or an option of ContractSettings.
bool asks_for_contracts(const LawSettings& settings);

/// The settings read and carried out. Throws Error(kInput) naming the option: a row that is no row
/// of logits (or, with --from-probabilities, no law), ids that are no ids, unknown presets, options
/// of a draft (--draft belongs to one preset without these options).
ContractReport contract_report(const LawSettings& settings);

std::string contracts_page(const ContractReport& report);
/// Schema "draftproof/contracts/1"; every probability and distance is a rational as text.
std::string contracts_json(const ContractReport& report);

}  // namespace draftproof::tools
