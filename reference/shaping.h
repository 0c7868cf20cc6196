// Shaping: logits -> integer masses through a declared list of steps (numerics contract, section
// 1). Every filter keeps a prefix of one order, "logit descending, token id ascending" (-0 == +0),
// so the whole result of a shaping is one cut in that order plus the masses of what stays.
//
// A row of logits is judged in this order; the first line that applies decides:
//   1. a NaN anywhere                     -> kNan
//   2. a +inf anywhere                    -> kPositiveInfinity
//   3. all -inf, or no logits             -> kEmptyRow
//   4. the request is greedy              -> one_hot(lowest id of the maximum). Nothing else is
//      looked at: the maximum survives every filter, so filters before a temperature step
//      (llama.cpp order) are skipped, no scale is in use, and there is no range check.
//   5. in_range fails at a scale in use   -> kRange
//   6. the steps, one after the other.
// The scale before any temperature step is scale_of(1). A scale is in use when a step that reads
// masses is on at that scale (top-p < 1, min-p > 0, the top-p half of the joint step), and at the
// end of the list, where the masses of the survivors are taken. Filters never remove the maximum,
// so every range check is about the maximum of the whole row. Steps on what is kept so far:
//   top-k   reads logits, never masses: keep logits >= the k-th largest (kKeepAll), or exactly k,
//           lowest ids first. Tokens of mass 0 may fill places of the k; they add nothing at this
//           scale, and may weigh something at a later, higher temperature.
//   top-p   A = sum of the kept masses; need = max(1, ceil_product(top_p, A)), and 1 for
//           top_p <= 0;
//           keep the shortest prefix of mass >= need, and under kKeepAll also every logit equal to
//           the last one of that prefix.
//   min-p   keep masses >= ceil_product(min(min_p, 1), mass of the maximum).
//   joint   both thresholds from the masses and logits that enter the step; the shorter prefix.
// A parameter whose step is not in the preset's list is not applied.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "reference/mass.h"
#include "reference/status.h"

namespace draftproof::reference {

/// What one request asks for. Off: top_k <= 0 or >= vocab_size, top_p >= 1, min_p <= 0.
/// temperature 0 is greedy, infinity is uniform over the finite logits; top_p <= 0 keeps the first
/// token, min_p > 1 acts as 1. A NaN or a negative temperature is an Error on the host.
struct Sampling {
  double temperature = 1.0;
  std::int64_t top_k = 0;
  double top_p = 1.0;
  double min_p = 0.0;

  friend bool operator==(const Sampling&, const Sampling&) = default;
};

enum class ShapingStep : std::uint8_t { kTemperature, kTopK, kTopP, kMinP, kJointTopKTopP };

/// What happens to equal logits at the boundary of a filter.
enum class TieRule : std::uint8_t { kKeepAll, kLowestIdsFirst };

/// The order in which an engine applies its steps, and how it breaks ties.
struct Preset {
  std::string name;
  std::string engine;  ///< which engine and path it describes, with its version
  std::vector<ShapingStep> steps;
  TieRule top_k_ties = TieRule::kKeepAll;
  TieRule top_p_ties = TieRule::kLowestIdsFirst;
  double greedy_below = 0.0;  ///< temperature < greedy_below is greedy, as well as exactly 0

  friend bool operator==(const Preset&, const Preset&) = default;
};

/// All presets: "default", "default-keep-ties", "vllm", "vllm-exactly-k", "sglang", "sglang-min-p",
/// "sglang-spec", "transformers", "llama.cpp", "tensorrt-llm" (order and ties as engines document
/// them), each a list of steps.
const std::vector<Preset>& presets();
/// Throws Error(kInput) that lists the known names.
const Preset& preset(std::string_view name);

/// fp32(log2(e) / temperature), computed in double and rounded once. temperature > 0.
float scale_of(double temperature);

/// True when `sampling` means greedy under `preset`.
bool is_greedy(const Sampling& sampling, const Preset& preset);

/// Throws Error(kInput) naming the parameter when it is NaN, or temperature is negative.
void validate(const Sampling& sampling);

/// Masks: logits whose bit is 0 become -inf, before the first step. One bit a token.
std::vector<float> apply_mask(std::vector<float> logits, const std::vector<bool>& allowed);

/// Lines 1 to 3 of the list above, for whoever needs no masses.
Status logit_status(const std::vector<float>& logits);

/// The lowest id of the maximum; -0 == +0. Precondition: logit_status is kOk.
std::size_t greedy_token(const std::vector<float>& logits);

/// The law of one row of logits (values of any input format, widened exactly to fp32).
/// A row that cannot be judged has a status and no mass.
MassRow shape(const std::vector<float>& logits, const Sampling& sampling, const Preset& preset);

/// Probabilities as masses: floor(probability * 2^S + 1/2). kBadProbability when one is NaN or
/// outside [0, 1]; kEmptyRow when all are valid and no mass is left.
MassRow from_probabilities(const std::vector<float>& probabilities);

/// All mass (1) on one token; total 1.
MassRow one_hot(std::size_t vocab_size, std::size_t token);

}  // namespace draftproof::reference
