// The parameters of a request one by one: whether each is set, and how to switch it off. Comparing
// two contracts means asking with which of these their laws part (contract_distance.h).
#include <algorithm>

#include "reference/contract.h"
#include "reference/error.h"

namespace draftproof::reference {

const std::vector<Parameter>& all_parameters() {
  using enum Parameter;
  static const std::vector<Parameter> list = {
      kTemperature, kTopK,      kTopP,       kMinP,     kRepetition, kFrequency,  kPresence,
      kLastN,       kLogitBias, kAllowedIds, kBadWords, kMinTokens,  kGrammarMask};
  return list;
}

std::string_view to_string(Parameter parameter) {
  switch (parameter) {
    case Parameter::kTemperature:
      return "temperature";
    case Parameter::kTopK:
      return "top-k";
    case Parameter::kTopP:
      return "top-p";
    case Parameter::kMinP:
      return "min-p";
    case Parameter::kRepetition:
      return "repetition penalty";
    case Parameter::kFrequency:
      return "frequency penalty";
    case Parameter::kPresence:
      return "presence penalty";
    case Parameter::kLastN:
      return "penalty window";
    case Parameter::kLogitBias:
      return "logit bias";
    case Parameter::kAllowedIds:
      return "allowed ids";
    case Parameter::kBadWords:
      return "bad words";
    case Parameter::kMinTokens:
      return "min tokens";
    case Parameter::kGrammarMask:
      return "grammar mask";
  }
  return "unknown";
}

bool is_set(const RowRequest& request, Parameter parameter) {
  // Off values compare as parameters, never as laws: a set parameter may still change nothing.
  return !(without(request, parameter) == request);
}

RowRequest without(RowRequest request, Parameter parameter) {
  Sampling& sampling = request.sampling;
  Adjustments& adjustments = request.adjustments;
  switch (parameter) {
    case Parameter::kTemperature:
      sampling.temperature = 1;
      break;
    case Parameter::kTopK:
      if (sampling.top_k > 0) sampling.top_k = 0;
      break;
    case Parameter::kTopP:
      sampling.top_p = std::max(sampling.top_p, 1.0);
      break;
    case Parameter::kMinP:
      sampling.min_p = std::min(sampling.min_p, 0.0);
      break;
    case Parameter::kRepetition:
      adjustments.penalties.repetition = 1;
      break;
    case Parameter::kFrequency:
      adjustments.penalties.frequency = 0;
      break;
    case Parameter::kPresence:
      adjustments.penalties.presence = 0;
      break;
    case Parameter::kLastN:
      adjustments.penalties.last_n.reset();
      break;
    case Parameter::kLogitBias:
      adjustments.logit_bias.clear();
      break;
    case Parameter::kAllowedIds:
      adjustments.allowed_ids.reset();
      break;
    case Parameter::kBadWords:
      adjustments.bad_words.clear();
      break;
    case Parameter::kMinTokens:
      adjustments.min_tokens = 0;
      break;
    case Parameter::kGrammarMask:
      adjustments.grammar_mask.reset();
      break;
  }
  return request;
}

}  // namespace draftproof::reference
