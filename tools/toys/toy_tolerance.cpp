#include "tools/toys/toy_tolerance.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "reference/error.h"
#include "tools/toys/lm_head.h"

namespace draftproof::tools::toys {
namespace {

constexpr double kUnit = 0x1p-24;      ///< of fp32
constexpr double kExpError = 0x1p-21;  ///< as ErrorModel's: eight units in the last place

/// Largest difference of a logprob of llama.cpp's, transformers' and openvino-genai's to the law,
/// of attention toys, in nats, over 20 histories of up to 61 tokens: tools/docs/toys.md has the
/// table.
struct Floor {
  const char* engine;
  TensorFormat dtype, cache;
  double nats;
};
constexpr Floor kFloors[] = {
    {"llama.cpp", TensorFormat::kF32, TensorFormat::kF32, 2.5e-6},
    {"llama.cpp", TensorFormat::kF32, TensorFormat::kF16, 3.2e-3},
    {"llama.cpp", TensorFormat::kF16, TensorFormat::kF32, 2.6e-3},
    {"llama.cpp", TensorFormat::kBf16, TensorFormat::kF32, 2.6e-2},
    {"openvino-genai", TensorFormat::kF16, TensorFormat::kF32, 1.5e-6},
    {"transformers", TensorFormat::kF32, TensorFormat::kF32, 4.3e-6},
    {"transformers", TensorFormat::kF16, TensorFormat::kF16, 4.7e-3},
    {"transformers", TensorFormat::kBf16, TensorFormat::kBf16, 3.6e-2},
};
/// A maximum over some thousand numbers is no bound; histories are longer and others in audits.
constexpr double kFloorFactor = 8;

/// llama.cpp and OpenVINO keep what leaves the last matrix in fp32 whatever the weights are.
bool has_full_logits(const EngineArithmetic& arithmetic) {
  return arithmetic.dtype == TensorFormat::kF32 || arithmetic.engine == "llama.cpp" ||
         arithmetic.engine == "openvino-genai";
}

double half_unit(TensorFormat format) {
  return format == TensorFormat::kF32 ? kUnit : format == TensorFormat::kF16 ? 0x1p-12 : 0x1p-9;
}

/// No live logit of this toy is larger.
double largest_logit(const ToySpec& spec) {
  const double lift = spec.tie_count > 0 ? 2 * tie_lift(spec) : 0;
  // A draw is below 4 deviations; a code sums 62 of them, an integer 62 of 3/16, with sharpness
  // rounded to a power of two.
  if (spec.kind == ToyKind::kInteger) return lift + 12 * std::sqrt(2) * spec.sharpness;
  const bool is_code = spec.vocab_size > kOneHotVocabMax;
  return lift + (is_code ? 62.0 * 4 / 8 : 4) * spec.sharpness;
}

/// Two runs round alike but for order; each is off by what a logit is off.
ToyTolerance exact_logits(const ToySpec& spec, const EngineArithmetic& arithmetic,
                          double temperature) {
  const double range = 2 * largest_logit(spec) / temperature;
  // z / T, its difference to the largest, and the logarithm that is reported: one rounding each of
  // at most `range`. Sums of V positive terms in any order, and the quotient.
  const double softmax = (3 * range + spec.vocab_size + 2) * kUnit + 2 * kExpError;
  ToyTolerance tolerance{softmax, 0,
                         fmt::format("logits are exact in fp32; a softmax over {} ids in fp32 adds "
                                     "at most this (derived)",
                                     spec.vocab_size)};
  if (has_full_logits(arithmetic)) return tolerance;
  const double rounded = largest_logit(spec) * half_unit(arithmetic.dtype);
  tolerance.nats += 2 * rounded / temperature;
  tolerance.near_tie = 2 * rounded;
  tolerance.because = fmt::format(
      "logits of up to {:.3g} are rounded to {}, a softmax over {} ids in fp32 follows "
      "(derived)",
      largest_logit(spec), to_string(arithmetic.dtype), spec.vocab_size);
  return tolerance;
}

}  // namespace

ToyTolerance tolerance_of(const ToySpec& spec, const EngineArithmetic& arithmetic,
                          double temperature) {
  DRAFTPROOF_CHECK(temperature > 0, std::to_string(temperature));
  if (spec.kind != ToyKind::kAttention) return exact_logits(spec, arithmetic, temperature);
  // The largest floor of what computes at least as coarsely; of an engine that was measured, its
  // own.
  const bool is_measured = std::any_of(std::begin(kFloors), std::end(kFloors), [&](const Floor& f) {
    return f.engine == arithmetic.engine && f.dtype == arithmetic.dtype &&
           f.cache == arithmetic.cache;
  });
  double floor = 0;
  for (const Floor& each : kFloors) {
    const bool is_this = each.engine == arithmetic.engine && each.dtype == arithmetic.dtype &&
                         each.cache == arithmetic.cache;
    const double coarseness = std::max(half_unit(arithmetic.dtype), half_unit(arithmetic.cache));
    const bool is_as_coarse = std::max(half_unit(each.dtype), half_unit(each.cache)) <= coarseness;
    if (is_measured ? is_this : is_as_coarse) floor = std::max(floor, each.nats);
  }
  // Floors are those of sharpness 1 and temperature 1, and logits scale with both; deeper toys are
  // given their share.
  const double scale = std::max(1.0, spec.sharpness) * std::max(1.0, 1 / temperature) *
                       std::max(1.0, spec.layers / 2.0);
  const double nats = kFloorFactor * floor * scale + spec.vocab_size * kUnit;
  return {
      nats, 2 * kFloorFactor * floor * scale,
      fmt::format("{:.2g} nats were the most that {} was seen away from the law, times {}",
                  floor * scale, is_measured ? arithmetic.engine : "any engine as coarse as this",
                  kFloorFactor)};
}

}  // namespace draftproof::tools::toys
