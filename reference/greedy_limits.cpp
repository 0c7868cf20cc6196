// Greedy limits, answered by the law itself: no rule about ties is repeated here.
#include "reference/greedy_limits.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "reference/error.h"

namespace draftproof::reference {
namespace {

Sampling sampling_of(const Contract& contract, GreedyLimit limit) {
  const double cut_off = contract.preset.greedy_below;
  switch (limit) {
    case GreedyLimit::kTemperatureZero:
      return {.temperature = 0};
    case GreedyLimit::kBelowCutOff:
      return {.temperature = cut_off > 0 ? std::nextafter(cut_off, 0) : 0};
    case GreedyLimit::kAtCutOff:
      return {.temperature = cut_off > 0 ? cut_off : 1e-6};
    case GreedyLimit::kTopKOne:
      return {.top_k = 1};
    case GreedyLimit::kTopPZero:
      return {.top_p = 0};
    case GreedyLimit::kTopPTiny:
      return {.top_p = 1e-40};
    case GreedyLimit::kMinPOne:
      return {.min_p = 1};
    case GreedyLimit::kOneHotRow:
      break;
  }
  return {};
}

std::vector<float> one_hot_logits(const std::vector<float>& logits) {
  std::vector<float> row(logits.size(), -std::numeric_limits<float>::infinity());
  row[greedy_token(logits)] = 0;
  return row;
}

/// Evenly on every token that equals the maximum.
Distribution over_maxima(const std::vector<float>& logits) {
  const float top = logits[greedy_token(logits)];
  std::vector<Exact> weights;
  for (const float logit : logits) weights.emplace_back(logit == top ? 1 : 0);
  return normalised(std::move(weights));
}

}  // namespace

const std::vector<GreedyLimit>& all_greedy_limits() {
  using enum GreedyLimit;
  static const std::vector<GreedyLimit> list = {kTemperatureZero, kBelowCutOff, kAtCutOff,
                                                kTopKOne,         kTopPZero,    kTopPTiny,
                                                kMinPOne,         kOneHotRow};
  return list;
}

GreedyAnswer greedy_answer(const Contract& contract, GreedyLimit limit,
                           const std::vector<float>& logits) {
  DRAFTPROOF_CHECK(logit_status(logits) == Status::kOk, "a row without a status");
  const RowRequest request{sampling_of(contract, limit), {}};
  if (refused(contract, request)) return GreedyAnswer::kRefused;
  const std::vector<float> row = limit == GreedyLimit::kOneHotRow ? one_hot_logits(logits) : logits;
  const Distribution law = law_of_row(contract, row, request, {});
  if (law == point_mass(row.size(), greedy_token(row))) return GreedyAnswer::kLowestId;
  return law == over_maxima(row) ? GreedyAnswer::kEveryMaximum : GreedyAnswer::kSampled;
}

std::string_view to_string(GreedyLimit limit) {
  switch (limit) {
    case GreedyLimit::kTemperatureZero:
      return "temperature 0";
    case GreedyLimit::kBelowCutOff:
      return "below the cut-off";
    case GreedyLimit::kAtCutOff:
      return "at the cut-off";
    case GreedyLimit::kTopKOne:
      return "top-k 1";
    case GreedyLimit::kTopPZero:
      return "top-p 0";
    case GreedyLimit::kTopPTiny:
      return "top-p 1e-40";
    case GreedyLimit::kMinPOne:
      return "min-p 1";
    case GreedyLimit::kOneHotRow:
      return "one-hot row";
  }
  return "unknown";
}

std::string_view to_string(GreedyAnswer answer) {
  switch (answer) {
    case GreedyAnswer::kLowestId:
      return "lowest id";
    case GreedyAnswer::kEveryMaximum:
      return "every maximum";
    case GreedyAnswer::kSampled:
      return "sampled";
    case GreedyAnswer::kRefused:
      return "refused";
  }
  return "unknown";
}

std::string greedy_ties_of(const Contract& contract) {
  // The maximum is small enough for 1e-6 and is tied between the ids 1 and 2.
  const std::vector<float> tied = {0, 0.5F, 0.5F, -1};
  std::string text;
  using enum GreedyAnswer;
  for (const GreedyAnswer answer : {kLowestId, kEveryMaximum, kSampled, kRefused}) {
    std::string limits;
    for (const GreedyLimit limit : all_greedy_limits())
      if (greedy_answer(contract, limit, tied) == answer)
        limits += (limits.empty() ? "" : ", ") + std::string(to_string(limit));
    if (limits.empty()) continue;
    text += (text.empty() ? "" : "; ") + std::string(to_string(answer)) + ": " + limits;
  }
  return text;
}

}  // namespace draftproof::reference
