// Contract list: the contracts of engines as texts, for `draftproof list engines`.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace draftproof::tools {

/// A contract's name, then its named texts; empty where nothing applies.
using ContractTexts = std::pair<std::string, std::vector<std::pair<std::string, std::string>>>;

/// All contracts in their order: steps, ties, greedy cut-off, defaults, penalties, what is refused,
/// ignored and not modelled, answers to greedy limits on ties, engine, source.
std::vector<ContractTexts> contract_texts();

}  // namespace draftproof::tools
