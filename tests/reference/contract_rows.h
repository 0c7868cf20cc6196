// Rows and requests for tests of contracts: logits of a law, and one request that sets each
// parameter so that it can be seen.
#pragma once

#include <cmath>
#include <initializer_list>
#include <random>
#include <vector>

#include "reference/contract.h"

namespace draftproof::reference {

/// fp32 logarithms of a law; distances computed from them hold to about 1e-7.
inline std::vector<float> logits_of(std::initializer_list<double> law) {
  std::vector<float> logits;
  for (const double probability : law) logits.push_back(static_cast<float>(std::log(probability)));
  return logits;
}

/// A row and a history on which every parameter of visible_request() shows.
inline const std::vector<float> kVisibleRow = {1.0F, 0.75F, 0.5F, -0.25F, 0.0F};
inline const History kVisibleHistory = {{0}, {1, 1}, {}};

/// A request that sets `parameter`, and whatever else it needs to be seen.
inline RowRequest visible_request(Parameter parameter) {
  RowRequest request;
  Adjustments& adjustments = request.adjustments;
  switch (parameter) {
    case Parameter::kTemperature:
      request.sampling.temperature = 0.5;
      break;
    case Parameter::kTopK:
      request.sampling.top_k = 2;
      break;
    case Parameter::kTopP:
      request.sampling.top_p = 0.5;
      break;
    case Parameter::kMinP:
      request.sampling.min_p = 0.7;
      break;
    case Parameter::kLastN:
      adjustments.penalties.last_n = 1;
      adjustments.penalties.repetition = 2;
      break;
    case Parameter::kRepetition:
      adjustments.penalties.repetition = 2;
      break;
    case Parameter::kFrequency:
      adjustments.penalties.frequency = 0.5;
      break;
    case Parameter::kPresence:
      adjustments.penalties.presence = 0.5;
      break;
    case Parameter::kLogitBias:
      adjustments.logit_bias = {{3, 2.5}};
      break;
    case Parameter::kAllowedIds:
      adjustments.allowed_ids = {{0, 4}};
      break;
    case Parameter::kBadWords:
      adjustments.bad_words = {{1, 2}};
      break;
    case Parameter::kMinTokens:
      adjustments.min_tokens = 3;
      adjustments.end_tokens = {0};
      break;
    case Parameter::kGrammarMask:
      adjustments.grammar_mask = std::vector<bool>{false, true, true, true, false};
      break;
  }
  return request;
}

/// A request with about half of its parameters set, none of `excluded`.
inline RowRequest random_request(std::mt19937& random, const std::vector<Parameter>& excluded) {
  const auto pick = [&](auto... values) {
    const std::common_type_t<decltype(values)...> list[] = {values...};
    return list[random() % sizeof...(values)];
  };
  RowRequest request;
  request.sampling = {pick(1.0, 0.5, 2.0, 0.0), pick(0, 2, 3), pick(1.0, 0.6, 0.9),
                      pick(0.0, 0.3, 0.05)};
  Adjustments& adjustments = request.adjustments;
  adjustments.penalties = {pick(1.0, 1.3, 0.8), pick(0.0, 0.4), pick(0.0, -0.2, 0.7), {}};
  if (pick(0, 1) == 1) adjustments.logit_bias = {{pick(0, 1, 2), pick(1.5, -3.0, -HUGE_VAL)}};
  if (pick(0, 1) == 1) adjustments.allowed_ids = {{0, 1, 3}};
  if (pick(0, 1) == 1) adjustments.bad_words = {{pick(2, 4)}, {1, pick(0, 3)}};
  adjustments.min_tokens = pick(0, 3);
  adjustments.end_tokens = {pick(2, 4)};
  if (pick(0, 1) == 1)
    adjustments.grammar_mask = std::vector<bool>{true, true, false, true, pick(0, 1) == 1};
  for (const Parameter parameter : excluded) request = without(std::move(request), parameter);
  return request;
}

inline std::vector<float> random_row(std::mt19937& random) {
  std::vector<float> logits;
  for (int token = 0; token < 5; ++token)
    logits.push_back(0.25F * static_cast<float>(static_cast<int>(random() % 17) - 8));
  return logits;
}

inline History random_history(std::mt19937& random) {
  History history;
  for (auto* part : {&history.prompt, &history.committed, &history.drafted})
    for (unsigned i = random() % 4; i > 0; --i) part->push_back(static_cast<Token>(random() % 5));
  return history;
}

}  // namespace draftproof::reference
