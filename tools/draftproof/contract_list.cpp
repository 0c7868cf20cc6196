// Every text is read off the data; nothing is told about an engine here.
#include "tools/draftproof/contract_list.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "reference/greedy_limits.h"

namespace draftproof::tools {
namespace {

using reference::Contract;
using reference::TieRule;

std::string steps_of(const Contract& contract, const reference::Preset& preset) {
  std::vector<std::string_view> steps;
  for (const auto step : contract.adjustments.steps) steps.push_back(to_string(step));
  for (const auto step : preset.steps) steps.push_back(to_string(step));
  if (contract.grammar == reference::GrammarUse::kDrawThenCheck) {
    steps.emplace_back("grammar by drawing again");
  }
  return fmt::format("{}", fmt::join(steps, ", "));
}

std::string ties_of(const reference::Preset& preset) {
  const auto name = [](TieRule rule) {
    return rule == TieRule::kKeepAll ? "keep all" : "lowest ids first";
  };
  return fmt::format("top-k {}; top-p {}", name(preset.top_k_ties), name(preset.top_p_ties));
}

std::string defaults_of(const Contract& contract) {
  const reference::Sampling& sampling = contract.defaults;
  std::string text = fmt::format(
      "temperature {}, top-k {}, top-p {}, min-p {}", sampling.temperature,
      sampling.top_k > 0 ? std::to_string(sampling.top_k) : "off", sampling.top_p, sampling.min_p);
  if (contract.adjustments.penalties.last_n >= 0) {
    text += fmt::format(", last-n {}", contract.adjustments.penalties.last_n);
  }
  return text;
}

std::string names_of(const std::vector<reference::Parameter>& parameters) {
  std::vector<std::string_view> names;
  for (const auto parameter : parameters) names.push_back(to_string(parameter));
  return fmt::format("{}", fmt::join(names, ", "));
}

/// Whether any kind of penalty is carried out at all.
std::string penalties_of(const Contract& contract) {
  for (const auto step : contract.adjustments.steps) {
    if (step == reference::AdjustmentStep::kPenalties) {
      return reference::to_string(contract.adjustments.penalties);
    }
  }
  return "";
}

}  // namespace

std::vector<ContractTexts> contract_texts() {
  std::vector<ContractTexts> list;
  for (const Contract& contract : reference::contracts()) {
    list.push_back(
        {contract.name,
         {{"steps", steps_of(contract, contract.preset)},
          {"steps_with_min_p",
           contract.with_min_p ? steps_of(contract, *contract.with_min_p) : std::string()},
          {"ties", ties_of(contract.preset)},
          {"greedy_below", fmt::format("{}", contract.preset.greedy_below)},
          {"on_ties", reference::greedy_ties_of(contract)},
          {"defaults", defaults_of(contract)},
          {"penalties", penalties_of(contract)},
          {"refuses", names_of(contract.refuses)},
          {"ignores", names_of(contract.lacks)},
          {"bonus_row", contract.bonus_row},
          {"not_modelled", fmt::format("{}", fmt::join(contract.not_modelled, ", "))},
          {"engine", contract.engine},
          {"source", contract.source}}});
  }
  return list;
}

}  // namespace draftproof::tools
