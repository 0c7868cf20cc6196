// Shaping: logits -> integer masses through a declared list of steps (numerics contract, section 1).
// Every filter keeps a prefix of one order, "logit descending, token id ascending", so the whole
// result of a shaping is one cut in that order plus the masses of what stays.
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
/// temperature 0 is greedy. A NaN or a negative temperature is an Error on the host.
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

/// All presets: "default", "vllm", "sglang", "sglang-spec", "transformers", "llama.cpp",
/// "tensorrt-llm" (their order and ties as engines document them), each a list of steps.
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

/// The law of one row of logits (values of any input format, widened exactly to fp32).
/// A row that cannot be judged has a status and no mass.
MassRow shape(const std::vector<float>& logits, const Sampling& sampling, const Preset& preset);

/// Draft probabilities as masses: floor(q * 2^S + 1/2); kBadProbability, kEmptyRow.
MassRow from_probabilities(const std::vector<float>& probabilities);

/// All mass (1) on one token; total 1.
MassRow one_hot(std::size_t vocab_size, std::size_t token);

}  // namespace draftproof::reference
