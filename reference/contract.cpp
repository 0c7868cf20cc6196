// The law of a row under a contract (contract.h). Everything behind the adjusted fp32 row is exact:
// masses are integers, a law is their ratio, and the two passes of a grammar that is checked after
// the draw are a sum of products of such ratios.
#include "reference/contract.h"

#include <algorithm>

#include "reference/error.h"

namespace draftproof::reference {
namespace {

bool contains(const std::vector<Parameter>& list, Parameter parameter) {
  return std::find(list.begin(), list.end(), parameter) != list.end();
}

/// `request` as the engine takes notice of it.
RowRequest noticed(const Contract& contract, RowRequest request) {
  for (const Parameter parameter : contract.lacks) request = without(std::move(request), parameter);
  return request;
}

RowLaw law_of(const MassRow& row) {
  if (row.status != Status::kOk) return {row.status, std::nullopt};
  return {Status::kOk, distribution_of(row)};
}

const Preset& preset_for(const Contract& contract, const RowRequest& request) {
  const bool has_min_p = is_set(request, Parameter::kMinP);
  return has_min_p && contract.with_min_p ? *contract.with_min_p : contract.preset;
}

/// chain(row) where the grammar agrees, and what it refused drawn again from the masked row.
RowLaw checked_after_the_draw(const RowLaw& chain, const RowLaw& masked,
                              const std::vector<bool>& allowed) {
  if (chain.status != Status::kOk) return chain;
  Exact refused = 0;
  std::vector<Exact> law = chain.law->probabilities();
  for (std::size_t token = 0; token < law.size(); ++token) {
    if (allowed[token]) continue;
    refused += law[token];
    law[token] = 0;
  }
  if (refused == 0) return chain;
  if (masked.status != Status::kOk) return masked;
  for (std::size_t token = 0; token < law.size(); ++token)
    law[token] += refused * (*masked.law)[token];
  return {Status::kOk, Distribution(std::move(law))};
}

/// The sampling steps of an adjusted row, and the grammar where it is checked after the draw.
RowLaw sampled(const Contract& contract, const std::vector<float>& row, const RowRequest& request,
               const Preset& preset) {
  const RowLaw chain = law_of(shape(row, request.sampling, preset));
  if (contract.grammar == GrammarUse::kMask || !request.adjustments.grammar_mask) return chain;
  const std::vector<bool>& allowed = *request.adjustments.grammar_mask;
  return checked_after_the_draw(
      chain, law_of(shape(apply_mask(row, allowed), request.sampling, preset)), allowed);
}

/// Throws what row_law() promises to throw; the request that is left.
RowRequest checked(const Contract& contract, const std::vector<float>& logits,
                   const RowRequest& request, const History& history) {
  validate(request.sampling);
  validate(request.adjustments, logits.size());
  validate(history, logits.size());
  if (const auto parameter = refused(contract, request))
    throw Error(ErrorKind::kInput,
                "refuses the " + std::string(to_string(*parameter)) + "; leave it out",
                contract.name);
  return noticed(contract, request);
}

std::vector<Parameter> parameters_of(AdjustmentStep step) {
  using enum Parameter;
  switch (step) {
    case AdjustmentStep::kPenalties:
      return {kRepetition, kFrequency, kPresence, kLastN};
    case AdjustmentStep::kLogitBias:
      return {kLogitBias};
    case AdjustmentStep::kAllowedIds:
      return {kAllowedIds};
    case AdjustmentStep::kBadWords:
      return {kBadWords};
    case AdjustmentStep::kMinTokens:
      return {kMinTokens};
    case AdjustmentStep::kGrammarMask:
      return {kGrammarMask};
  }
  return {};
}

std::vector<Parameter> parameters_of(ShapingStep step) {
  using enum Parameter;
  switch (step) {
    case ShapingStep::kTemperature:
      return {kTemperature};
    case ShapingStep::kTopK:
      return {kTopK};
    case ShapingStep::kTopP:
      return {kTopP};
    case ShapingStep::kMinP:
      return {kMinP};
    case ShapingStep::kJointTopKTopP:
      return {kTopK, kTopP};
  }
  return {};
}

template <class Step>
bool is_asked_for(const RowRequest& request, Step step) {
  const std::vector<Parameter> parameters = parameters_of(step);
  return std::any_of(parameters.begin(), parameters.end(),
                     [&](Parameter parameter) { return is_set(request, parameter); });
}

}  // namespace

std::optional<Parameter> refused(const Contract& contract, const RowRequest& request) {
  for (const Parameter parameter : contract.refuses)
    if (is_set(request, parameter)) return parameter;
  return std::nullopt;
}

std::vector<Parameter> ignored(const Contract& contract, const RowRequest& request) {
  std::vector<Parameter> list;
  for (const Parameter parameter : contract.lacks)
    if (is_set(request, parameter)) list.push_back(parameter);
  return list;
}

RowLaw row_law(const Contract& contract, const std::vector<float>& logits,
               const RowRequest& request, const History& history) {
  const RowRequest left = checked(contract, logits, request, history);
  const auto row = adjusted(logits, left.adjustments, history, contract.adjustments);
  return sampled(contract, row, left, preset_for(contract, left));
}

Distribution law_of_row(const Contract& contract, const std::vector<float>& logits,
                        const RowRequest& request, const History& history) {
  const RowLaw row = row_law(contract, logits, request, history);
  if (row.status != Status::kOk)
    throw Error(ErrorKind::kInput, "this row has no law: " + std::string(to_string(row.status)),
                contract.name);
  return *row.law;
}

std::vector<StepLaw> steps_of_row(const Contract& contract, const std::vector<float>& logits,
                                  const RowRequest& request, const History& history) {
  const RowRequest left = checked(contract, logits, request, history);
  const Preset& preset = preset_for(contract, left);
  RowRequest no_grammar = without(left, Parameter::kGrammarMask);
  Preset so_far = preset;
  so_far.steps.clear();
  std::vector<float> row = logits;
  std::vector<StepLaw> steps;
  const auto plain = [&] { return law_of(shape(row, Sampling{}, so_far)); };
  steps.push_back({"the row", row, plain()});
  for (const AdjustmentStep step : contract.adjustments.steps) {
    if (!is_asked_for(left, step)) continue;
    row = adjusted(std::move(row), step, left.adjustments, history, contract.adjustments);
    steps.push_back({std::string(to_string(step)), row, plain()});
  }
  if (is_greedy(left.sampling, preset)) {
    steps.push_back({"greedy", row, sampled(contract, row, no_grammar, preset)});
  } else {
    for (const ShapingStep step : preset.steps) {
      so_far.steps.push_back(step);
      if (!is_asked_for(left, step)) continue;
      steps.push_back(
          {std::string(to_string(step)), row, sampled(contract, row, no_grammar, so_far)});
    }
  }
  if (contract.grammar == GrammarUse::kDrawThenCheck && left.adjustments.grammar_mask)
    steps.push_back({"grammar, by drawing again", row, sampled(contract, row, left, preset)});
  return steps;
}

std::vector<Parameter> parameters_in_order(const Contract& contract) {
  std::vector<Parameter> order;
  const auto add = [&](const std::vector<Parameter>& parameters) {
    for (const Parameter parameter : parameters)
      if (!contains(order, parameter)) order.push_back(parameter);
  };
  for (const AdjustmentStep step : contract.adjustments.steps) add(parameters_of(step));
  for (const ShapingStep step : contract.preset.steps) add(parameters_of(step));
  add(all_parameters());
  return order;
}

std::string_view to_string(ShapingStep step) {
  switch (step) {
    case ShapingStep::kTemperature:
      return "temperature";
    case ShapingStep::kTopK:
      return "top-k";
    case ShapingStep::kTopP:
      return "top-p";
    case ShapingStep::kMinP:
      return "min-p";
    case ShapingStep::kJointTopKTopP:
      return "top-k and top-p together";
  }
  return "unknown";
}

}  // namespace draftproof::reference
