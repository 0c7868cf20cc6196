#include "gpu/request_parameters.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numbers>

#include "reference/error.h"

namespace draftproof::gpu {
namespace {

using kernels::RequestParameters;
using kernels::StepCode;

struct Fraction {
  std::uint64_t mantissa;
  std::int32_t exponent;
};

/// value = mantissa * 2^-exponent. Precondition: 0 <= value <= 1.
Fraction fraction_of(double value) {
  int exponent = 0;
  const double significand = std::frexp(value, &exponent);
  return {static_cast<std::uint64_t>(std::ldexp(significand, 53)), 53 - exponent};
}

StepCode code_of(reference::ShapingStep step) {
  switch (step) {
    case reference::ShapingStep::kTemperature:
      return StepCode::kTemperature;
    case reference::ShapingStep::kTopK:
      return StepCode::kTopK;
    case reference::ShapingStep::kTopP:
      return StepCode::kTopP;
    case reference::ShapingStep::kMinP:
      return StepCode::kMinP;
    case reference::ShapingStep::kJointTopKTopP:
      return StepCode::kJointTopKTopP;
  }
  DRAFTPROOF_CHECK(false, "unknown step");
  return StepCode::kEnd;
}

/// fp32(log2(e) / temperature): divided in double, rounded once; infinity beyond fp32's range, into
/// which C++ defines no conversion.
float scale_for(double temperature) {
  const double scale = std::numbers::log2e / temperature;
  constexpr double kHalfStepAboveLargest = 0x1.ffffffp+127;
  if (scale >= kHalfStepAboveLargest) return std::numeric_limits<float>::infinity();
  return static_cast<float>(scale);
}

std::uint64_t steps_of(const reference::Preset& preset) {
  DRAFTPROOF_CHECK(preset.steps.size() <= 16, "a preset has at most 16 steps");
  std::uint64_t steps = 0;
  for (std::size_t i = 0; i < preset.steps.size(); ++i)
    steps |= static_cast<std::uint64_t>(code_of(preset.steps[i])) << (4 * i);
  return steps;
}

}  // namespace

RequestParameters greedy_parameters(const reference::Preset& preset) {
  RequestParameters parameters{};
  parameters.steps = steps_of(preset);
  parameters.initial_scale = scale_for(1.0);
  parameters.flags = kernels::kGreedy;
  return parameters;
}

RequestParameters request_parameters(const reference::Sampling& sampling,
                                     const reference::Preset& preset, std::size_t vocab_size) {
  RequestParameters parameters = greedy_parameters(preset);
  if (sampling.temperature == 0 || sampling.temperature < preset.greedy_below) return parameters;
  parameters.flags = 0;
  parameters.scale = scale_for(sampling.temperature);
  if (sampling.top_k > 0 && static_cast<std::uint64_t>(sampling.top_k) < vocab_size)
    parameters.top_k = static_cast<std::uint32_t>(sampling.top_k);
  if (sampling.top_p < 1) {
    const Fraction fraction = fraction_of(std::max(sampling.top_p, 0.0));
    parameters.top_p_mantissa = fraction.mantissa;
    parameters.top_p_exponent = fraction.exponent;
    parameters.flags |= kernels::kTopPOn;
  }
  if (sampling.min_p > 0) {
    const Fraction fraction = fraction_of(std::min(sampling.min_p, 1.0));
    parameters.min_p_mantissa = fraction.mantissa;
    parameters.min_p_exponent = fraction.exponent;
    parameters.flags |= kernels::kMinPOn;
  }
  if (preset.top_k_ties == reference::TieRule::kLowestIdsFirst)
    parameters.flags |= kernels::kTopKLowestIds;
  if (preset.top_p_ties == reference::TieRule::kLowestIdsFirst)
    parameters.flags |= kernels::kTopPLowestIds;
  return parameters;
}

}  // namespace draftproof::gpu
